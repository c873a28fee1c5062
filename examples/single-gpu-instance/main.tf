# One GPU instance: a container engine on its local disks, GPUs seen from a container, NVLinks measured.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

# Credentials come from ~/.oci/config or the environment, as for the official provider.
provider "ocihpc" {}

locals {
  ssh = {
    private_key_path = var.ssh_private_key_path
    bastion = {
      host     = var.bastion_host
      port     = var.bastion_port
      user     = var.bastion_user
      host_key = var.bastion_host_key
    }
  }
}

data "ocihpc_cloud_init_config" "node" {
  shape    = var.shape
  timezone = var.timezone
  firewall = { enabled = false }
  nvme     = {} # XFS over all NVMe devices, at /mnt/localdisk
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "workstation"

  shape        = var.shape
  size         = 1
  interconnect = "none" # no RDMA network, which OCI may have no room in
  image_id     = var.image_id

  boot_volume_size_in_gbs = 200
  ssh_authorized_keys     = var.ssh_authorized_keys
  user_data               = data.ocihpc_cloud_init_config.node.gzip_base64
}

resource "ocihpc_container_runtime" "this" {
  nodes     = ocihpc_gpu_cluster.this.nodes
  shape     = ocihpc_gpu_cluster.this.shape
  ssh       = local.ssh
  engine    = "containerd" # or "docker", "podman"
  data_root = "/mnt/localdisk/containers"
  images    = var.container_image == null ? [] : [var.container_image]
  mirror    = var.mirror
  versions  = var.versions
}

resource "ocihpc_nccl_benchmark" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes
  shape = ocihpc_gpu_cluster.this.shape
  ssh   = local.ssh

  container = var.container_image == null ? null : {
    engine = ocihpc_container_runtime.this.engine
    image  = var.container_image
  }

  min_size_bytes = var.min_size_bytes
  max_size_bytes = var.max_size_bytes

  checks = {
    mounts       = ["/mnt/localdisk"]
    firewall_off = true
  }
  report_path = "${path.root}/report.html"
}

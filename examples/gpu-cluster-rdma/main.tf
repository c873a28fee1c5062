# Bare metal nodes in a cluster network, measured over RDMA: right values, the transport, and a limit.

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

data "ocihpc_cloud_init_config" "node" {
  shape    = var.shape
  timezone = var.timezone
  firewall = { enabled = false } # MPI and NCCL take ports of their choice
  nvme     = {}
  rdma     = var.rdma ? {} : null # Oracle Cloud Agent configures the ports, and the set-up waits for them
  limits   = { memlock = "unlimited" }
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "training"

  shape    = var.shape
  size     = var.size
  image_id = var.image_id

  ssh_authorized_keys = var.ssh_authorized_keys
  user_data           = data.ocihpc_cloud_init_config.node.gzip_base64

  preflight = true # the plan asks OCI for free hosts and limits
}

resource "ocihpc_nccl_benchmark" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes
  shape = ocihpc_gpu_cluster.this.shape

  ssh = {
    private_key_path = var.ssh_private_key_path
    bastion = {
      host     = var.bastion_host
      port     = var.bastion_port
      user     = var.bastion_user
      host_key = var.bastion_host_key
    }
  }

  transport      = var.rdma ? "rdma" : "any"
  min_size_bytes = var.min_size_bytes
  max_size_bytes = var.max_size_bytes
  repeats        = 3

  expect = var.min_busbw_gb_per_s == null ? null : {
    min_busbw_gb_per_s = var.min_busbw_gb_per_s
    at_least_bytes     = 1073741824
  }

  checks = {
    mounts       = ["/mnt/localdisk"]
    firewall_off = true
  }
  report_directory = "${path.root}/report"
}

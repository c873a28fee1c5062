# A GPU cluster, set up by cloud-init and measured with nccl-tests: one apply.

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
  firewall = { enabled = false }  # MPI and NCCL take ports of their choice
  rdma     = var.rdma ? {} : null # Oracle Cloud Agent configures the ports, and the set-up waits for them
  limits   = { memlock = "unlimited" }
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "quickstart"

  shape    = var.shape
  size     = var.size
  image_id = var.image_id

  ssh_authorized_keys = var.ssh_authorized_keys
  user_data           = data.ocihpc_cloud_init_config.node.gzip_base64
}

resource "ocihpc_nccl_benchmark" "this" {
  shape = ocihpc_gpu_cluster.this.shape
  nodes = ocihpc_gpu_cluster.this.nodes

  ssh = {
    user             = "opc"
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

  checks = {
    timezone     = var.timezone
    firewall_off = true
  }

  # What the network must reach for the apply to succeed.
  expect = {
    min_busbw_gb_per_s = var.min_busbw_gb_per_s
  }

  report_path = "${path.root}/report.html"
}

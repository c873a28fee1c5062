# Hosts that are there already, however they were made: checked and measured, and nothing of OCI's is asked.
# They need an SSH login, the NVIDIA driver, Open MPI and nccl-tests.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

# A benchmark alone needs no credentials of OCI's.
provider "ocihpc" {}

resource "ocihpc_nccl_benchmark" "this" {
  nodes = var.nodes
  shape = var.shape

  ssh = {
    user             = var.ssh_user
    private_key_path = var.ssh_private_key_path
    bastion = var.bastion_host == null ? null : {
      host     = var.bastion_host
      port     = var.bastion_port
      user     = var.bastion_user
      host_key = var.bastion_host_key
    }
  }

  min_size_bytes = var.min_size_bytes
  max_size_bytes = var.max_size_bytes

  expect = {
    min_busbw_gb_per_s = var.min_busbw_gb_per_s
  }
  report_directory = "${path.root}/report"
}

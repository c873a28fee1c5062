# A gate in a pipeline: the apply succeeds only for a cluster that was measured and is good enough, and leaves
# JUnit, Markdown and HTML behind in any case.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

# In a pipeline, credentials come from the environment (OCI_TENANCY_OCID …), or by auth = "InstancePrincipal".
provider "ocihpc" {}

data "ocihpc_cloud_init_config" "node" {
  shape    = var.shape
  firewall = { enabled = false }  # MPI and NCCL take ports of their choice
  rdma     = var.rdma ? {} : null # Oracle Cloud Agent configures the ports, and the set-up waits for them
  limits   = { memlock = "unlimited" }
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "gate"

  shape    = var.shape
  size     = var.size
  image_id = var.image_id

  ssh_authorized_keys = var.ssh_authorized_keys
  user_data           = data.ocihpc_cloud_init_config.node.gzip_base64
}

resource "ocihpc_nccl_benchmark" "gate" {
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
  }

  # The summary of a cluster that was accepted before, kept with the code: terraform output -json summary > baseline.json
  baseline = var.baseline_path == null ? null : {
    from                   = jsondecode(file(var.baseline_path))
    max_regression_percent = var.max_regression_percent
  }

  max_age          = var.max_age
  on_failure       = "fail" # the default
  report_directory = var.report_directory

  lifecycle {
    postcondition {
      condition     = self.outcome == "pass" || var.allow_warnings
      error_message = "Measured, but not without a warning: ${coalesce(self.failure, "see the report")}"
    }
  }
}

# A GPU cluster that is set up and measured: nodes by cloud-init, a container engine, nccl-tests.
#
# The network and its bastion are a module beside this one, ../network. Terraform installs each provider that a module or
# a part of it names, even for a count of 0: with the network in here, those who have one would need oracle/oci for nothing.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

data "ocihpc_shape" "this" {
  name = var.shape
}

data "ocihpc_cloud_init_config" "node" {
  shape    = var.shape
  timezone = var.timezone
  firewall = { enabled = false } # MPI and NCCL take ports of their choice
  nvme     = local.local_disks ? {} : null
  rdma     = local.rdma ? {} : null
  limits   = { memlock = "unlimited" }
}

locals {
  local_disks = coalesce(data.ocihpc_shape.this.nvme_devices, 0) > 0
  rdma        = var.rdma && data.ocihpc_shape.this.is_rdma
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
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  nsg_ids             = var.nsg_ids
  display_name        = var.name

  shape        = var.shape
  size         = var.size
  interconnect = var.interconnect
  image_id     = var.image_id
  image        = var.image

  capacity_reservation_id = var.capacity_reservation_id
  boot_volume_size_in_gbs = var.boot_volume_size_in_gbs
  ssh_authorized_keys     = var.ssh_authorized_keys
  user_data               = var.user_data == null ? data.ocihpc_cloud_init_config.node.gzip_base64 : var.user_data
  freeform_tags           = var.freeform_tags
  defined_tags            = var.defined_tags

  replace_nodes    = var.replace_nodes
  remove_nodes     = var.remove_nodes
  report_unhealthy = var.report_unhealthy
  update_strategy  = var.update_strategy
  max_unavailable  = var.max_unavailable
  preflight        = var.preflight
  timeouts         = var.timeouts

  lifecycle {
    precondition {
      condition     = (var.image_id == null) != (var.image == null)
      error_message = "Set one of image_id and image."
    }
  }
}

resource "ocihpc_container_runtime" "this" {
  count = var.container_runtime == null ? 0 : 1

  nodes         = ocihpc_gpu_cluster.this.nodes
  shape         = var.shape
  ssh           = local.ssh
  engine        = var.container_runtime.engine
  data_root     = var.container_runtime.data_root
  images        = var.container_runtime.images
  rootless_user = var.container_runtime.rootless_user
  mirror        = var.container_runtime.mirror
  versions      = var.container_runtime.versions
  timeouts      = var.container_runtime.timeouts
}

resource "ocihpc_nccl_benchmark" "this" {
  count = var.benchmark == null ? 0 : 1

  nodes = ocihpc_gpu_cluster.this.nodes
  shape = var.shape
  ssh   = local.ssh

  container = var.benchmark.image == null ? null : {
    engine   = var.benchmark.engine == null ? one(ocihpc_container_runtime.this[*].engine) : var.benchmark.engine
    image    = var.benchmark.image
    rootless = var.benchmark.rootless
  }
  nccl_tests_source = var.benchmark.nccl_tests_source

  transport      = local.rdma && var.size > 1 ? "rdma" : null
  min_size_bytes = var.benchmark.min_size_bytes
  max_size_bytes = var.benchmark.max_size_bytes
  repeats        = var.benchmark.repeats

  expect = var.benchmark.min_busbw_gb_per_s == null ? null : {
    min_busbw_gb_per_s = var.benchmark.min_busbw_gb_per_s
    at_least_bytes     = var.benchmark.at_least_bytes
  }

  on_failure       = var.benchmark.on_failure
  report_directory = var.benchmark.report_directory
  timeouts         = var.benchmark.timeouts

  # Nothing is set up on the nodes while they are measured.
  depends_on = [ocihpc_container_runtime.this]

  lifecycle {
    precondition {
      condition     = var.benchmark.image == null || var.benchmark.engine != null || var.container_runtime != null
      error_message = "An image needs an engine: set container_runtime, or name the engine that the nodes have in benchmark.engine."
    }
  }
}

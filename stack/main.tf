# A stack of OCI Resource Manager: the module gpu-cluster behind a form (schema.yaml). `make stack` packs it.

terraform {
  required_version = ">= 1.5.0" # Resource Manager runs 1.5.x and nothing newer
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

locals {
  api_key = var.auth == "ApiKey"
}

# A job has neither a home directory nor a configuration file: it signs as the resource that it is, or by a key of the form.
provider "ocihpc" {
  auth            = var.auth
  region          = var.region
  tenancy_ocid    = local.api_key ? var.tenancy_ocid : null
  user_ocid       = local.api_key ? var.current_user_ocid : null
  fingerprint     = local.api_key ? var.api_fingerprint : null
  private_key     = local.api_key ? base64decode(var.api_private_key) : null
  ssh_private_key = base64decode(var.ssh_private_key)
}

module "cluster" {
  source = "./modules/gpu-cluster"

  compartment_id      = var.compartment_ocid
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  name                = var.name
  shape               = var.shape
  size                = var.size
  image_id            = var.image_id
  rdma                = var.rdma

  ssh_authorized_keys = var.ssh_authorized_keys
  ssh_user            = var.ssh_user
  bastion_host        = var.bastion_host
  bastion_port        = var.bastion_port
  bastion_user        = var.bastion_user

  container_runtime = var.container_engine == "none" ? null : { engine = var.container_engine }
  benchmark = var.measure ? {
    max_size_bytes     = var.max_size_bytes
    min_busbw_gb_per_s = var.min_busbw_gb_per_s > 0 ? var.min_busbw_gb_per_s : null
  } : null
}

# Instances, instance configurations, pools and clusters of OCI's official provider, with their data sources.
# Generation 2 changes each of them.

variable "compartment_id" {}
variable "availability_domain" {}
variable "subnet_id" {}
variable "image_id" {}
variable "generation" {
  type    = number
  default = 1
}

locals {
  second = var.generation == 2
  name   = "official-${var.generation}"
  tags   = { generation = tostring(var.generation) }
  # Availability domains are in the root compartment.
  tenancy = data.oci_identity_availability_domains.all.availability_domains[0].compartment_id
}

data "oci_core_images" "platform" {
  compartment_id           = var.compartment_id
  operating_system         = "Oracle Linux"
  operating_system_version = "9"
  shape                    = "VM.Standard.E4.Flex"
  state                    = "AVAILABLE"
  sort_by                  = "TIMECREATED"
  sort_order               = "DESC"
}

data "oci_core_image" "newest" {
  image_id = data.oci_core_images.platform.images[0].id
}

data "oci_core_image_shapes" "newest" {
  image_id = data.oci_core_image.newest.id
}

data "oci_core_shapes" "all" {
  compartment_id      = var.compartment_id
  availability_domain = data.oci_identity_availability_domains.all.availability_domains[0].name
  filter {
    name   = "name"
    values = ["BM.GPU4.8"]
  }
}

data "oci_identity_availability_domains" "all" {
  compartment_id = var.compartment_id
}

data "oci_identity_availability_domain" "first" {
  compartment_id = var.compartment_id
  ad_number      = 1
}

data "oci_identity_fault_domains" "all" {
  compartment_id      = var.compartment_id
  availability_domain = data.oci_identity_availability_domain.first.name
}

# An instance with as much as can be said of it.
resource "oci_core_instance" "full" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  fault_domain        = data.oci_identity_fault_domains.all.fault_domains[local.second ? 1 : 0].name
  display_name        = local.name
  freeform_tags       = local.tags
  shape               = "VM.Standard.E4.Flex"
  metadata = {
    ssh_authorized_keys = "ssh-ed25519 AAAA official"
    generation          = tostring(var.generation)
  }
  shape_config {
    ocpus         = local.second ? 4 : 2
    memory_in_gbs = local.second ? 40 : 16
  }
  source_details {
    source_type             = "image"
    source_id               = data.oci_core_image.newest.id
    boot_volume_size_in_gbs = local.second ? "80" : "60"
    boot_volume_vpus_per_gb = "20"
  }
  create_vnic_details {
    subnet_id              = var.subnet_id
    display_name           = local.name
    hostname_label         = "full"
    assign_public_ip       = false
    skip_source_dest_check = local.second
    freeform_tags          = local.tags
  }
  agent_config {
    is_management_disabled = local.second
    is_monitoring_disabled = true
    plugins_config {
      name          = "Bastion"
      desired_state = local.second ? "DISABLED" : "ENABLED"
    }
  }
  availability_config {
    recovery_action = local.second ? "STOP_INSTANCE" : "RESTORE_INSTANCE"
  }
  instance_options {
    are_legacy_imds_endpoints_disabled = local.second
  }
  launch_options {
    network_type     = "PARAVIRTUALIZED"
    boot_volume_type = "PARAVIRTUALIZED"
  }
  platform_config {
    type                   = "AMD_VM"
    is_secure_boot_enabled = true
  }
}

# Its defaults alone; generation 2 stops it.
resource "oci_core_instance" "plain" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  shape               = "VM.Standard.E5.Flex"
  state               = local.second ? "STOPPED" : "RUNNING"
  shape_config {
    ocpus = 1
  }
  source_details {
    source_type = "image"
    source_id   = var.image_id
  }
  create_vnic_details {
    subnet_id        = var.subnet_id
    assign_public_ip = false
  }
  preserve_boot_volume = false
}

# Another image in place of the first.
resource "oci_core_instance" "reimaged" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  shape               = "VM.Standard.E4.Flex"
  shape_config {
    ocpus = 1
  }
  source_details {
    source_type                     = "image"
    source_id                       = data.oci_core_images.platform.images[local.second ? 0 : 1].id
    is_preserve_boot_volume_enabled = false
  }
  create_vnic_details {
    subnet_id        = var.subnet_id
    assign_public_ip = false
  }
}

data "oci_core_instance" "full" {
  instance_id = oci_core_instance.full.id
}

data "oci_core_instances" "all" {
  compartment_id = var.compartment_id
  display_name   = oci_core_instance.full.display_name
}

data "oci_core_vnic_attachments" "full" {
  compartment_id = var.compartment_id
  instance_id    = oci_core_instance.full.id
}

data "oci_core_vnic" "full" {
  vnic_id = data.oci_core_vnic_attachments.full.vnic_attachments[0].vnic_id
}

data "oci_core_boot_volume_attachments" "full" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  instance_id         = oci_core_instance.full.id
}

data "oci_core_boot_volume" "full" {
  boot_volume_id = oci_core_instance.full.boot_volume_id
}

data "oci_core_boot_volumes" "all" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
}

data "oci_core_volume_attachments" "none" {
  compartment_id = var.compartment_id
  instance_id    = oci_core_instance.full.id
}

# A GPU node's configuration. Generation 2 replaces it; what uses it follows.
resource "oci_core_instance_configuration" "gpu" {
  compartment_id = var.compartment_id
  display_name   = local.name
  freeform_tags  = local.tags
  instance_details {
    instance_type = "compute"
    launch_details {
      compartment_id      = var.compartment_id
      availability_domain = var.availability_domain
      display_name        = "node"
      freeform_tags       = local.tags
      shape               = "BM.GPU4.8"
      metadata = {
        ssh_authorized_keys = "ssh-ed25519 AAAA official"
        user_data           = base64encode("#cloud-config\n")
      }
      source_details {
        source_type             = "image"
        image_id                = var.image_id
        boot_volume_size_in_gbs = "100"
        boot_volume_vpus_per_gb = "30"
      }
      create_vnic_details {
        subnet_id        = var.subnet_id
        assign_public_ip = false
      }
      agent_config {
        are_all_plugins_disabled = false
        is_management_disabled   = true
        is_monitoring_disabled   = false
        plugins_config {
          name          = "Compute HPC RDMA Authentication"
          desired_state = "ENABLED"
        }
        plugins_config {
          name          = "Compute HPC RDMA Auto-Configuration"
          desired_state = "ENABLED"
        }
      }
      platform_config {
        type                                 = "AMD_ROME_BM_GPU"
        numa_nodes_per_socket                = "NPS1"
        is_symmetric_multi_threading_enabled = true
      }
      instance_options {
        are_legacy_imds_endpoints_disabled = true
      }
      launch_options {
        network_type = "VFIO"
      }
    }
  }
  lifecycle {
    create_before_destroy = true
  }
}

# It leaves open what its users say, and moves to another compartment.
resource "oci_core_instance_configuration" "open" {
  compartment_id = local.second ? local.tenancy : var.compartment_id
  display_name   = "open"
  instance_details {
    instance_type = "compute"
    launch_details {
      shape = "VM.Standard.E4.Flex"
      shape_config {
        ocpus         = 1
        memory_in_gbs = 8
      }
      source_details {
        source_type = "image"
        image_id    = var.image_id
      }
    }
  }
}

resource "oci_core_instance_configuration" "of_instance" {
  compartment_id = var.compartment_id
  display_name   = local.name
  source         = "INSTANCE"
  instance_id    = oci_core_instance.plain.id
}

data "oci_core_instance_configuration" "gpu" {
  instance_configuration_id = oci_core_instance_configuration.gpu.id
}

data "oci_core_instance_configurations" "all" {
  compartment_id = var.compartment_id
}

resource "oci_core_cluster_network" "this" {
  compartment_id = var.compartment_id
  display_name   = local.name
  freeform_tags  = local.tags
  instance_pools {
    instance_configuration_id = oci_core_instance_configuration.gpu.id
    display_name              = local.name
    size                      = local.second ? 3 : 2
    freeform_tags             = local.tags
  }
  placement_configuration {
    availability_domain  = var.availability_domain
    placement_constraint = "SINGLE_BLOCK"
    primary_vnic_subnets {
      subnet_id = var.subnet_id
    }
  }
}

data "oci_core_cluster_network" "this" {
  cluster_network_id = oci_core_cluster_network.this.id
}

data "oci_core_cluster_networks" "all" {
  compartment_id = var.compartment_id
  display_name   = oci_core_cluster_network.this.display_name
}

data "oci_core_cluster_network_instances" "this" {
  compartment_id     = var.compartment_id
  cluster_network_id = oci_core_cluster_network.this.id
}

resource "oci_core_instance_pool" "this" {
  compartment_id            = var.compartment_id
  instance_configuration_id = oci_core_instance_configuration.gpu.id
  display_name              = local.name
  freeform_tags             = local.tags
  size                      = local.second ? 2 : 1
  placement_configurations {
    availability_domain = var.availability_domain
    fault_domains       = local.second ? ["FAULT-DOMAIN-1", "FAULT-DOMAIN-2"] : ["FAULT-DOMAIN-1"]
    primary_subnet_id   = var.subnet_id
  }
  instance_display_name_formatter = "pool-$${launchCount}"
  instance_hostname_formatter     = "host-$${launchCount}"
}

# Generation 2 stops it.
resource "oci_core_instance_pool" "members" {
  compartment_id            = var.compartment_id
  instance_configuration_id = oci_core_instance_configuration.open.id
  size                      = 1
  state                     = local.second ? "STOPPED" : "RUNNING"
  placement_configurations {
    availability_domain = var.availability_domain
    primary_vnic_subnets {
      subnet_id = var.subnet_id
    }
  }
}

# An instance that joins a pool, and leaves it.
resource "oci_core_instance_pool" "joined" {
  compartment_id            = var.compartment_id
  instance_configuration_id = oci_core_instance_configuration.open.id
  size                      = 0
  placement_configurations {
    availability_domain = var.availability_domain
    primary_subnet_id   = var.subnet_id
  }
  lifecycle {
    ignore_changes = [size]
  }
}

resource "oci_core_instance_pool_instance" "joined" {
  count                             = local.second ? 0 : 1
  instance_pool_id                  = oci_core_instance_pool.joined.id
  instance_id                       = oci_core_instance.full.id
  decrement_size_on_delete          = true
  auto_terminate_instance_on_delete = false
}

data "oci_core_instance_pool" "this" {
  instance_pool_id = oci_core_instance_pool.this.id
}

data "oci_core_instance_pools" "all" {
  compartment_id = var.compartment_id
  state          = "RUNNING"
}

data "oci_core_instance_pool_instances" "this" {
  compartment_id   = var.compartment_id
  instance_pool_id = oci_core_instance_pool.this.id
}

resource "oci_core_compute_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  display_name        = local.name
  freeform_tags       = local.tags
}

resource "oci_core_instance" "node" {
  count               = var.generation
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  compute_cluster_id  = oci_core_compute_cluster.this.id
  display_name        = "node-${count.index}"
  shape               = "BM.GPU4.8"
  source_details {
    source_type = "image"
    source_id   = var.image_id
  }
  create_vnic_details {
    subnet_id        = var.subnet_id
    assign_public_ip = false
  }
}

data "oci_core_compute_cluster" "this" {
  compute_cluster_id = oci_core_compute_cluster.this.id
}

data "oci_core_compute_clusters" "all" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
}

resource "oci_core_compute_capacity_reservation" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  display_name        = local.name
  instance_reservation_configs {
    instance_shape = "BM.GPU4.8"
    reserved_count = var.generation
  }
}

resource "oci_core_instance" "reserved" {
  compartment_id          = var.compartment_id
  availability_domain     = var.availability_domain
  capacity_reservation_id = oci_core_compute_capacity_reservation.this.id
  display_name            = local.name
  shape                   = "BM.GPU4.8"
  source_details {
    source_type = "image"
    source_id   = var.image_id
  }
  create_vnic_details {
    subnet_id        = var.subnet_id
    assign_public_ip = false
  }
}

resource "oci_core_compute_capacity_report" "this" {
  compartment_id      = local.tenancy
  availability_domain = var.availability_domain
  shape_availabilities {
    instance_shape = "BM.GPU4.8"
  }
}

data "oci_limits_resource_availability" "gpus" {
  compartment_id      = local.tenancy
  service_name        = "compute"
  limit_name          = data.oci_core_shapes.all.shapes[0].quota_names[0]
  availability_domain = var.availability_domain
}

data "oci_limits_limit_values" "gpus" {
  compartment_id = local.tenancy
  service_name   = "compute"
  name           = "gpu4-count"
}

data "oci_limits_limit_definitions" "all" {
  compartment_id = local.tenancy
  service_name   = "compute"
}

data "oci_identity_tag_namespaces" "all" {
  compartment_id = local.tenancy
}

data "oci_identity_tags" "first" {
  tag_namespace_id = data.oci_identity_tag_namespaces.all.tag_namespaces[0].id
}

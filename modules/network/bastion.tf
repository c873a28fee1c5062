data "oci_core_images" "bastion" {
  count                    = var.bastion == null ? 0 : 1
  compartment_id           = var.compartment_id
  operating_system         = "Oracle Linux"
  operating_system_version = "9"
  shape                    = var.bastion.shape
  sort_by                  = "TIMECREATED"
  sort_order               = "DESC"
}

resource "oci_core_instance" "bastion" {
  count               = var.bastion == null ? 0 : 1
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  display_name        = "${var.name}-bastion"
  shape               = var.bastion.shape
  shape_config {
    ocpus         = var.bastion.ocpus
    memory_in_gbs = var.bastion.memory_in_gbs
  }
  source_details {
    source_type = "image"
    source_id   = data.oci_core_images.bastion[0].images[0].id
  }
  create_vnic_details {
    subnet_id = oci_core_subnet.public.id
  }
  metadata = {
    ssh_authorized_keys = var.ssh_authorized_keys
  }
  lifecycle {
    ignore_changes = [source_details] # a newer image does not replace the bastion
    precondition {
      condition     = var.availability_domain != null && var.ssh_authorized_keys != null && length(var.ssh_from) > 0
      error_message = "A bastion needs availability_domain, ssh_authorized_keys and ssh_from. Without one, set bastion = null."
    }
  }
}

resource "ocihpc_gpu_cluster" "example" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "training"

  shape    = "BM.GPU4.8"
  size     = 2
  image_id = var.image_id

  ssh_authorized_keys     = file("~/.ssh/id_ed25519.pub")
  boot_volume_size_in_gbs = 250

  freeform_tags = {
    project = "training"
  }

  timeouts = {
    create = "90m"
  }
}

output "addresses" {
  value = ocihpc_gpu_cluster.example.nodes[*].private_ip
}

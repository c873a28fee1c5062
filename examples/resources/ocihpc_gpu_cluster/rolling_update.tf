# A new image or cloud-init is rolled out, two nodes at a time.
resource "ocihpc_gpu_cluster" "rolling" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "batch"

  shape     = "BM.GPU4.8"
  size      = 16
  image_id  = var.image_id
  user_data = var.user_data

  update_strategy = "rolling"
  max_unavailable = 2

  # Where an autoscaler sets the size
  lifecycle {
    ignore_changes = [size]
  }
}

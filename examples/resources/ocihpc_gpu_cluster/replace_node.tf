# A bad node is reported to Oracle and replaced. The entry may stay: a node that is gone is replaced no more.
resource "ocihpc_gpu_cluster" "repaired" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "training"

  shape    = "BM.GPU4.8"
  size     = 8
  image_id = var.image_id

  replace_nodes    = ["ocid1.instance.oc1.ap-tokyo-1.exampleuniqueid"]
  report_unhealthy = true

  # To have one node less instead, name it here and make size smaller:
  # remove_nodes = ["ocid1.instance.oc1.ap-tokyo-1.exampleuniqueid"]
}

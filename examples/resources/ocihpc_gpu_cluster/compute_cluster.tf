# Nodes are launched one by one into a compute cluster: one that fails does not fail the others.
resource "ocihpc_gpu_cluster" "compute_cluster" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "inference"

  shape        = "BM.GPU.H100.8"
  size         = 4
  interconnect = "compute_cluster"
  # compute_cluster_id = var.compute_cluster_id # to launch into one that exists

  image = {
    operating_system         = "Oracle Linux"
    operating_system_version = "8"
    name_pattern             = "-GPU-"
  }

  capacity_reservation_id = var.capacity_reservation_id
  ssh_authorized_keys     = file("~/.ssh/id_ed25519.pub")

  platform_config = {
    numa_nodes_per_socket = "NPS1"
  }
  agent_plugins = {
    "Compute RDMA GPU Monitoring" = true
  }

  # Free hosts and service limits are looked at in the plan.
  preflight = true
}

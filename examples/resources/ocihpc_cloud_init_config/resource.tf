# The same as the data source of this name, kept in the state: a change shows as a change of sha256.
resource "ocihpc_cloud_init_config" "node" {
  shape    = "BM.GPU.H100.8"
  timezone = "UTC"
  firewall = { enabled = false }

  nvme = {
    layout      = "lvm_striped"
    mount_point = "/scratch"
    label       = "scratch"
  }
}

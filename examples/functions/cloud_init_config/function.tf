# User data of a GPU node, for whatever makes the instances. Terraform 1.8 or later.
output "user_data" {
  value = provider::ocihpc::cloud_init_config({
    shape    = "BM.GPU4.8"
    timezone = "Asia/Tokyo"
    firewall = { enabled = false }
    nvme     = { layout = "raid0", container_storage = true }
  }).gzip_base64
}

# A GPU node in a cluster network: Tokyo time, all NVMe devices as one file system that also holds what
# containers store, no host firewall, RDMA ports that are waited for, memory that can be locked.
data "ocihpc_cloud_init_config" "node" {
  shape    = "BM.GPU4.8"
  timezone = "Asia/Tokyo"
  firewall = { enabled = false }
  nvme     = { container_storage = true } # XFS on a striped volume at /mnt/localdisk
  rdma     = {}                           # configured by Oracle Cloud Agent
  limits   = { memlock = "unlimited" }

  packages = ["git", "tmux"]

  container_engine = {
    name   = "docker"
    images = ["nvcr.io/nvidia/pytorch:25.02-py3"]
  }

  runcmd = [
    "mkdir -p -m 1777 /mnt/localdisk/scratch",
  ]

  # cloud-config of your own, merged as cloud-init does
  parts = [{
    content = <<-EOT
      ntp:
        servers: [169.254.169.254]
    EOT
  }]
}

# user_data of the nodes; it may hold secrets, such as those of the proxy
output "user_data" {
  value     = data.ocihpc_cloud_init_config.node.gzip_base64
  sensitive = true
}

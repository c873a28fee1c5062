# A node for GPU work: Tokyo time, all NVMe devices as one file system, no host firewall.
data "ocihpc_cloud_init_config" "node" {
  shape    = "BM.GPU4.8"
  timezone = "Asia/Tokyo"
  firewall = { enabled = false }
  nvme     = {} # XFS on a striped volume at /mnt/localdisk

  packages = ["git", "tmux"]

  write_files = {
    "/etc/security/limits.d/90-memlock.conf" = {
      content = "* - memlock unlimited\n"
    }
  }

  runcmd = [
    "mkdir -p -m 1777 /mnt/localdisk/scratch",
  ]
}

# user_data of the nodes
output "user_data" {
  value = data.ocihpc_cloud_init_config.node.base64
}

resource "ocihpc_nccl_benchmark" "example" {
  nodes = ocihpc_gpu_cluster.example.nodes
  shape = ocihpc_gpu_cluster.example.shape

  ssh = {
    private_key_path = "~/.ssh/id_ed25519"
    bastion = {
      host = "bastion.example.com"
    }
  }

  min_size_bytes = 1073741824 # 1 GiB
  max_size_bytes = 8589934592 # 8 GiB

  expect = {
    min_busbw_gb_per_s = 185
    at_least_bytes     = 1073741824
  }

  # Measure again after a driver update.
  triggers = {
    driver = "570.148.08"
  }
}

# After a change: the same measurement, compared with the one before.
resource "ocihpc_nccl_benchmark" "after" {
  nodes = ocihpc_gpu_cluster.example.nodes
  shape = ocihpc_gpu_cluster.example.shape
  ssh   = ocihpc_nccl_benchmark.example.ssh

  min_size_bytes = 1073741824
  max_size_bytes = 8589934592
  repeats        = 3

  baseline = {
    from                    = ocihpc_nccl_benchmark.example.summary
    max_regression_percent  = 5
    warn_regression_percent = 2
  }

  expect = {
    limits = [
      { from_bytes = 1073741824, to_bytes = 8589934592, min_busbw_gb_per_s = 185 },
      { from_bytes = 8589934592, min_busbw_gb_per_s = 190, warn_busbw_gb_per_s = 210 },
    ]
  }
}

output "busbw_gb_per_s" {
  value = { for row in ocihpc_nccl_benchmark.example.results : row.size_bytes => row.in_place.busbw_gb_per_s }
}

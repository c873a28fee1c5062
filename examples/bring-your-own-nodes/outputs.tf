output "verdict" {
  description = "What the measurement came to."
  value       = ocihpc_nccl_benchmark.this.outcome
}

output "peak_busbw_gb_per_s" {
  description = "Best bus bandwidth of each node alone and of all, in 10^9 bytes per second."
  value = merge(
    { for node in ocihpc_nccl_benchmark.this.per_node : node.name => node.peak_busbw_gb_per_s },
    { all = ocihpc_nccl_benchmark.this.peak_busbw_gb_per_s },
  )
}

output "failed_checks" {
  description = "Checks that did not pass, and what to do, by node."
  value = {
    for node in ocihpc_nccl_benchmark.this.per_node : node.name =>
    [for check in node.checks : "${check.name}: ${check.message}" if contains(["warn", "fail"], check.outcome)]
  }
}

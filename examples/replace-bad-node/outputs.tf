output "nodes" {
  description = "OCIDs of the nodes by host name."
  value       = { for node in ocihpc_gpu_cluster.this.nodes : node.hostname => node.id }
}

output "verdict" {
  description = "What the measurement came to."
  value       = ocihpc_nccl_benchmark.this.outcome
}

output "measured_because" {
  description = "Why the last measurement was made."
  value       = ocihpc_nccl_benchmark.this.measured_because
}

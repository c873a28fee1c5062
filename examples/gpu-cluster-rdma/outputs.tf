output "nodes" {
  description = "The nodes, as ocihpc_nccl_benchmark and ocihpc_container_runtime take them."
  value       = [for node in ocihpc_gpu_cluster.this.nodes : { id = node.id, hostname = node.hostname, private_ip = node.private_ip }]
}

output "verdict" {
  description = "What the measurement came to."
  value       = ocihpc_nccl_benchmark.this.outcome
}

output "busbw_gb_per_s" {
  description = "Bus bandwidth by message size, in 10^9 bytes per second."
  value       = { for row in ocihpc_nccl_benchmark.this.results : row.size_bytes => row.in_place.busbw_gb_per_s }
}

output "network" {
  description = "What NCCL's own log says of the network."
  value       = ocihpc_nccl_benchmark.this.nccl
}

output "id" {
  description = "OCID of the cluster network, compute cluster or instance pool."
  value       = ocihpc_gpu_cluster.this.id
}

output "nodes" {
  description = "The nodes with OCID, host name and private address, oldest first."
  value       = ocihpc_gpu_cluster.this.nodes
}

output "stale_nodes" {
  description = "OCIDs of nodes that run with an earlier image or cloud-init."
  value       = ocihpc_gpu_cluster.this.stale_nodes
}

output "engine_versions" {
  description = "What is installed of the container engine, by node; null without one."
  value       = one([for runtime in ocihpc_container_runtime.this : { for node in runtime.per_node : node.name => node.versions }])
}

output "outcome" {
  description = "pass, warn or fail; null where nothing is measured."
  value       = one(ocihpc_nccl_benchmark.this[*].outcome)
}

output "peak_busbw_gb_per_s" {
  description = "Best bus bandwidth over all nodes, in 10^9 bytes per second; null where nothing is measured."
  value       = one(ocihpc_nccl_benchmark.this[*].peak_busbw_gb_per_s)
}

output "replace_nodes" {
  description = "OCIDs of the nodes whose replacement can cure a failure that was a warning; an apply that fails has them in its message. Null where nothing is measured."
  value       = one(ocihpc_nccl_benchmark.this[*].replace_nodes)
}

output "summary" {
  description = "The measurement with its repeats, for a later one's baseline; null where nothing is measured."
  value       = one(ocihpc_nccl_benchmark.this[*].summary)
}

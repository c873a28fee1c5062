output "login" {
  description = "How to log in."
  value       = "ssh -J ${var.bastion_user}@${var.bastion_host}:${var.bastion_port} opc@${ocihpc_gpu_cluster.this.nodes[0].private_ip}"
}

output "gpus_in_containers" {
  description = "GPUs that a container saw; empty without container_image."
  value       = ocihpc_container_runtime.this.per_node[0].gpus
}

output "verdict" {
  description = "What the measurement came to."
  value = format("%s: %d GPUs, peak bus bandwidth %.2f GB/s",
  ocihpc_nccl_benchmark.this.outcome, ocihpc_nccl_benchmark.this.ranks, ocihpc_nccl_benchmark.this.peak_busbw_gb_per_s)
}

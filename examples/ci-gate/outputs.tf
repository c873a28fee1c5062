output "outcome" {
  description = "pass or warn: a failed verdict fails the apply."
  value       = ocihpc_nccl_benchmark.gate.outcome
}

output "summary" {
  description = "What a later cluster can be compared with, as baseline_path."
  value       = ocihpc_nccl_benchmark.gate.summary
}

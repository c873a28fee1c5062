data "ocihpc_shape" "node" {
  name = "BM.GPU.H100.8"
}

# As many nodes as make 32 GPUs
output "nodes" {
  value = ceil(32 / data.ocihpc_shape.node.gpus)
}

# A limit for ocihpc_nccl_benchmark's expect.min_busbw_gb_per_s, where a sound one is known
output "min_busbw_gb_per_s" {
  value = data.ocihpc_shape.node.min_busbw["2"].confidence == "low" ? null : data.ocihpc_shape.node.min_busbw["2"].gb_per_s
}

# How certain a value is, and where it comes from
output "hcas" {
  value = data.ocihpc_shape.node.facts["hcas"]
}

output "nodes" {
  description = "Addresses of the nodes."
  value       = { for node in ocihpc_gpu_cluster.this.nodes : node.hostname => node.private_ip }
}

output "verdict" {
  description = "What the measurement came to."
  value = format("%s: %d ranks on %d hosts, peak bus bandwidth %.2f GB/s, %d wrong values",
    ocihpc_nccl_benchmark.this.outcome,
    ocihpc_nccl_benchmark.this.ranks,
    ocihpc_nccl_benchmark.this.hosts,
    ocihpc_nccl_benchmark.this.peak_busbw_gb_per_s,
    ocihpc_nccl_benchmark.this.wrong,
  )
}

output "results" {
  description = "The nccl-tests table over all nodes, as text."
  value = join("\n", concat(
    [
      "                          out of place                         in place",
      "  size (bytes)    time (us)  busbw (GB/s)   wrong    time (us)  busbw (GB/s)   wrong",
    ],
    [for row in ocihpc_nccl_benchmark.this.results : join("", concat(
      [format("%14d", row.size_bytes)],
      [for placement in [row.out_of_place, row.in_place] : format(" %12.2f %13.2f %7v",
      placement.time_us, placement.busbw_gb_per_s, placement.wrong)],
    ))],
  ))
}

output "report" {
  description = "Report to open in a browser."
  value       = abspath(ocihpc_nccl_benchmark.this.report_path)
}

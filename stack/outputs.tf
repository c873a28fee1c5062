output "cluster_id" {
  description = "OCID of the cluster."
  value       = module.cluster.id
}

output "addresses" {
  description = "Private addresses of the nodes by host name."
  value       = { for node in module.cluster.nodes : node.hostname => node.private_ip }
}

output "outcome" {
  description = "pass, warn or not measured."
  value       = coalesce(module.cluster.outcome, "not measured")
}

output "peak_busbw_gb_per_s" {
  description = "Best bus bandwidth over all nodes, in 10^9 bytes per second; 0 where nothing was measured."
  value       = coalesce(module.cluster.peak_busbw_gb_per_s, 0)
}

# The cluster alone: a region without hosts suffices.

variables {
  name              = "module"
  container_runtime = null
  benchmark         = null
}

run "creates" {
  assert {
    condition     = length(output.nodes) == 2 && length(distinct(output.nodes[*].private_ip)) == 2
    error_message = "Not all nodes are there."
  }
  assert {
    condition     = ocihpc_gpu_cluster.this.interconnect == "cluster_network"
    error_message = "A shape with RDMA is not in a cluster network."
  }
  assert {
    condition     = output.outcome == null && output.engine_versions == null
    error_message = "Nothing was to be set up or measured."
  }
}

run "grows" {
  variables {
    size = 3
  }
  assert {
    condition     = output.id == run.creates.id && length(output.nodes) == 3
    error_message = "The cluster was not resized."
  }
}

run "replaces_a_node" {
  variables {
    size          = 3
    replace_nodes = [run.grows.nodes[0].id]
  }
  assert {
    condition     = !contains(output.nodes[*].id, run.grows.nodes[0].id) && length(output.nodes) == 3
    error_message = "The node was not replaced."
  }
}

run "refuses_no_nodes" {
  command = plan
  variables {
    size = 0
  }
  expect_failures = [var.size]
}

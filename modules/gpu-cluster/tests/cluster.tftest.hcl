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

run "replaces_a_node" {
  variables {
    replace_nodes = [run.creates.nodes[0].id]
  }
  assert {
    condition     = length(setintersection(output.nodes[*].id, var.replace_nodes)) == 0 && length(output.nodes) == 2
    error_message = "The node was not replaced."
  }
}

run "is_to_grow" {
  command = plan
  variables {
    size = 3
  }
  assert {
    condition     = output.id != null # unknown, if there were to be another
    error_message = "The cluster is not resized."
  }
}

# The last one that applies refers to no other: OpenTofu would leave the cluster.
run "grows" {
  variables {
    size = 3
  }
  assert {
    condition     = length(output.nodes) == 3
    error_message = "The cluster was not resized."
  }
}

run "refuses_no_nodes" {
  command = plan
  variables {
    size = 0
  }
  expect_failures = [var.size]
}

run "refuses_unknown_words" {
  command = plan
  variables {
    interconnect      = "infiniband"
    update_strategy   = "blue_green"
    container_runtime = { engine = "lxc" }
    benchmark         = { on_failure = "ignore" }
  }
  expect_failures = [var.interconnect, var.update_strategy, var.container_runtime, var.benchmark]
}

run "refuses_no_image" {
  command = plan
  variables {
    size     = 3
    image_id = null
  }
  expect_failures = [ocihpc_gpu_cluster.this]
}

run "refuses_an_image_without_an_engine" {
  command = plan
  variables {
    size      = 3
    benchmark = { image = "nvcr.io/nvidia/pytorch:25.02-py3" }
  }
  expect_failures = [ocihpc_nccl_benchmark.this]
}

run "takes_an_engine_that_is_there" {
  command = plan
  variables {
    size         = 3
    bastion_host = null
    benchmark = {
      image             = "nvcr.io/nvidia/pytorch:25.02-py3"
      engine            = "podman"
      rootless          = true
      nccl_tests_source = { git_url = "https://github.com/NVIDIA/nccl-tests.git", git_ref = "v2.17.1" }
      timeouts          = { create = "2h" }
    }
  }
  assert {
    condition     = ocihpc_nccl_benchmark.this[0].container.engine == "podman" && ocihpc_nccl_benchmark.this[0].container.rootless
    error_message = "The engine is another one."
  }
}

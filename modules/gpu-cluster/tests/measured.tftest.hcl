# Nodes that are measured: the region must have hosts. Those of a lab have no RDMA adapters, and measure their memory.

variables {
  name              = "measured"
  shape             = "BM.GPU2.2"
  rdma              = false
  container_runtime = null
  benchmark         = { repeats = 1, min_size_bytes = 65536, max_size_bytes = 262144 }
}

run "measures" {
  assert {
    condition     = output.outcome == "pass" && output.peak_busbw_gb_per_s > 0
    error_message = "It was not measured, or not good."
  }
  assert {
    condition     = ocihpc_nccl_benchmark.this[0].ranks == 4 && ocihpc_nccl_benchmark.this[0].wrong == 0
    error_message = "Not all GPUs took part, or values were wrong."
  }
}

run "stands" {
  command = plan
  assert {
    condition     = output.summary != null # unknown, if it were to be measured
    error_message = "An unchanged cluster is measured again."
  }
}

run "lets_a_slow_one_through" {
  variables {
    benchmark = { repeats = 1, min_size_bytes = 65536, max_size_bytes = 262144, min_busbw_gb_per_s = 9999, at_least_bytes = 65536, on_failure = "warn" }
  }
  assert {
    condition     = output.outcome == "fail"
    error_message = "A limit that no host reaches was reached."
  }
}

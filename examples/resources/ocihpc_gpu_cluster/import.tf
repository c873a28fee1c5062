import {
  to = ocihpc_gpu_cluster.example
  id = "ocid1.clusternetwork.oc1.ap-tokyo-1.exampleuniqueid"
}

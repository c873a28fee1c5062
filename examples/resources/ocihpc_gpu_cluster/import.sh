# By the OCID of a cluster network, or of an instance pool
terraform import ocihpc_gpu_cluster.example ocid1.clusternetwork.oc1.ap-tokyo-1.exampleuniqueid

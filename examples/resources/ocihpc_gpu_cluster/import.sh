# By the OCID of a cluster network, of an instance pool, or of a compute cluster that this provider has made
terraform import ocihpc_gpu_cluster.example ocid1.clusternetwork.oc1.ap-tokyo-1.exampleuniqueid

# In a compute cluster that existed before: its OCID and the value of the nodes' tag ocihpc-cluster
terraform import ocihpc_gpu_cluster.example ocid1.computecluster.oc1.ap-tokyo-1.exampleuniqueid/0b2c6f0e-6a55-4c55-9d3c-0f6f2f0e8a11

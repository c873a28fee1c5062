resource "ocihpc_container_runtime" "example" {
  nodes = ocihpc_gpu_cluster.example.nodes
  shape = ocihpc_gpu_cluster.example.shape

  ssh = {
    private_key_path = "~/.ssh/id_ed25519"
    bastion = {
      host = "bastion.example.com"
    }
  }

  engine    = "containerd"
  data_root = "/mnt/localdisk/containers"
  images    = ["nvcr.io/nvidia/tensorflow:25.02-tf2-py3"]
}

output "gpus_in_containers" {
  value = { for node in ocihpc_container_runtime.example.per_node : node.name => length(node.gpus) }
}

# A cluster in the lab whose hosts have this machine's real GPUs, measured with the real nccl-tests.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

provider "ocihpc" {}

variable "compartment_id" { type = string }
variable "availability_domain" { type = string }
variable "subnet_id" { type = string }
variable "image_id" { type = string }
variable "ssh_authorized_keys" { type = string }
variable "ssh_private_key_path" { type = string }
variable "bastion_host" { type = string }
variable "bastion_port" { type = number }
variable "bastion_user" { type = string }
variable "bastion_host_key" { type = string }

variable "nodes" { type = number }
variable "gpus_per_node" { type = number }
variable "nccl_tests_dir" { type = string }
variable "pattern" { type = string }
variable "max_size_bytes" { type = number }
variable "run" { type = string }
variable "tuning" {
  type    = object({ max_runs = number })
  default = null
}

resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  display_name        = "gpu"

  shape    = "BM.GPU.H200.8"
  size     = var.nodes
  image_id = var.image_id

  ssh_authorized_keys = var.ssh_authorized_keys
}

resource "ocihpc_nccl_benchmark" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes

  ssh = {
    user             = "opc"
    private_key_path = var.ssh_private_key_path
    bastion = {
      host     = var.bastion_host
      port     = var.bastion_port
      user     = var.bastion_user
      host_key = var.bastion_host_key
    }
  }

  gpus_per_node     = var.gpus_per_node
  nccl_tests_dir    = var.nccl_tests_dir
  pattern           = var.pattern
  tuning            = var.tuning
  min_size_bytes    = 8
  max_size_bytes    = var.max_size_bytes
  step_factor       = 8
  warmup_iterations = 1
  environment       = { NCCL_NVLS_ENABLE = "0" }
  checks            = { skip = ["gpu_count"] } # the machine has fewer than the shape
  triggers          = { run = var.run }
  report_path       = "${path.root}/report.html"
}

output "verdict" {
  value = {
    outcome             = ocihpc_nccl_benchmark.this.outcome
    ranks               = ocihpc_nccl_benchmark.this.ranks
    hosts               = ocihpc_nccl_benchmark.this.hosts
    wrong               = ocihpc_nccl_benchmark.this.wrong
    nccl_tests_version  = ocihpc_nccl_benchmark.this.nccl_tests_version
    peak_busbw_gb_per_s = ocihpc_nccl_benchmark.this.peak_busbw_gb_per_s
    latency_us          = ocihpc_nccl_benchmark.this.latency_us
    duration_seconds    = ocihpc_nccl_benchmark.this.duration_seconds
    nccl                = ocihpc_nccl_benchmark.this.nccl
    results             = [for r in ocihpc_nccl_benchmark.this.results : "${r.size_bytes} ${r.out_of_place.busbw_gb_per_s} ${r.in_place.busbw_gb_per_s}"]
    gpus                = [for n in ocihpc_nccl_benchmark.this.per_node : "${n.name}: ${n.gpus} ${coalesce(n.gpu_model, "?")}"]
  }
}

output "addresses" {
  value = ocihpc_gpu_cluster.this.nodes[*].private_ip
}

output "tuned" {
  value = ocihpc_nccl_benchmark.this.tuned
}

variable "compartment_id" {
  description = "OCID of the compartment."
  type        = string
}

variable "availability_domain" {
  description = "Name of the availability domain, such as Uocm:AP-TOKYO-1-AD-1."
  type        = string
}

variable "subnet_id" {
  description = "OCID of the private subnet of the nodes."
  type        = string
}

variable "image_id" {
  description = "OCID of an image with the NVIDIA driver, Open MPI and nccl-tests, such as Oracle's HPC GPU images."
  type        = string
}

variable "shape" {
  description = "Shape of the nodes."
  type        = string
  default     = "BM.GPU4.8"
}

variable "size" {
  description = "Number of nodes."
  type        = number
  default     = 8
}

variable "rdma" {
  description = "Whether the nodes must talk over RDMA. False is for shapes without RDMA, and for a lab, whose hosts have no adapters."
  type        = bool
  default     = true
}

variable "replace_nodes" {
  description = "OCIDs of nodes to replace, as the failed measurement names them. The entry may stay: a node that is gone is replaced no more."
  type        = set(string)
  default     = null
}

variable "report_unhealthy" {
  description = "Whether Oracle is told before the host is given back. The tenancy needs the tag namespace ComputeInstanceHostActions."
  type        = bool
  default     = true
}

variable "ssh_authorized_keys" {
  description = "Public keys that may log in to the nodes as opc."
  type        = string
}

variable "ssh_private_key_path" {
  description = "File with the private key to one of them. It is read on apply and never stored."
  type        = string
}

variable "bastion_host" {
  description = "Address of the bastion."
  type        = string
}

variable "bastion_port" {
  description = "SSH port of the bastion."
  type        = number
  default     = 22
}

variable "bastion_user" {
  description = "User on the bastion."
  type        = string
  default     = "opc"
}

variable "bastion_host_key" {
  description = "Host key of the bastion as in known_hosts (ssh-ed25519 AAAA…). Null accepts it on first contact and records it."
  type        = string
  default     = null
}

variable "min_size_bytes" {
  description = "Smallest message size."
  type        = number
  default     = 1048576
}

variable "max_size_bytes" {
  description = "Largest message size."
  type        = number
  default     = 8589934592
}

variable "min_busbw_gb_per_s" {
  description = "Least bus bandwidth from 1 GiB on, in 10^9 bytes per second: 185 is oci-hpc's limit for BM.GPU4.8. Null takes the catalog's limits of the shape, where it has them."
  type        = number
  default     = 185
}

variable "nodes" {
  description = "Addresses by which the bastion (or this machine) and the other nodes reach them. The first one is the head node."
  type = list(object({
    private_ip = string
    hostname   = optional(string)
  }))
}

variable "shape" {
  description = "OCI shape of the nodes, for its NCCL settings, number of GPUs and limits. Null assumes none."
  type        = string
  default     = null
}

variable "ssh_user" {
  description = "User on the nodes."
  type        = string
  default     = "opc"
}

variable "ssh_private_key_path" {
  description = "File with a private key to the nodes. It is read on apply and never stored."
  type        = string
}

variable "bastion_host" {
  description = "Address of the bastion. Null reaches the nodes directly."
  type        = string
  default     = null
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
  description = "Least bus bandwidth over all nodes, in 10^9 bytes per second. Null takes the catalog's limits of the shape, where it has them."
  type        = number
  default     = null
}

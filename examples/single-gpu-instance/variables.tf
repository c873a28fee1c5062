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
  description = "OCID of an image with the NVIDIA driver. Without container_image, it needs nccl-tests as well."
  type        = string
}

variable "shape" {
  description = "Shape of the nodes."
  type        = string
  default     = "BM.GPU4.8"
}

variable "timezone" {
  description = "Time zone of the nodes, such as Asia/Tokyo. Null leaves the image's."
  type        = string
  default     = null
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

variable "container_image" {
  description = "Image with nccl-tests that is pulled, proven to see the GPUs, and measured in. Null measures on the node itself."
  type        = string
  default     = "nvcr.io/nvidia/pytorch:25.02-py3"
}

variable "mirror" {
  description = "Address of what takes the place of the vendors' release pages, for nodes without the internet. Null takes these."
  type        = string
  default     = null
}

variable "versions" {
  description = "Versions of the engine's components. Null takes those that were released to work together."
  type        = map(string)
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

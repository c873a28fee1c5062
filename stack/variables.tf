# Resource Manager fills in the first four by itself, and gives all of them to a job as TF_VAR_ variables of its environment.

variable "compartment_ocid" {
  description = "OCID of the compartment."
  type        = string
}

variable "region" {
  description = "Region, such as ap-tokyo-1."
  type        = string
}

variable "tenancy_ocid" {
  description = "OCID of the tenancy, for ApiKey."
  type        = string
  default     = null
}

variable "current_user_ocid" {
  description = "OCID of the user who creates the stack, whose API key it is."
  type        = string
  default     = null
}

variable "auth" {
  description = "As what the job signs its requests: ResourcePrincipal, InstancePrincipal or ApiKey."
  type        = string
  default     = "ResourcePrincipal"
  validation {
    condition     = contains(["ResourcePrincipal", "InstancePrincipal", "ApiKey"], var.auth)
    error_message = "A job signs as ResourcePrincipal, InstancePrincipal or ApiKey."
  }
}

variable "api_fingerprint" {
  description = "Fingerprint of the API key, for ApiKey."
  type        = string
  default     = null
}

variable "api_private_key" {
  description = "Private API key in base64, as a form's file arrives, for ApiKey. Resource Manager stores it with the stack's variables."
  type        = string
  sensitive   = true
  default     = null
}

variable "availability_domain" {
  description = "Name of the availability domain."
  type        = string
}

variable "vcn_id" {
  description = "OCID of the VCN, which the form lists the subnets of."
  type        = string
  default     = null
}

variable "subnet_id" {
  description = "OCID of the private subnet of the nodes."
  type        = string
}

variable "name" {
  description = "Name of the cluster."
  type        = string
  default     = "gpu"
}

variable "shape" {
  description = "Shape of the nodes."
  type        = string
  default     = "BM.GPU4.8"
}

variable "size" {
  description = "Number of nodes."
  type        = number
  default     = 2
}

variable "image_id" {
  description = "OCID of an image with the NVIDIA driver, Open MPI and nccl-tests."
  type        = string
}

variable "rdma" {
  description = "Whether nodes of a shape with RDMA are set up for it and must talk by it."
  type        = bool
  default     = true
}

variable "ssh_authorized_keys" {
  description = "Public keys that may log in to the nodes."
  type        = string
}

variable "ssh_private_key" {
  description = "Private key to one of them, in base64, as a form's file arrives. It is used in the job and stored by Resource Manager with the stack's variables."
  type        = string
  sensitive   = true
}

variable "ssh_user" {
  description = "User of the nodes' image."
  type        = string
  default     = "opc"
}

variable "bastion_host" {
  description = "Public address of the bastion: jobs reach no private subnet."
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

variable "container_engine" {
  description = "containerd, docker, podman or none."
  type        = string
  default     = "containerd"
}

variable "measure" {
  description = "Whether the nodes are checked and measured."
  type        = bool
  default     = true
}

variable "max_size_bytes" {
  description = "Largest message size."
  type        = number
  default     = 8589934592
}

variable "min_busbw_gb_per_s" {
  description = "Least bus bandwidth from 1 GiB on, in 10^9 bytes per second. 0 takes the catalog's limits of the shape, where it has them."
  type        = number
  default     = 0
}

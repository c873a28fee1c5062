variable "compartment_id" {
  description = "OCID of the compartment."
  type        = string
}

variable "availability_domain" {
  description = "Name of the availability domain, such as Uocm:AP-TOKYO-1-AD-1."
  type        = string
}

variable "subnet_id" {
  description = "OCID of the private subnet of the nodes, in which all traffic between them is allowed. The module network makes one."
  type        = string
}

variable "nsg_ids" {
  description = "OCIDs of network security groups of the nodes."
  type        = set(string)
  default     = null
}

variable "name" {
  description = "Name of the cluster, unique in the compartment."
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
  validation {
    condition     = var.size >= 1 && floor(var.size) == var.size
    error_message = "The size must be a whole number of at least 1."
  }
}

variable "interconnect" {
  description = "cluster_network, compute_cluster, or none. Null takes a cluster network for shapes with RDMA."
  type        = string
  default     = null
}

variable "rdma" {
  description = "Whether nodes of a shape with RDMA are set up for it and must talk by it. False is for a lab, whose hosts have no adapters."
  type        = bool
  default     = true
}

variable "image_id" {
  description = "OCID of the image. Null selects by image."
  type        = string
  default     = null
}

variable "image" {
  description = "Selects the newest image of a kind, instead of image_id."
  type = object({
    operating_system         = string
    operating_system_version = optional(string)
    name_pattern             = optional(string)
  })
  default = null
}

variable "boot_volume_size_in_gbs" {
  description = "Size of each boot volume in GB. Null takes the image's."
  type        = number
  default     = null
}

variable "timezone" {
  description = "Time zone of the nodes, such as Asia/Tokyo. Null leaves the image's."
  type        = string
  default     = null
}

variable "user_data" {
  description = "Cloud-init data in base64, instead of the module's: the local disks at /mnt/localdisk, RDMA, no firewall, unlimited locked memory."
  type        = string
  default     = null
}

variable "freeform_tags" {
  description = "Tags of the cluster and its nodes."
  type        = map(string)
  default     = null
}

variable "replace_nodes" {
  description = "OCIDs of nodes to replace, such as the output replace_nodes of an earlier apply."
  type        = set(string)
  default     = null
}

variable "update_strategy" {
  description = "What a change of image or cloud-init does to running nodes: new_nodes_only or rolling."
  type        = string
  default     = null
}

variable "ssh_authorized_keys" {
  description = "Public keys that may log in to the nodes."
  type        = string
}

variable "ssh_user" {
  description = "User of the nodes' image."
  type        = string
  default     = "opc"
}

variable "ssh_private_key_path" {
  description = "File with the private key to one of ssh_authorized_keys, read on apply and never stored. Null takes the provider's, or the SSH agent."
  type        = string
  default     = null
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

variable "container_runtime" {
  description = "Container engine to set up on the nodes. Null sets up none."
  type = object({
    engine        = optional(string, "containerd")
    data_root     = optional(string)
    images        = optional(list(string), [])
    rootless_user = optional(string)
    mirror        = optional(string)
    versions      = optional(map(string))
  })
  default = {}
}

variable "benchmark" {
  description = "How the nodes are measured, in the container image where one is given. Null does not measure."
  type = object({
    image              = optional(string)
    min_size_bytes     = optional(number, 1048576)
    max_size_bytes     = optional(number, 8589934592)
    repeats            = optional(number, 3)
    min_busbw_gb_per_s = optional(number)
    at_least_bytes     = optional(number, 1073741824)
    on_failure         = optional(string, "fail")
    report_directory   = optional(string)
  })
  default = {}
}

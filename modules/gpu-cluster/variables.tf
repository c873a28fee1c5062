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
  validation {
    condition     = var.interconnect == null ? true : contains(["cluster_network", "compute_cluster", "none"], var.interconnect)
    error_message = "The interconnect is cluster_network, compute_cluster or none."
  }
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

variable "capacity_reservation_id" {
  description = "OCID of a capacity reservation to take the hosts from. Null takes them on demand."
  type        = string
  default     = null
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

variable "defined_tags" {
  description = "Defined tags of the cluster and its nodes, as \"namespace.key\" = value."
  type        = map(string)
  default     = null
}

variable "replace_nodes" {
  description = "OCIDs of nodes to replace, as the failed apply's message names them: outputs are not updated by an apply that fails."
  type        = set(string)
  default     = null
}

variable "remove_nodes" {
  description = "OCIDs of nodes to terminate when size becomes smaller. Null lets OCI choose."
  type        = set(string)
  default     = null
}

variable "report_unhealthy" {
  description = "Whether nodes to replace or remove are reported to Oracle for repair. The tenancy needs the tag namespace ComputeInstanceHostActions."
  type        = bool
  default     = null
}

variable "update_strategy" {
  description = "What a change of image or cloud-init does to running nodes: new_nodes_only or rolling. Null is new_nodes_only."
  type        = string
  default     = null
  validation {
    condition     = var.update_strategy == null ? true : contains(["new_nodes_only", "rolling"], var.update_strategy)
    error_message = "The update strategy is new_nodes_only or rolling."
  }
}

variable "max_unavailable" {
  description = "How many nodes a rolling update replaces at a time. Null is 1."
  type        = number
  default     = null
}

variable "preflight" {
  description = "Whether plans that launch nodes ask OCI for free hosts and limits, and warn where they do not suffice."
  type        = bool
  default     = null
}

variable "timeouts" {
  description = "How long the cluster may take, such as { create = \"90m\" }. Null takes the provider's times, which grow with the number of nodes."
  type = object({
    create = optional(string)
    update = optional(string)
    delete = optional(string)
  })
  default = null
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
    timeouts = optional(object({
      create = optional(string)
      update = optional(string)
      delete = optional(string)
    }))
  })
  default = {}
  validation {
    condition     = var.container_runtime == null ? true : contains(["containerd", "docker", "podman"], var.container_runtime.engine)
    error_message = "The engine is containerd, docker or podman."
  }
}

variable "benchmark" {
  description = "How the nodes are measured, in the container image where one is given. Null does not measure."
  type = object({
    image    = optional(string)
    engine   = optional(string) # that runs the image; null takes that of container_runtime
    rootless = optional(bool)   # as the login user, ssh_user
    nccl_tests_source = optional(object({
      archive_url = optional(string)
      sha256      = optional(string)
      git_url     = optional(string)
      git_ref     = optional(string)
      make        = optional(map(string))
      always      = optional(bool)
    }))
    min_size_bytes     = optional(number, 1048576)
    max_size_bytes     = optional(number, 8589934592)
    repeats            = optional(number, 3)
    min_busbw_gb_per_s = optional(number)
    at_least_bytes     = optional(number, 1073741824)
    on_failure         = optional(string, "fail")
    report_directory   = optional(string)
    timeouts = optional(object({
      create = optional(string)
      update = optional(string)
    }))
  })
  default = {}
  validation {
    condition     = var.benchmark == null ? true : contains(["fail", "warn"], var.benchmark.on_failure)
    error_message = "on_failure is fail or warn."
  }
}

variable "compartment_id" {
  description = "OCID of the compartment."
  type        = string
}

variable "name" {
  description = "Name of the VCN, with which the names of its parts begin."
  type        = string
  default     = "gpu"
}

variable "dns_label" {
  description = "DNS label of the VCN: letters and digits, 15 at most, a letter first."
  type        = string
  default     = "gpu"
  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9]{0,14}$", var.dns_label))
    error_message = "It must be letters and digits, 15 at most, and begin with a letter."
  }
}

variable "cidr" {
  description = "Addresses of the VCN, /16 to /22. The public subnet takes the first 256th of them, the private one the second quarter."
  type        = string
  default     = "10.0.0.0/16"
  validation {
    condition     = can(cidrnetmask(var.cidr)) && try(cidrsubnet(var.cidr, 0, 0), "") == var.cidr && contains(range(16, 23), try(tonumber(split("/", var.cidr)[1]), 0))
    error_message = "It must be an IPv4 network with a prefix of 16 to 22 bits, such as 10.0.0.0/16: OCI has no larger VCNs."
  }
}

variable "ssh_from" {
  description = "Networks that may log in to the bastion: your own rather than 0.0.0.0/0."
  type        = list(string)
  default     = []
  validation {
    condition     = alltrue([for network in var.ssh_from : can(cidrhost(network, 0))])
    error_message = "They must be networks, such as 192.0.2.0/24, or 192.0.2.7/32 for one address."
  }
}

variable "bastion" {
  description = "The bastion, with an image of Oracle Linux 9. Null makes none."
  type = object({
    shape         = optional(string, "VM.Standard.E5.Flex")
    ocpus         = optional(number, 1)
    memory_in_gbs = optional(number, 16)
  })
  default = {}
}

variable "availability_domain" {
  description = "Name of the availability domain of the bastion, such as Uocm:AP-TOKYO-1-AD-1."
  type        = string
  default     = null
}

variable "ssh_authorized_keys" {
  description = "Public keys that may log in to the bastion."
  type        = string
  default     = null
}

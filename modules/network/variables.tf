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
  description = "DNS label of the VCN: letters and digits, 15 at most."
  type        = string
  default     = "gpu"
}

variable "cidr" {
  description = "Addresses of the VCN, /22 or larger. The public subnet takes the first 256th of them, the private one the second quarter."
  type        = string
  default     = "10.0.0.0/16"
  validation {
    condition     = can(cidrsubnet(var.cidr, 8, 0)) && try(tonumber(split("/", var.cidr)[1]), 32) <= 22
    error_message = "It must be a network with a prefix of 22 bits or fewer, such as 10.0.0.0/16."
  }
}

variable "ssh_from" {
  description = "Networks that may log in to the bastion: your own rather than 0.0.0.0/0."
  type        = list(string)
  default     = []
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

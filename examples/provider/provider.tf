terraform {
  required_version = ">= 1.5.7"
  required_providers {
    ocihpc = {
      source  = "ocihpc/ocihpc"
      version = "~> 0.1"
    }
  }
}

# Credentials as for the official provider: ~/.oci/config, the environment, or arguments.
provider "ocihpc" {
  auth                = "ApiKey"
  config_file_profile = "DEFAULT"
  region              = "ap-tokyo-1"
}

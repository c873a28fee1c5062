terraform {
  required_providers {
    ocihpc = {
      source = "ocihpc/ocihpc"
    }
  }
}

# Credentials as for the official provider: ~/.oci/config, the environment, or arguments.
provider "ocihpc" {
  auth                = "ApiKey"
  config_file_profile = "DEFAULT"
  region              = "ap-tokyo-1"
}

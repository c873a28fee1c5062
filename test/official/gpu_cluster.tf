# What compute.tf makes of an instance configuration, a cluster network and data sources for its nodes, made by
# ocihpc_gpu_cluster in a network of OCI's official provider, which reads the result back. Generation 2
# changes the launch of the nodes, and has one more.

variable "compartment_id" {}
variable "availability_domain" {}
variable "image_id" {}
variable "generation" {
  type    = number
  default = 1
}

locals {
  name = "official-${var.generation}"
}

resource "oci_core_vcn" "this" {
  compartment_id = var.compartment_id
  cidr_blocks    = ["172.20.0.0/16"]
  display_name   = "official"
  dns_label      = "official"
}

resource "oci_core_nat_gateway" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
}

resource "oci_core_route_table" "private" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  route_rules {
    destination       = "0.0.0.0/0"
    network_entity_id = oci_core_nat_gateway.this.id
  }
}

resource "oci_core_security_list" "cluster" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  ingress_security_rules {
    protocol = "all"
    source   = "172.20.0.0/16"
  }
  egress_security_rules {
    protocol    = "all"
    destination = "0.0.0.0/0"
  }
}

resource "oci_core_subnet" "private" {
  compartment_id             = var.compartment_id
  vcn_id                     = oci_core_vcn.this.id
  cidr_block                 = "172.20.1.0/24"
  prohibit_public_ip_on_vnic = true
  route_table_id             = oci_core_route_table.private.id
  security_list_ids          = [oci_core_security_list.cluster.id]
}

resource "oci_core_network_security_group" "nodes" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
}

resource "ocihpc_gpu_cluster" "this" {
  for_each = toset(["cluster_network", "compute_cluster"])

  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = oci_core_subnet.private.id
  nsg_ids             = [oci_core_network_security_group.nodes.id]
  display_name        = each.key
  shape               = "BM.GPU4.8"
  interconnect        = each.key
  size                = 1 + var.generation
  image_id            = var.image_id
  metadata            = { generation = tostring(var.generation) }
  freeform_tags       = { generation = tostring(var.generation) }
  update_strategy     = "rolling"
}

# What OCI's own provider sees of it.
data "oci_core_cluster_network" "this" {
  cluster_network_id = ocihpc_gpu_cluster.this["cluster_network"].id
}

data "oci_core_instance" "node" {
  instance_id = ocihpc_gpu_cluster.this["compute_cluster"].nodes[0].id
}

output "agree" {
  value = true
  precondition {
    condition     = data.oci_core_cluster_network.this.instance_pools[0].size == 1 + var.generation
    error_message = "The cluster network's pool has another size."
  }
  precondition {
    condition     = data.oci_core_instance.node.private_ip == ocihpc_gpu_cluster.this["compute_cluster"].nodes[0].private_ip
    error_message = "The node has another address."
  }
  precondition {
    condition     = data.oci_core_instance.node.metadata.generation == tostring(var.generation)
    error_message = "The node was launched otherwise."
  }
}

# The network resources and data sources of OCI's official provider. Generation 2 changes each of them.

variable "compartment_id" {}
variable "availability_domain" {}
variable "work_requests" {
  description = "Whether the provider can reach the region's work requests."
  type        = bool
}
variable "generation" {
  type    = number
  default = 1
}

locals {
  second  = var.generation == 2
  name    = "official-${var.generation}"
  tags    = { generation = tostring(var.generation) }
  ssh     = local.second ? 2222 : 22
  address = "172.16.0.0/16"
}

resource "oci_core_vcn" "this" {
  compartment_id = var.compartment_id
  cidr_blocks    = local.second && var.work_requests ? [local.address, "172.17.0.0/16"] : [local.address]
  display_name   = local.name
  dns_label      = "official"
  freeform_tags  = local.tags
}

# Its defaults alone.
resource "oci_core_vcn" "plain" {
  compartment_id = var.compartment_id
  cidr_block     = local.address
}

resource "oci_core_internet_gateway" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  enabled        = !local.second
  freeform_tags  = local.tags
}

resource "oci_core_public_ip" "nat" {
  compartment_id = var.compartment_id
  lifetime       = "RESERVED"
  display_name   = local.name
}

resource "oci_core_nat_gateway" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  block_traffic  = local.second
  public_ip_id   = oci_core_public_ip.nat.id
}

resource "oci_core_nat_gateway" "plain" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.plain.id
}

data "oci_core_services" "all" {
  filter {
    name   = "name"
    values = ["All .* Services In Oracle Services Network"]
    regex  = true
  }
}

data "oci_core_services" "storage" {
  filter {
    name   = "name"
    values = [".*Object Storage"]
    regex  = true
  }
}

resource "oci_core_service_gateway" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  services {
    service_id = local.second ? data.oci_core_services.storage.services[0].id : data.oci_core_services.all.services[0].id
  }
}

resource "oci_core_route_table" "public" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  freeform_tags  = local.tags
  route_rules {
    destination       = "0.0.0.0/0"
    network_entity_id = oci_core_internet_gateway.this.id
    description       = "everything ${var.generation}"
  }
}

resource "oci_core_default_route_table" "private" {
  manage_default_resource_id = oci_core_vcn.this.default_route_table_id
  display_name               = local.name
  route_rules {
    destination       = local.second ? "10.0.0.0/8" : "0.0.0.0/0"
    destination_type  = "CIDR_BLOCK"
    network_entity_id = oci_core_nat_gateway.this.id
  }
  dynamic "route_rules" {
    for_each = local.second ? [] : [1]
    content {
      destination       = data.oci_core_services.all.services[0].cidr_block
      destination_type  = "SERVICE_CIDR_BLOCK"
      network_entity_id = oci_core_service_gateway.this.id
    }
  }
}

resource "oci_core_route_table_attachment" "public" {
  subnet_id      = oci_core_subnet.bare.id
  route_table_id = oci_core_route_table.public.id
}

resource "oci_core_security_list" "public" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  ingress_security_rules {
    protocol = "6"
    source   = "0.0.0.0/0"
    tcp_options {
      min = local.ssh
      max = local.ssh
    }
  }
  ingress_security_rules {
    protocol    = "17"
    source      = local.address
    stateless   = true
    description = "UDP, with a range of source ports"
    udp_options {
      min = 4000
      max = 4010
      source_port_range {
        min = 1
        max = 65535
      }
    }
  }
  ingress_security_rules {
    protocol = "1"
    source   = "0.0.0.0/0"
    icmp_options {
      type = 3
      code = 4
    }
  }
  egress_security_rules {
    protocol    = "all"
    destination = "0.0.0.0/0"
  }
  egress_security_rules {
    protocol         = "6"
    destination      = data.oci_core_services.all.services[0].cidr_block
    destination_type = "SERVICE_CIDR_BLOCK"
    tcp_options {
      min = 443
      max = 443
    }
  }
}

resource "oci_core_default_security_list" "this" {
  manage_default_resource_id = oci_core_vcn.this.default_security_list_id
  display_name               = local.name
  ingress_security_rules {
    protocol = local.second ? "6" : "all"
    source   = local.address
  }
  egress_security_rules {
    protocol    = "all"
    destination = "0.0.0.0/0"
  }
}

resource "oci_core_dhcp_options" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  options {
    type               = "DomainNameServer"
    server_type        = local.second ? "VcnLocalPlusInternet" : "CustomDnsServer"
    custom_dns_servers = local.second ? [] : ["192.0.2.53"]
  }
  options {
    type                = "SearchDomain"
    search_domain_names = ["official.example.com"]
  }
}

resource "oci_core_default_dhcp_options" "this" {
  manage_default_resource_id = oci_core_vcn.this.default_dhcp_options_id
  display_name               = local.name
  options {
    type        = "DomainNameServer"
    server_type = "VcnLocalPlusInternet"
  }
}

resource "oci_core_subnet" "public" {
  compartment_id      = var.compartment_id
  vcn_id              = oci_core_vcn.this.id
  availability_domain = var.availability_domain
  cidr_block          = "172.16.0.0/24"
  display_name        = local.name
  dns_label           = "public"
  dhcp_options_id     = oci_core_dhcp_options.this.id
  route_table_id      = local.second ? oci_core_vcn.this.default_route_table_id : oci_core_route_table.public.id
  security_list_ids   = local.second ? [oci_core_security_list.public.id, oci_core_vcn.this.default_security_list_id] : [oci_core_security_list.public.id]
  freeform_tags       = local.tags
}

resource "oci_core_subnet" "private" {
  compartment_id             = var.compartment_id
  vcn_id                     = oci_core_vcn.this.id
  cidr_block                 = local.second ? "172.16.2.0/23" : "172.16.2.0/24"
  display_name               = local.name
  dns_label                  = "private"
  prohibit_public_ip_on_vnic = true
}

resource "oci_core_subnet" "bare" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  cidr_block     = "172.16.8.0/30"
  lifecycle {
    ignore_changes = [route_table_id]
  }
}

resource "oci_core_network_security_group" "gpu" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  freeform_tags  = local.tags
}

resource "oci_core_network_security_group" "plain" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
}

resource "oci_core_network_security_group_security_rule" "ssh" {
  network_security_group_id = oci_core_network_security_group.gpu.id
  direction                 = "INGRESS"
  protocol                  = "6"
  source                    = local.address
  source_type               = "CIDR_BLOCK"
  description               = local.name
  tcp_options {
    destination_port_range {
      min = local.ssh
      max = local.ssh
    }
  }
}

resource "oci_core_network_security_group_security_rule" "within" {
  for_each                  = toset(["INGRESS", "EGRESS"])
  network_security_group_id = oci_core_network_security_group.gpu.id
  direction                 = each.key
  protocol                  = "all"
  source                    = each.key == "INGRESS" ? oci_core_network_security_group.gpu.id : null
  source_type               = each.key == "INGRESS" ? "NETWORK_SECURITY_GROUP" : null
  destination               = each.key == "EGRESS" ? oci_core_network_security_group.gpu.id : null
  destination_type          = each.key == "EGRESS" ? "NETWORK_SECURITY_GROUP" : null
  stateless                 = true
}

resource "oci_core_network_security_group_security_rule" "ping" {
  network_security_group_id = oci_core_network_security_group.gpu.id
  direction                 = "INGRESS"
  protocol                  = "1"
  source                    = "0.0.0.0/0"
  icmp_options {
    type = 8
  }
}

resource "oci_core_private_ip" "free" {
  subnet_id    = oci_core_subnet.private.id
  display_name = local.name
  lifetime     = "RESERVED"
}

data "oci_core_vcns" "this" {
  compartment_id = var.compartment_id
  display_name   = oci_core_vcn.this.display_name
}
data "oci_core_vcn" "this" {
  vcn_id = oci_core_vcn.this.id
}
data "oci_core_subnets" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_subnet.public.vcn_id
  depends_on     = [oci_core_subnet.private, oci_core_subnet.bare]
}
data "oci_core_subnet" "this" {
  subnet_id = oci_core_subnet.public.id
}
data "oci_core_internet_gateways" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_internet_gateway.this.vcn_id
}
data "oci_core_nat_gateways" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_nat_gateway.this.vcn_id
}
data "oci_core_nat_gateway" "this" {
  nat_gateway_id = oci_core_nat_gateway.this.id
}
data "oci_core_service_gateways" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_service_gateway.this.vcn_id
}
data "oci_core_route_tables" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_route_table.public.vcn_id
}
data "oci_core_security_lists" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_security_list.public.vcn_id
}
data "oci_core_dhcp_options" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_dhcp_options.this.vcn_id
}
data "oci_core_network_security_groups" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_network_security_group.gpu.vcn_id
}
data "oci_core_network_security_group" "this" {
  network_security_group_id = oci_core_network_security_group.gpu.id
}
data "oci_core_network_security_group_security_rules" "this" {
  network_security_group_id = oci_core_network_security_group_security_rule.ssh.network_security_group_id
  direction                 = "INGRESS"
  depends_on                = [oci_core_network_security_group_security_rule.within, oci_core_network_security_group_security_rule.ping]
}
data "oci_core_network_security_group_vnics" "this" {
  network_security_group_id = oci_core_network_security_group.gpu.id
}
data "oci_core_private_ips" "this" {
  subnet_id = oci_core_private_ip.free.subnet_id
}
data "oci_core_private_ip" "this" {
  private_ip_id = oci_core_private_ip.free.id
}
data "oci_core_public_ips" "this" {
  compartment_id = var.compartment_id
  scope          = "REGION"
  depends_on     = [oci_core_nat_gateway.this]
}
data "oci_core_public_ip" "this" {
  ip_address = oci_core_public_ip.nat.ip_address
}

output "subnets" {
  value = length(data.oci_core_subnets.this.subnets)
}
output "rules" {
  value = length(data.oci_core_network_security_group_security_rules.this.security_rules)
}
output "nat_ip" {
  value = oci_core_nat_gateway.this.nat_ip == oci_core_public_ip.nat.ip_address
}

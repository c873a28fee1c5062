output "vcn_id" {
  description = "OCID of the VCN."
  value       = oci_core_vcn.this.id
}

output "subnet_id" {
  description = "OCID of the private subnet, for the nodes."
  value       = oci_core_subnet.private.id
}

output "public_subnet_id" {
  description = "OCID of the public subnet."
  value       = oci_core_subnet.public.id
}

output "bastion_host" {
  description = "Public address of the bastion; null without one."
  value       = one(oci_core_instance.bastion[*].public_ip)
}

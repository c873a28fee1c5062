# The network with a cluster in it: a region without hosts suffices.

variables {
  cidr     = "172.20.0.0/16"
  ssh_from = ["192.0.2.0/24"]
}

run "network" {
  assert {
    condition     = oci_core_subnet.private.cidr_block == "172.20.64.0/18" && oci_core_subnet.private.prohibit_public_ip_on_vnic
    error_message = "The nodes' subnet is not private, or too small."
  }
  assert {
    condition     = alltrue([for rule in oci_core_security_list.public.ingress_security_rules : rule.source == "192.0.2.0/24"])
    error_message = "Others may log in to the bastion."
  }
  assert {
    condition     = can(cidrhost("${output.bastion_host}/32", 0))
    error_message = "The bastion has no public address."
  }
}

run "is_to_lose_its_bastion" {
  command = plan
  variables {
    bastion = null
  }
  assert {
    condition     = output.subnet_id != null # unknown, if there were to be another
    error_message = "The network is another one."
  }
}

run "without_bastion" {
  variables {
    bastion = null
  }
  assert {
    condition     = output.bastion_host == null
    error_message = "The bastion is still there."
  }
}

run "refuses_a_bastion_that_nobody_reaches" {
  command = plan
  variables {
    ssh_from = []
  }
  expect_failures = [oci_core_instance.bastion]
}

run "refuses_a_small_network" {
  command = plan
  variables {
    cidr = "10.0.0.0/24"
  }
  expect_failures = [var.cidr]
}

run "refuses_a_large_network" {
  command = plan
  variables {
    cidr = "10.0.0.0/8"
  }
  expect_failures = [var.cidr]
}

run "refuses_what_is_no_label_and_no_network" {
  command = plan
  variables {
    dns_label = "gpu-cluster"
    ssh_from  = ["192.0.2.7"]
  }
  expect_failures = [var.dns_label, var.ssh_from]
}

# The last one, for what runs last is destroyed first.
run "cluster" {
  module {
    source = "../gpu-cluster"
  }
  variables {
    subnet_id         = run.without_bastion.subnet_id
    container_runtime = null
    benchmark         = null
  }
  assert {
    condition     = alltrue([for node in output.nodes : cidrhost("${node.private_ip}/18", 0) == "172.20.64.0"])
    error_message = "The nodes are elsewhere."
  }
}

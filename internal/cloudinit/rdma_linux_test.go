// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAgentRDMA has the agent use another network, and restarts it only when that is new to it.
func TestAgentRDMA(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.driver.WriteString(rdmaPorts)
	m.write("bin/snap", "#!/bin/sh\nrecord snap \"$@\"\n")
	const file = "/etc/oracle-cloud-agent/plugins/oci-hpc/oci-hpc-configure/rdma_network.json"
	agent := func(network string) Config {
		return Config{RDMA: &RDMA{Mode: RDMAAgent, Network: network, WaitSeconds: 1}}
	}
	m.run(`ip address add 10.0.2.87/24 dev vcn0; ip route add default via 10.0.2.1
		for d in enp12s0f0 enp12s0f1 enp22s0f0; do ip link set $d mtu 4220; ip address add 172.16.0.1/16 dev $d; done`)
	first, again := m.boot(agent("172.16.0.0/12")), m.boot(agent("172.16.0.0/12"))
	m.run(`cp ` + file + ` /srv/own
		echo '{"default-settings": {"rdma_network": "192.168.0.0/16", "modify_arp": true}, "subnet-settings": {"netmask": "255.255.0.0", "override_netconfig_netmask": "255.255.0.0"}}' >` + file + `
		mkdir -p /snap/oracle-cloud-agent`)
	snap := m.boot(agent("10.224.0.0/12"))
	m.run(`cp ` + file + ` /srv/image`)
	untouched := m.boot(agent(""))
	m.run(`touch /sim/service.NetworkManager`)
	manual := m.boot(Config{RDMA: &RDMA{Mode: RDMAManual, Authentication: "agent", WaitSeconds: 1}})
	m.run(`ip link set enp12s0f1 mtu 1500`)
	narrow := m.boot(agent(""))
	m.run(`ip address flush dev enp12s0f0`)
	noAddress := m.boot(agent(""))
	m.start()

	m.expect(first, "commands", m.result(first).recorded, []string{"systemctl restart oracle-cloud-agent"})
	m.expect(again, "commands", m.result(again).recorded, nil)
	m.expect(snap, "commands", m.result(snap).recorded, []string{"snap restart oracle-cloud-agent"})
	m.expect(untouched, "commands", m.result(untouched).recorded, nil)
	m.expect(manual, "commands", m.result(manual).recorded, []string{"systemctl reload NetworkManager"})
	for _, n := range []int{first, again, snap, untouched, manual} {
		if b := m.result(n); b.exit != 0 || b.status[0].Message != "3 RDMA ports are authenticated and have addresses" {
			t.Errorf("boot %d: %+v", n, b)
		}
	}
	for name, want := range map[string][2]string{"own": {"172.16.0.0/12", "255.240.0.0"}, "image": {"10.224.0.0/12", "255.240.0.0"}} {
		var settings struct {
			Default struct {
				Network   string `json:"rdma_network"`
				ModifyARP bool   `json:"modify_arp"`
			} `json:"default-settings"`
			Subnet map[string]string `json:"subnet-settings"`
		}
		if err := json.Unmarshal([]byte(readFile(t, m.out+"/"+name)), &settings); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if settings.Default.Network != want[0] || !settings.Default.ModifyARP || settings.Subnet["netmask"] != want[1] || settings.Subnet["override_netconfig_netmask"] != want[1] {
			t.Errorf("%s: %+v", name, settings)
		}
	}
	for n, want := range map[int]string{
		narrow:    "not ready after 1 seconds: enp12s0f1 has MTU 1500, not 4220",
		noAddress: "not ready after 1 seconds: enp12s0f0 has no address",
	} {
		if b := m.result(n); b.exit == 0 || b.status[0].Message != want {
			t.Errorf("boot %d: %+v, want %q", n, b.status, want)
		}
	}
}

// TestPackageRDMA has the package of Oracle's images configure the ports.
func TestPackageRDMA(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.driver.WriteString(rdmaPorts)
	config := Config{RDMA: &RDMA{Mode: RDMARPM, Network: "10.224.0.0/12", WaitSeconds: 1}}
	m.run(`ip address add 10.0.2.87/24 dev vcn0; ip route add default via 10.0.2.1
		for d in enp12s0f0 enp12s0f1 enp22s0f0; do ip link set $d mtu 4220; ip address add 10.224.0.1/12 dev $d; done`)
	none := m.boot(config)
	m.run(`mkdir -p /etc/oci-hpc; printf 'a=b\nrdma_network = 192.168.0.0/255.255.0.0\nmtu=4220\n' >/etc/oci-hpc/rdma-network.conf`)
	first, again := m.boot(config), m.boot(config)
	m.run(`cp /etc/oci-hpc/rdma-network.conf /srv/conf`)
	m.start()

	if b := m.result(none); b.exit == 0 || !strings.HasPrefix(b.status[0].Message, "this image has no /etc/oci-hpc/rdma-network.conf") {
		t.Errorf("without the package: %+v", b)
	}
	m.expect(first, "commands", m.result(first).recorded, []string{"systemctl enable oci-rdma-configure", "systemctl restart oci-rdma-configure"})
	m.expect(again, "commands", m.result(again).recorded, []string{"systemctl enable oci-rdma-configure", "systemctl start oci-rdma-configure"})
	if got, want := readFile(t, m.out+"/conf"), "a=b\nrdma_network = 10.224.0.0/255.240.0.0\nmtu=4220\n"; got != want {
		t.Errorf("settings %q, want %q", got, want)
	}
}

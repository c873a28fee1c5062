// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"slices"
	"strings"
	"testing"
)

// TestArray makes an md array once and assembles it after a reboot and a change of the boot volume.
func TestArray(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{Shape: "BM.GPU4.8", NVMe: &NVMe{Layout: RAID10, FileSystem: "ext4"}}
	first := m.boot(config)
	m.reboot()
	second := m.boot(config)
	m.reimage()
	third := m.boot(config)
	m.start()
	m.expect(first, "commands", m.result(first).recorded, []string{
		"mdadm --create /dev/md/localdisk --run --homehost=any --name=localdisk --metadata=1.2 --level=10 --chunk=256 --raid-devices=4 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1",
		"mkfs.ext4 -L localscratch /dev/md/localdisk",
		"systemctl daemon-reload",
		"mount /mnt/localdisk",
	})
	const assemble = "mdadm --assemble --run /dev/md/localdisk --name=localdisk /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1"
	m.expect(second, "commands", m.result(second).recorded, []string{assemble, "mount /mnt/localdisk"})
	m.expect(third, "commands", m.result(third).recorded, []string{assemble, "systemctl daemon-reload", "mount /mnt/localdisk"})
	if got, want := m.result(third).status[0].Message, "4 of 4 NVMe devices, ext4 on raid10 at /mnt/localdisk"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestArrayOfSystem takes the array that the system has assembled, under whatever name, and labels it.
func TestArrayOfSystem(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.run(`mkdir -p /dev/disk/by-id; mknod /dev/disk/by-id/md-name-any:localdisk b 9 127
		echo ext4 >/sim/type.md-name-any:localdisk; echo old >/sim/label.md-name-any:localdisk`)
	boot := m.boot(Config{NVMe: &NVMe{Layout: RAID0, FileSystem: "ext4"}})
	m.start()
	m.expect(boot, "commands", m.result(boot).recorded, []string{
		"e2label /dev/disk/by-id/md-name-any:localdisk localscratch", "systemctl daemon-reload", "mount /mnt/localdisk",
	})
}

// TestUnreadableDevice leaves alone what cannot be read.
func TestUnreadableDevice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("bin/blkid", "#!/bin/sh\nexit 8\n")
	boot := m.boot(Config{NVMe: nvme(linear)})
	m.start()
	b := m.result(boot)
	if len(b.recorded) > 0 || !strings.HasPrefix(b.status[0].Message, "/dev/nvme0n1 holds something unreadable: ") {
		t.Errorf("%+v", b)
	}
}

func TestGrowRootFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("bin/oci-growfs", "#!/bin/sh\necho 'no space for a new label'\nexit 3\n")
	boot := m.boot(Config{GrowRoot: true})
	m.start()
	b := m.result(boot)
	m.expect(boot, "steps", b.steps(), []string{"grow_root 3"})
	if b.exit == 0 || b.status[0].Message != "no space for a new label" {
		t.Errorf("%+v", b)
	}
}

// TestEachDisk mounts devices by the numbers in their labels, whatever their order is later.
func TestEachDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{NVMe: &NVMe{Layout: PerDisk, Label: "scratch"}}
	m.run(`mv /dev/nvme1n1 /dev/hidden; mv /dev/nvme3n1 /dev/hidden3`)
	first := m.boot(config)
	m.reimage()
	m.run(`mv /dev/hidden /dev/nvme1n1; echo swap >/sim/type.nvme3n1`)
	second := m.boot(config)
	m.run(`mv /dev/hidden3 /dev/nvme3n1`)
	third := m.boot(config)
	m.start()
	m.expect(first, "commands", m.result(first).recorded, []string{
		"mkfs.xfs -L scratch0 /dev/nvme0n1", "systemctl daemon-reload", "mount /mnt/localdisk/disk0",
		"mkfs.xfs -L scratch1 /dev/nvme2n1", "systemctl daemon-reload", "mount /mnt/localdisk/disk1",
	})
	m.expect(second, "commands", m.result(second).recorded, []string{
		"systemctl daemon-reload", "mount /mnt/localdisk/disk0",
		"mkfs.xfs -L scratch2 /dev/nvme1n1", "systemctl daemon-reload", "mount /mnt/localdisk/disk2",
		"systemctl daemon-reload", "mount /mnt/localdisk/disk1",
	})
	if b := m.result(third); b.exit == 0 || !strings.HasPrefix(b.status[0].Message, "/dev/nvme3n1 holds swap") {
		t.Errorf("foreign content: %+v", b)
	}
}

// TestOrderOfDevices goes by PCI addresses, not by names.
func TestOrderOfDevices(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.run(`
		for pair in 0:d0 1:c0 2:b0 3:a0; do
			mkdir -p "/sys/class/nvme/nvme${pair%:*}"
			echo "0000:${pair#*:}:00.0" >"/sys/class/nvme/nvme${pair%:*}/address"
			echo pcie >"/sys/class/nvme/nvme${pair%:*}/transport"
		done
		echo tcp >/sys/class/nvme/nvme1/transport
	`)
	boot := m.boot(Config{NVMe: &NVMe{Layout: RAID0}})
	m.start()
	b := m.result(boot)
	if len(b.recorded) == 0 || !strings.HasSuffix(b.recorded[0], "--level=0 --chunk=256 --raid-devices=3 /dev/nvme3n1 /dev/nvme2n1 /dev/nvme0n1") {
		t.Errorf("%+v", b)
	}
}

func TestContainerStorage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{NVMe: &NVMe{ContainerStorage: true}}
	m.run(`rm -rf /var/lib/docker /var/lib/containerd /etc/systemd/system/*.service.d; mkdir -p /var/lib/docker; echo image >/var/lib/docker/layer; touch /sim/service.docker`)
	first := m.boot(config)
	m.run(`cp /mnt/localdisk/docker/layer /srv/layer; cp /etc/systemd/system/docker.service.d/50-ocihpc-storage.conf /srv/unit`)
	second := m.boot(config)
	m.start()
	b := m.result(first)
	m.expect(first, "commands", b.recorded[3:], []string{
		"systemctl daemon-reload", "mount /mnt/localdisk", // of nvme
		"systemctl stop docker",
		"systemctl daemon-reload", "mount /var/lib/containerd", "restorecon -R /var/lib/containerd", "systemctl daemon-reload",
		"systemctl daemon-reload", "mount /var/lib/docker", "restorecon -R /var/lib/docker", "systemctl daemon-reload",
		"systemctl start docker",
	})
	if !strings.Contains(b.fstab, "/mnt/localdisk/docker /var/lib/docker none bind,nofail,x-systemd.requires-mounts-for=/mnt/localdisk 0 0") {
		t.Errorf("fstab %q", b.fstab)
	}
	if layer, unit := readFile(t, m.out+"/layer"), readFile(t, m.out+"/unit"); layer != "image\n" || unit != "[Unit]\nRequiresMountsFor=/var/lib/docker\n" {
		t.Errorf("moved %q, unit %q", layer, unit)
	}
	m.expect(second, "commands", m.result(second).recorded, []string{"restorecon -R /var/lib/containerd", "restorecon -R /var/lib/docker"})
}

// TestBootcmd runs before the set-up at each boot; a failure ends it all.
func TestBootcmd(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	good := Config{Bootcmd: []string{"record early"}, Runcmd: []string{"record late"}}
	bad := Config{Bootcmd: []string{"record early; exit 3", "record never"}, Runcmd: []string{"record never"}}
	first, second, third := m.boot(good), m.boot(good), m.boot(bad)
	m.run(`[ ! -e /run/ocihpc/ready ]`)
	m.start()
	m.expect(first, "steps", m.result(first).steps(), []string{"bootcmd_1 0", "runcmd_1 0"})
	m.expect(first, "commands", m.result(first).recorded, []string{"early", "late"})
	m.expect(second, "commands", m.result(second).recorded, []string{"early"})
	b := m.result(third)
	m.expect(third, "steps", b.steps(), []string{"bootcmd_1 3"})
	if b.exit == 0 || slices.Contains(b.recorded, "never") {
		t.Errorf("%+v", b)
	}
}

func TestFirewallAllows(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{Firewall: &Firewall{Enabled: true, AllowCIDRs: []string{"10.0.0.0/16", "fd00::/64"}}}
	m.run(`rm /sim/firewalld`)
	on, again := m.boot(config), m.boot(config)
	m.run(`rm -f /etc/systemd/system/firewalld.service /usr/lib/systemd/system/firewalld.service /lib/systemd/system/firewalld.service
		printf -- '-P INPUT ACCEPT\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n' >/sim/rules.INPUT`)
	tables := m.boot(config)
	off := m.boot(Config{Firewall: &Firewall{}})
	m.start()
	m.expect(on, "commands", m.result(on).recorded, []string{
		"systemctl enable --now firewalld",
		"firewall-cmd --permanent --zone=trusted --add-source=10.0.0.0/16",
		"firewall-cmd --permanent --zone=trusted --add-source=fd00::/64",
		"firewall-cmd --reload",
	})
	m.expect(again, "commands", m.result(again).recorded, nil)
	m.expect(tables, "commands", m.result(tables).recorded, []string{
		"iptables -I INPUT 1 -s 10.0.0.0/16 -j ACCEPT", "ip6tables -I INPUT 1 -s fd00::/64 -j ACCEPT",
	})
	m.expect(off, "commands", m.result(off).recorded, []string{"iptables -D INPUT -j REJECT --reject-with icmp-host-prohibited"})
}

// rdmaPorts makes HCAs with real interfaces: veth pairs in the machine's own network namespace.
const rdmaPorts = `
	mount -t proc proc /mnt/root/proc
	mount -t sysfs sysfs /mnt/root/sys
	mkdir /mnt/net
	mount --bind /mnt/root/sys/class/net /mnt/net
	mount -t tmpfs class /mnt/root/sys/class
	mkdir /mnt/root/sys/class/net
	mount --bind /mnt/net /mnt/root/sys/class/net
	ip link set lo up
	port() { # NAME HCA PCI
		ip link add "$1" mtu 9000 type veth peer name "p-$2" mtu 9000
		ip link set "p-$2" up
		ip link set "$1" up mtu 1500
		mkdir -p "/mnt/root/sys/class/pci/$3/net/$1" "/mnt/root/sys/class/infiniband/$2"
		ln -s "../../pci/$3" "/mnt/root/sys/class/infiniband/$2/device"
	}
	port vcn0 mlx5_4 0000:2d:00.0
	port enp22s0f0 mlx5_8 0000:16:00.0
	port enp12s0f0 mlx5_6 0000:0c:00.0
	port enp12s0f1 mlx5_7 0000:0c:00.1
	mkdir -p /mnt/root/opt/oci-hpc/oci-cn-auth /mnt/root/etc/NetworkManager/conf.d
`

// TestManualRDMA gives real interfaces their addresses.
func TestManualRDMA(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.driver.WriteString(rdmaPorts)
	const addresses = `
		ip -4 -o address show | awk '$2 ~ /^enp/ { print $2, $4 }' >/srv/addresses%[1]s
		for d in enp12s0f0 enp22s0f0; do cat /sys/class/net/$d/mtu /proc/sys/net/ipv4/conf/$d/arp_ignore /proc/sys/net/ipv4/conf/$d/arp_announce /proc/sys/net/ipv4/conf/$d/rp_filter; done | xargs >/srv/settings%[1]s
		ip address flush dev enp12s0f0; ip address flush dev enp12s0f1; ip address flush dev enp22s0f0
	`
	look := func(n string) { m.run(strings.ReplaceAll(addresses, "%[1]s", n)) }
	config := Config{RDMA: &RDMA{Mode: RDMAManual, Authentication: "image", WaitSeconds: 1}}
	m.run(`ip address add 10.0.2.87/24 dev vcn0; ip route add default via 10.0.2.1`)
	narrow := m.boot(config)
	again := m.boot(config)
	look("1")
	m.run(`ip address flush dev vcn0; ip address add 10.0.5.87/20 dev vcn0; ip route add default via 10.0.2.1`)
	wide := m.boot(config)
	look("2")
	m.run(`ip address flush dev vcn0; ip address add 10.1.5.87/16 dev vcn0; ip route add default via 10.1.0.1`)
	tooWide := m.boot(config)
	m.run(`rm -rf /opt/oci-hpc`)
	noAuthentication := m.boot(config)
	m.run(`mkdir -p /opt/oci-hpc/oci-cn-auth; rm /srv/bin/wpa_cli`)
	m.run(`ip address flush dev vcn0; ip address add 10.0.2.87/24 dev vcn0; ip route add default via 10.0.2.1`)
	notAuthenticated := m.boot(config)
	fewPorts := m.boot(Config{Shape: "BM.GPU4.8", RDMA: &RDMA{Mode: RDMAAgent, WaitSeconds: 1}})
	m.start()

	for n, want := range map[string]string{
		"1": "enp12s0f0 192.168.0.87/24\nenp12s0f1 192.168.1.87/24\nenp22s0f0 192.168.2.87/24\n",
		"2": "enp12s0f0 192.168.5.87/20\nenp12s0f1 192.168.21.87/20\nenp22s0f0 192.168.37.87/20\n",
	} {
		got := strings.Split(strings.TrimSpace(readFile(t, m.out+"/addresses"+n)), "\n")
		slices.Sort(got)
		if strings.Join(got, "\n")+"\n" != want {
			t.Errorf("addresses %q, want %q", got, want)
		}
		if settings := readFile(t, m.out+"/settings"+n); settings != "4220 1 2 2 4220 1 2 2\n" {
			t.Errorf("MTU and ARP settings %q", settings)
		}
	}
	for _, n := range []int{narrow, again, wide} {
		if b := m.result(n); b.exit != 0 || b.status[0].Message != "3 RDMA ports are authenticated and have addresses" {
			t.Errorf("boot %d: %+v", n, b)
		}
	}
	for n, want := range map[int]string{
		tooWide:          "192.168.0.0/16 is too small for 3 ports in a VCN subnet as wide as that of 10.1.5.87/16: it needs /14 or wider",
		noAuthentication: "nothing on this image passes the RDMA ports through 802.1X",
		notAuthenticated: "not ready after 1 seconds: enp12s0f0 is not authenticated",
		fewPorts:         "not ready after 1 seconds: 3 of 16 RDMA ports are there",
	} {
		if b := m.result(n); b.exit == 0 || !strings.HasPrefix(b.status[0].Message, want) {
			t.Errorf("boot %d: %+v, want %q", n, b.status, want)
		}
	}
}

// TestEngine installs nothing that is there, and pulls with retries.
func TestEngine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{ContainerEngine: &ContainerEngine{Images: []string{"horovod/horovod:latest"}}}
	m.run(`rm -f /srv/bin/docker /usr/bin/docker /usr/local/bin/docker /usr/bin/dockerd`)
	first, second := m.boot(config), m.boot(config)
	m.start()
	m.expect(first, "commands", m.result(first).recorded, []string{
		"apt-get update", "apt-get -y install docker.io", "systemctl enable --now docker", "docker pull horovod/horovod:latest",
	})
	m.expect(second, "commands", m.result(second).recorded, []string{"systemctl enable --now docker"})
}

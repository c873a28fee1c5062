// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// machine is a throw-away copy of this one: an overlay over its root file system, in a mount namespace of
// its own, where the script runs for real. Only what would touch real devices and services is replaced by
// stand-ins, which record how they are called and remember what they were told to do.
type machine struct {
	t      *testing.T
	out    string // directory that machine and test share
	driver strings.Builder
	boots  int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("device nodes and an overlay over / need root")
	}
	m := &machine{t: t, out: t.TempDir()}
	for name, body := range standIns {
		m.write("bin/"+name, "#!/bin/sh\n"+body)
	}
	m.driver.WriteString(`
		mount -t tmpfs machine /mnt
		mkdir /mnt/upper /mnt/work /mnt/root
		mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work machine /mnt/root
		mount --bind "$1" /mnt/root/srv
		mount -t tmpfs -o mode=755 machine /mnt/root/dev
		mknod -m 666 /mnt/root/dev/null c 1 3
		rm -rf /mnt/root/var/lib/ocihpc /mnt/root/var/lib/cloud /mnt/root/mnt
		mkdir -p /mnt/root/var/lib/cloud/instance /mnt/root/mnt /mnt/root/sim /mnt/root/usr/libexec
		: >/mnt/root/etc/fstab
		touch /mnt/root/sim/firewalld
		mkdir -p /mnt/root/etc/systemd/system /mnt/root/run/systemd/system
		touch /mnt/root/etc/systemd/system/firewalld.service
		cp "$1/bin/oci-growfs" /mnt/root/usr/libexec/
	`)
	m.run(`
		for n in 0 1 2 3; do mknod /dev/nvme${n}n1 b 259 $n; done
		mknod /dev/nvme0c0n1 b 259 8
		mknod /dev/nvme4n1 b 259 4 # the boot disk
		mknod /dev/nvme4n1p3 b 259 5
	`)
	return m
}

// standIns, by name; each gets its arguments recorded in $RECORD when it changes something.
var standIns = map[string]string{
	"record":     `printf '%s\n' "$*" >>"$RECORD"`,
	"findmnt":    `echo /dev/mapper/ocivolume-root`,
	"lsblk":      `[ "$*" = '-nrso NAME /dev/mapper/ocivolume-root' ] && printf 'ocivolume-root\nnvme4n1p3\nnvme4n1\n'`,
	"blkid":      `for device; do :; done; case $* in *LABEL*) f=label ;; *) f=type ;; esac; cat "/sim/$f.${device##*/}" 2>/dev/null || exit 2`,
	"vgs":        `[ -e /sim/vg ]`,
	"lvs":        `[ -e /sim/lv ]`,
	"vgcreate":   `record vgcreate "$@"; shift; touch /sim/vg; for device; do echo LVM2_member >"/sim/type.${device##*/}"; done`,
	"vgchange":   `record vgchange "$@"; mkdir -p /dev/nvme; mknod /dev/nvme/lvol0 b 253 0`,
	"lvmdevices": `record lvmdevices "$@"; touch /sim/vg`,
	"lvcreate": `record lvcreate "$@"; [ ! -e /sim/lvcreate-fails ] || { echo '  Volume group "nvme" has \o/ no room' >&2; exit 5; }
		touch /sim/lv; mkdir -p /dev/nvme; mknod /dev/nvme/lvol0 b 253 0`,
	"mkfs.xfs":  `record mkfs.xfs "$@"; echo xfs >"/sim/type.${3##*/}"; echo "$2" >"/sim/label.${3##*/}"`,
	"xfs_admin": `record xfs_admin "$@"; echo "$2" >"/sim/label.${3##*/}"`,
	"mkfs.ext4": `record mkfs.ext4 "$@"; echo ext4 >"/sim/type.${3##*/}"; echo "$2" >"/sim/label.${3##*/}"`,
	"e2label":   `record e2label "$@"; echo "$2" >"/sim/label.${1##*/}"`,
	"mdadm": `record mdadm "$@"; [ "$1" = --create ] || [ "$1" = --assemble ] || exit 2; mkdir -p /dev/md; mknod "$2" b 9 127
		for device; do case $device in /dev/nvme*) echo linux_raid_member >"/sim/type.${device##*/}" ;; esac; done`,
	"mountpoint": `[ -e "/sim/mounted$(echo "$2" | tr / _)" ]`,
	"mount": `awk -v at="$1" '$2 == at { found = 1 } END { exit !found }' /etc/fstab || exit 32; [ -d "$1" ] || exit 32
		record mount "$@"; touch "/sim/mounted$(echo "$1" | tr / _)"`,
	"wpa_cli":         `echo 'Supplicant PAE state=AUTHENTICATED'`,
	"sleep":           ``,
	"apt-get":         `record apt-get "$@"; [ "$1" != -y ] || cp /srv/bin/docker.stand-in /srv/bin/docker`,
	"docker.stand-in": `case $1 in image) [ -e /sim/pulled ] ;; pull) record docker "$@"; touch /sim/pulled ;; esac`,
	"restorecon":      `record restorecon "$@"`,
	"iptables":        `case $1 in -S) cat "/sim/rules.$2" 2>/dev/null ;; -C) false ;; *) record iptables "$@" ;; esac`,
	"ip6tables":       `case $1 in -S) ;; -C) false ;; *) record ip6tables "$@" ;; esac`,
	"firewall-cmd": `case $* in *--query-source=*) grep -qxF "${3#*=}" /sim/sources 2>/dev/null ;; *--add-source=*) echo "${3#*=}" >>/sim/sources; record firewall-cmd "$@" ;;
		*) record firewall-cmd "$@" ;; esac`,
	"systemctl": `case $1 in
		is-active | is-enabled) [ "$3" = firewalld ] && [ -e /sim/firewalld ] || [ -e "/sim/service.$3" ] ;;
		disable) record systemctl "$@"; rm /sim/firewalld ;;
		enable) record systemctl "$@"; [ "$3" != firewalld ] || touch /sim/firewalld ;;
		*) record systemctl "$@" ;;
		esac`,
	"oci-growfs": `record oci-growfs "$@"; if [ -e /sim/grown ]; then echo 'NOCHANGE: partition 3 is size 1. it cannot be grown'; exit 1; fi; touch /sim/grown`,
}

func (m *machine) write(name, content string) {
	m.t.Helper()
	file := filepath.Join(m.out, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// run has the machine run shell commands, at its turn.
func (m *machine) run(commands string) {
	m.t.Helper()
	name := fmt.Sprintf("run%d.sh", m.driver.Len())
	m.write(name, "set -eu\n"+commands)
	fmt.Fprintf(&m.driver, "chroot /mnt/root sh /srv/%s\n", name)
}

// reimage is a new root file system on the same hardware.
func (m *machine) reimage() {
	m.run(`rm -rf /etc/fstab /var/lib/cloud/instance/* /var/lib/ocihpc /dev/nvme /dev/md /sim/mounted* /sim/grown /etc/systemd/system/*.service.d; : >/etc/fstab; touch /sim/firewalld`)
}

// reboot unmounts what was mounted.
func (m *machine) reboot() { m.run(`rm -f /sim/mounted*; rm -rf /run/ocihpc /dev/md`) }

// boot runs the set-up of a config, as cloud-init does, and returns the number of the boot.
func (m *machine) boot(c Config) int {
	m.t.Helper()
	m.boots++
	m.write(fmt.Sprintf("setup%d", m.boots), setupScript(c))
	m.write(fmt.Sprintf("bootcmd%d", m.boots), cmp.Or(bootScript(c), "#!/bin/sh\n"))
	m.run(fmt.Sprintf(`
		export RECORD=/srv/record%[1]d PATH=/srv/bin:$PATH
		: >"$RECORD"
		code=0
		/srv/bootcmd%[1]d >/srv/bootoutput%[1]d 2>&1 || true
		/srv/setup%[1]d >/srv/output%[1]d 2>&1 || code=$?
		echo "$code" >/srv/exit%[1]d
		cp /var/lib/ocihpc/status.ndjson /srv/status%[1]d
		cp /etc/fstab /srv/fstab%[1]d
		stat -c %%a /var/log/ocihpc-cloud-init.log >/srv/mode%[1]d
		cp /var/log/ocihpc-cloud-init.log /srv/log%[1]d
	`, m.boots))
	return m.boots
}

// start runs everything.
func (m *machine) start() {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "unshare", "--mount", "--net", "--propagation", "private", "sh", "-eu", "-c", m.driver.String(), "machine", m.out)
	if output, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(output), "unshare: ") || strings.Contains(string(output), "mount: ") {
			m.t.Skipf("no mount namespace with an overlay here: %v: %s", err, output)
		}
		m.t.Fatalf("%v: %s", err, output)
	}
}

// booted is what came of a boot.
type booted struct {
	exit     int
	output   string
	recorded []string
	status   []job.BootStep
	fstab    string
	logMode  string
	log      string
}

func (m *machine) result(n int) booted {
	m.t.Helper()
	read := func(name string) string {
		return strings.TrimSuffix(readFile(m.t, filepath.Join(m.out, name+strconv.Itoa(n))), "\n")
	}
	b := booted{output: read("output"), fstab: read("fstab"), logMode: read("mode"), log: read("log")}
	if b.exit, _ = strconv.Atoi(read("exit")); b.exit != 0 != (b.output != "") {
		m.t.Errorf("boot %d ended with %d and the output %q", n, b.exit, b.output)
	}
	if recorded := read("record"); recorded != "" {
		b.recorded = strings.Split(recorded, "\n")
	}
	for line := range strings.Lines(read("status")) {
		var s job.BootStep
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&s); err != nil {
			m.t.Errorf("boot %d: status line %q: %v", n, line, err)
		}
		b.status = append(b.status, s)
	}
	if last := len(b.status) - 1; b.exit == 0 { // every complete set-up says so
		if last < 0 || b.status[last].Step != job.BootReady || b.status[last].Exit != 0 {
			m.t.Fatalf("boot %d: status %+v", n, b.status)
		}
		b.status = b.status[:last]
	}
	return b
}

func (b booted) steps() []string {
	var steps []string
	for _, s := range b.status {
		steps = append(steps, fmt.Sprintf("%s %d", s.Step, s.Exit))
	}
	return steps
}

func (m *machine) expect(n int, what string, got, want []string) {
	m.t.Helper()
	if !slices.Equal(got, want) {
		m.t.Errorf("boot %d: %s\n%s\nwant\n%s", n, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const fstabLine = "LABEL=localscratch /mnt/localdisk xfs defaults,noatime,nofail 0 0"

// TestTutorialNode shows that the set-up does what the tutorials' commands do, and nothing a second time.
func TestTutorialNode(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := tutorials()["a100_node"]
	config.Runcmd = []string{"record first; echo a secret", "record 'second \"command\"'"}
	first := m.boot(config)
	m.reboot()
	second := m.boot(config)
	m.reimage()
	third := m.boot(config)
	m.start()

	b := m.result(first)
	m.expect(first, "commands", b.recorded, []string{
		"oci-growfs -y",
		"systemctl disable --now firewalld",
		"vgcreate nvme /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1",
		"lvcreate --yes --wipesignatures y --extents 100%FREE --name lvol0 nvme",
		"mkfs.xfs -L localscratch /dev/nvme/lvol0",
		"systemctl daemon-reload",
		"mount /mnt/localdisk",
		"first",
		`second "command"`,
	})
	m.expect(first, "steps", b.steps(), []string{"grow_root 0", "firewall 0", "nvme 0", "runcmd_1 0", "runcmd_2 0"})
	if got, want := b.status[2].Message, "4 of 4 NVMe devices, xfs on lvm at /mnt/localdisk"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if b.fstab != fstabLine {
		t.Errorf("fstab %q", b.fstab)
	}
	if b.logMode != "600" || !strings.Contains(b.log, "a secret") || strings.Contains(fmt.Sprint(b.status), "a secret") {
		t.Errorf("what commands print belongs in the log alone, for root: mode %s, status %v", b.logMode, b.status)
	}

	b = m.result(second)
	m.expect(second, "commands", b.recorded, []string{"oci-growfs -y", "mount /mnt/localdisk"})
	m.expect(second, "steps", b.steps(), []string{"grow_root 0", "firewall 0", "nvme 0", "runcmd_1 0", "runcmd_2 0"})
	if b.fstab != fstabLine {
		t.Errorf("fstab on the second boot %q", b.fstab)
	}
	if got := b.status[3].Message; got != "done before on this instance" {
		t.Errorf("message of a command that ran before: %q", got)
	}

	b = m.result(third)
	m.expect(third, "commands after a change of the boot volume", b.recorded, []string{
		"oci-growfs -y",
		"systemctl disable --now firewalld",
		"vgchange --activate y nvme",
		"systemctl daemon-reload",
		"mount /mnt/localdisk",
		"first",
		`second "command"`,
	})
	m.expect(third, "steps", b.steps(), []string{"grow_root 0", "firewall 0", "nvme 0", "runcmd_1 0", "runcmd_2 0"})
}

func TestStriped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.run(`rm /dev/nvme3n1`)
	boot := m.boot(Config{Shape: "BM.GPU4.8", NVMe: nvme(func(*NVMe) {})})
	m.start()
	b := m.result(boot)
	if want := "lvcreate --yes --wipesignatures y --stripes 3 --stripesize 256k --extents 100%FREE --name lvol0 nvme"; len(b.recorded) < 2 || b.recorded[1] != want {
		t.Errorf("commands %q, want %q", b.recorded, want)
	}
	if got, want := b.status[0].Message, "3 of 4 NVMe devices, xfs on lvm_striped at /mnt/localdisk"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestFailedStep shows that a failure shows, ends the set-up, and that the next boot carries on.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{NVMe: nvme(linear), Runcmd: []string{"record never"}}
	m.run(`touch /sim/lvcreate-fails`)
	first := m.boot(config)
	m.run(`rm /sim/lvcreate-fails`)
	second := m.boot(config)
	m.start()

	b := m.result(first)
	if b.exit == 0 {
		t.Error("the failure did not show")
	}
	m.expect(first, "steps", b.steps(), []string{"nvme 5"})
	message := `  Volume group "nvme" has \o/ no room`
	if got := b.status[0].Message; got != message {
		t.Errorf("message %q, want %q", got, message)
	}
	if !strings.Contains(b.output, "step nvme failed with exit status 5") {
		t.Errorf("output %q", b.output)
	}

	b = m.result(second)
	m.expect(second, "commands", b.recorded, []string{
		"lvcreate --yes --wipesignatures y --extents 100%FREE --name lvol0 nvme",
		"mkfs.xfs -L localscratch /dev/nvme/lvol0",
		"systemctl daemon-reload",
		"mount /mnt/localdisk",
		"never",
	})
}

func TestFailedCommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := Config{Runcmd: []string{"record one", "record two; [ -e /sim/ready ]; record three", "record four"}}
	first := m.boot(config)
	m.run(`touch /sim/ready`)
	second := m.boot(config)
	m.start()

	b := m.result(first)
	m.expect(first, "commands", b.recorded, []string{"one", "two"})
	m.expect(first, "steps", b.steps(), []string{"runcmd_1 0", "runcmd_2 1"})
	b = m.result(second)
	m.expect(second, "commands", b.recorded, []string{"two", "three", "four"})
	m.expect(second, "steps", b.steps(), []string{"runcmd_1 0", "runcmd_2 0", "runcmd_3 0"})
}

// TestNVMeRefuses shows what the set-up does not touch.
func TestNVMeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, message string }{
		"foreign content": {`echo ext4 >/sim/type.nvme2n1`,
			"/dev/nvme2n1 holds ext4: if nothing on it is needed, run wipefs --all /dev/nvme2n1 and reboot"},
		"no device":      {`rm /dev/nvme[0-3]n1`, "no local NVMe device was found"},
		"no LVM":         {`rm /srv/bin/vgcreate; PATH=$PATH:/usr/sbin:/sbin; ! command -v vgcreate || rm "$(command -v vgcreate)"`, "vgcreate is not installed: add lvm2 to packages"},
		"other fstab":    {`echo '/dev/sdb /mnt/localdisk ext4 defaults 0 0' >/etc/fstab`, "/etc/fstab mounts something else at /mnt/localdisk: /dev/sdb /mnt/localdisk ext4 defaults 0 0"},
		"foreign volume": {`touch /sim/vg /sim/lv; echo btrfs >/sim/type.lvol0`, "/dev/nvme/lvol0 holds btrfs, not xfs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.run(c.before)
			boot := m.boot(Config{NVMe: nvme(linear)})
			m.start()
			b := m.result(boot)
			m.expect(boot, "steps", b.steps(), []string{"nvme 1"})
			if b.status[0].Message != c.message {
				t.Errorf("message %q, want %q", b.status[0].Message, c.message)
			}
			for _, command := range b.recorded {
				if name != "other fstab" && !strings.HasPrefix(command, "vgchange") {
					t.Errorf("it went on with %q", command)
				}
			}
		})
	}
}

// TestNVMeAdopts covers what a new root file system may find: LVM that does not know the devices, another
// label, an fstab without a newline at its end.
func TestNVMeAdopts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first := m.boot(Config{NVMe: nvme(linear)})
	m.reimage()
	m.run(`
		mkdir -p /etc/lvm/devices
		touch /etc/lvm/devices/system.devices
		rm /sim/vg # until lvmdevices names the devices
		printf 'UUID=1 / xfs defaults 0 0' >/etc/fstab
	`)
	second := m.boot(Config{NVMe: nvme(func(n *NVMe) { n.Label = "data" })})
	m.start()

	if b := m.result(first); b.exit != 0 {
		t.Fatalf("first boot: %s", b.output)
	}
	b := m.result(second)
	m.expect(second, "commands", b.recorded, []string{
		"lvmdevices -y --adddev /dev/nvme0n1",
		"lvmdevices -y --adddev /dev/nvme1n1",
		"lvmdevices -y --adddev /dev/nvme2n1",
		"lvmdevices -y --adddev /dev/nvme3n1",
		"vgchange --activate y nvme",
		"xfs_admin -L data /dev/nvme/lvol0",
		"systemctl daemon-reload",
		"mount /mnt/localdisk",
	})
	if want := "UUID=1 / xfs defaults 0 0\nLABEL=data /mnt/localdisk xfs defaults,noatime,nofail 0 0"; b.fstab != want {
		t.Errorf("fstab %q, want %q", b.fstab, want)
	}
}

func TestFirewallOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.run(`rm /sim/firewalld`)
	on := m.boot(Config{Firewall: &Firewall{Enabled: true}})
	again := m.boot(Config{Firewall: &Firewall{Enabled: true}})
	m.run(`rm -f /etc/systemd/system/firewalld.service /usr/lib/systemd/system/firewalld.service /lib/systemd/system/firewalld.service`)
	missing := m.boot(Config{Firewall: &Firewall{Enabled: true}})
	nothingToDo := m.boot(Config{Firewall: &Firewall{}})
	m.run(`rm /usr/libexec/oci-growfs`)
	noGrowfs := m.boot(Config{GrowRoot: true})
	m.start()
	m.expect(on, "commands", m.result(on).recorded, []string{"systemctl enable --now firewalld"})
	m.expect(again, "commands", m.result(again).recorded, nil)
	m.expect(missing, "steps", m.result(missing).steps(), []string{"firewall 1"})
	m.expect(nothingToDo, "steps", m.result(nothingToDo).steps(), []string{"firewall 0"})
	if b := m.result(noGrowfs); b.exit != 0 || b.status[0].Message != "skipped: this image has no /usr/libexec/oci-growfs" {
		t.Errorf("without oci-growfs: %+v", b)
	}
}

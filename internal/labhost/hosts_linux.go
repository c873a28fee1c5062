// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// BastionID is what [Hosts.Exec] and [Hosts.Remove] call the bastion.
const BastionID = "bastion"

// ErrNoHost says that no host runs for an instance.
var ErrNoHost = errors.New("no host runs under this OCID or host name")

// Config of the hosts of a lab.
type Config struct {
	// Dir is an empty directory on a tmpfs that only this lab sees.
	Dir string
	// Disks is where hosts keep what they write, for as long as their instances exist; empty means in Dir.
	// Its file system must pass [CheckDisks].
	Disks string
	// UserNamespace says that the lab runs in a user namespace of its own.
	UserNamespace bool
	// NVIDIADevices are the machine's real GPU devices, such as /dev/nvidia0; without one, hosts of GPU
	// shapes have stand-ins.
	NVIDIADevices []string
	// GPUsPerHost is how many of the real GPUs a host has that no other has; 0 gives all hosts all of them.
	GPUsPerHost int
	// Systemd says that PID 1 of every host is systemd; see [MissingForSystemd].
	Systemd bool
	// Without names Debian packages of the machine that hosts do not have.
	Without []string
}

// Hosts are the running hosts. It implements [ocisim.Hosts] and [ocisim.Firewall].
type Hosts struct {
	ctx       context.Context // the hosts' life
	cfg       Config
	layers    layers
	network   *network
	cgroups   *cgroups // nil where hosts cannot have any; noCgroups says why
	noCgroups error

	launching sync.Mutex

	mu    sync.Mutex
	next  int // number of the next host: names its directory and its veth
	hosts map[string]*host
}

// Bastion is the host in the public subnet through which the others are reached.
type Bastion struct {
	Hostname string
	Address  netip.Prefix // address and prefix length
	Gateway  netip.Addr
	// AuthorizedKey of opc.
	AuthorizedKey string
	HostKey       Key
}

// New prepares the network and the files that hosts share. It must run as root in network, mount and PID
// namespaces that end with the process: that is what takes everything away. The hosts live until ctx ends.
func New(ctx context.Context, cfg Config) (*Hosts, error) {
	cfg.Disks = cmp.Or(cfg.Disks, filepath.Join(cfg.Dir, "disks"))
	if err := os.MkdirAll(cfg.Disks, 0o700); err != nil {
		return nil, fmt.Errorf("make the hosts' disks: %w", err)
	}
	layers, err := buildLayers(ctx, cfg.Dir, cfg)
	if err != nil {
		return nil, err
	}
	h := &Hosts{ctx: ctx, cfg: cfg, layers: layers, hosts: map[string]*host{}}
	if h.network, err = newNetwork(); err != nil {
		return nil, err
	}
	if err := h.serveLinkLocal(ctx); err != nil {
		return nil, err
	}
	if cfg.UserNamespace {
		h.noCgroups = errors.New("a plain user's lab cannot give its hosts control groups; run it as root")
	} else {
		h.cgroups, h.noCgroups = newCgroups()
	}
	if cfg.Systemd && h.noCgroups != nil {
		return nil, fmt.Errorf("hosts cannot have systemd as their init: %w", h.noCgroups)
	}
	return h, nil
}

// failingScript is run by cloud-init at its end, and makes it end with an error.
var failingScript = file{"/var/lib/cloud/scripts/per-instance/ocihpc-lab-fault",
	[]byte("#!/bin/sh\necho 'ocihpc-lab: cloud-init fails here, as the scenario says' >&2\nexit 1\n"), 0o755, 0}

// Boot starts the host of an instance and returns when its sshd answers; cloud-init then still runs. A
// host that has been stopped, or whose lab has ended, has the disk that it left.
func (h *Hosts) Boot(ctx context.Context, instance ocisim.Host) error {
	key, err := NewKey()
	if err != nil {
		return err
	}
	files := identity(instance.Hostname, instance.PrivateIP, key)
	gpus, hasGPUs := shape.Lookup(instance.Shape)
	hasGPUs = hasGPUs && gpus.GPUVendor == shape.NVIDIA
	if hasGPUs {
		files = append(files, file{standin.GPUFilePath, standin.GPUFile(gpus.GPUs.V, gpus.GPUModel.V, gpus.GPUMemoryBytes.V), 0o644, 0})
	}
	if instance.Effect == ocisim.NodeCloudInitFails {
		files = append(files, failingScript)
	}
	return h.boot(ctx, &host{
		id: instance.InstanceID, hostname: instance.Hostname, mac: instance.MAC, gpus: hasGPUs, files: files,
		address: netip.PrefixFrom(instance.PrivateIP, instance.Subnet.Bits()), gateway: instance.Gateway,
		cloudInit: true, instance: &instance, nvme: nvmeOf(instance.Shape),
	})
}

// BootBastion starts the bastion and returns when its sshd answers. It has no cloud-init.
func (h *Hosts) BootBastion(ctx context.Context, b Bastion) error {
	files := append(identity(b.Hostname, b.Address.Addr(), b.HostKey), cloudInitOff,
		file{"/home/opc/.ssh/authorized_keys", []byte(b.AuthorizedKey + "\n"), 0o600, opcID})
	return h.boot(ctx, &host{id: BastionID, hostname: b.Hostname, files: files, address: b.Address, gateway: b.Gateway})
}

func (h *Hosts) boot(ctx context.Context, host *host) error {
	h.mu.Lock()
	if err := h.admit(host.id); err != nil {
		h.mu.Unlock()
		return err
	}
	if err := h.dealGPUs(host); err != nil {
		h.mu.Unlock()
		return err
	}
	host.number = h.next
	h.next++
	h.hosts[host.id] = host
	h.mu.Unlock()
	err := host.start(ctx, h)
	if err != nil {
		err = errors.Join(fmt.Errorf("boot host %s: %w", host.hostname, err), h.Stop(context.WithoutCancel(ctx), host.id))
	}
	return err
}

// Remove takes the host of an instance away with its disk and its NVMe devices; an unknown instance is no error.
func (h *Hosts) Remove(ctx context.Context, id string) error {
	if err := h.RemoveDisk(ctx, id); err != nil {
		return err
	}
	if err := os.RemoveAll(h.nvmeDir(id)); err != nil {
		return fmt.Errorf("remove the NVMe devices of %s: %w", id, err)
	}
	return nil
}

// RemoveDisk stops the host of an instance and takes its disk away. What is on its NVMe devices stays.
func (h *Hosts) RemoveDisk(ctx context.Context, id string) error {
	if err := h.Stop(ctx, id); err != nil {
		return err
	}
	if err := os.RemoveAll(h.disk(id)); err != nil {
		return fmt.Errorf("remove the disk of %s: %w", id, err)
	}
	return nil
}

// Stop ends the host of an instance at once, as a power failure does, and keeps its disk for the next Boot.
// A host that does not run is no error.
func (h *Hosts) Stop(_ context.Context, id string) error {
	h.mu.Lock()
	host := h.hosts[id]
	delete(h.hosts, id)
	h.mu.Unlock()
	if host == nil {
		return nil
	}
	if err := host.stop(h); err != nil {
		return fmt.Errorf("stop host %s: %w", host.hostname, err)
	}
	return nil
}

// Protect implements [ocisim.Firewall].
func (h *Hosts) Protect(vnics []ocisim.VnicRules, groups map[string][]netip.Addr) error {
	return h.network.firewall.protect(vnics, groups)
}

// Unprotected says why security lists and groups have no effect; nil when they have.
func (h *Hosts) Unprotected() error { return h.network.firewall.unavailable }

// NoCgroups says why hosts have no control groups of their own, without which container engines run no
// container there; nil when they have.
func (h *Hosts) NoCgroups() error { return h.noCgroups }

// Close stops all hosts. None may be booted after it.
func (h *Hosts) Close() error {
	h.mu.Lock()
	ids := slices.Collect(maps.Keys(h.hosts))
	h.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(stopsAtOnce)
	for _, id := range ids {
		group.Go(func() error { return h.Stop(h.ctx, id) })
	}
	err := group.Wait()
	if h.cgroups != nil {
		err = errors.Join(err, h.cgroups.remove())
	}
	return err
}

const stopsAtOnce = 20

// IDs of the instances whose hosts run, sorted; the bastion is not among them.
func (h *Hosts) IDs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]string, 0, len(h.hosts))
	for id := range h.hosts {
		if id != BastionID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Exec runs a command as root on a host, known by its instance's OCID or its host name, and gives its
// exit status. It fails with [ErrNoHost] where no host runs; the end of ctx ends the command.
func (h *Hosts) Exec(ctx context.Context, name string, argv []string, stdin, stdout, stderr *os.File) (int, error) {
	host := h.find(func(host *host) bool { return host.id == name || host.hostname == name })
	if host == nil {
		return 0, fmt.Errorf("run a command on %q: %w", name, ErrNoHost)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", host.execSocket())
	if err != nil {
		return 0, fmt.Errorf("reach host %s: %w", host.hostname, err)
	}
	defer func() { _ = conn.Close() }()
	status, err := hostinit.Exec(ctx, conn.(*net.UnixConn), hostinit.ExecRequest{Argv: argv}, stdin, stdout, stderr)
	if err != nil {
		return 0, fmt.Errorf("run a command on host %s: %w", host.hostname, err)
	}
	return status, nil
}

// byAddress finds the host that has an address.
func (h *Hosts) byAddress(address netip.Addr) *host {
	return h.find(func(host *host) bool { return host.address.Addr() == address })
}

func (h *Hosts) find(match func(*host) bool) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, host := range h.hosts {
		if match(host) {
			return host
		}
	}
	return nil
}

// identity makes the files that tell one host from another.
func identity(hostname string, address netip.Addr, key Key) []file {
	public := []byte(key.AuthorizedKey() + "\n")
	return []file{
		{"/etc/hostname", []byte(hostname + "\n"), 0o644, 0},
		{"/etc/hosts", fmt.Appendf(nil, "127.0.0.1 localhost\n%s %s\n", address, hostname), 0o644, 0},
		{"/etc/machine-id", []byte(machineID() + "\n"), 0o444, 0},
		{"/etc/ssh/ssh_host_ed25519_key", key.PrivatePEM, 0o600, 0},
		{"/etc/ssh/ssh_host_ed25519_key.pub", public, 0o644, 0},
	}
}

// disk is where the host of an instance keeps what it writes.
func (h *Hosts) disk(id string) string { return filepath.Join(h.cfg.Disks, id) }

// dir is where a running host has its root.
func (h *Hosts) dir(host *host) string {
	return filepath.Join(h.cfg.Dir, "hosts", strconv.Itoa(host.number))
}

// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// nvmeBytes is the size of each local NVMe device, whatever the shape: XFS needs 300 MB. The files are sparse,
// so they take the space of what a host writes.
const nvmeBytes = 10 << 30

// NVMe counts the local NVMe devices of the hosts that run.
type NVMe struct {
	// Expected is what the hosts' shapes have, Attached what the hosts have.
	Expected, Attached int
	// Less says why a host has fewer than its shape; empty when none has.
	Less string
}

// localNVMe is what one host has.
type localNVMe struct {
	expected, attached int
	less               string
}

// nvmeOf a shape, as far as the catalog knows it.
func nvmeOf(name string) localNVMe {
	if s, ok := shape.Lookup(name); ok && s.NVMeDevices.Usable() {
		return localNVMe{expected: s.NVMeDevices.V}
	}
	return localNVMe{}
}

// nvmeDir is where the devices of an instance keep what they hold: beside its disk, which can be replaced.
func (h *Hosts) nvmeDir(id string) string { return h.disk(id) + ".nvme" }

// nvmeFiles finds the files behind a host's devices, or makes them. A plain user has no block devices.
func (host *host) nvmeFiles(h *Hosts) ([]string, error) {
	if host.nvme.expected == 0 {
		return nil, nil
	}
	if h.cfg.UserNamespace {
		host.nvme.less = "a plain user's lab has no block devices; run it as root"
		return nil, nil
	}
	dir := h.nvmeDir(host.id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the host's NVMe devices: %w", err)
	}
	var paths []string
	for n := range host.nvme.expected {
		path := filepath.Join(dir, fmt.Sprintf("nvme%dn1", n))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- in the lab's own directory
		if err != nil {
			return nil, fmt.Errorf("make the host's NVMe devices: %w", err)
		}
		err = file.Truncate(nvmeBytes)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, fmt.Errorf("make the host's NVMe devices: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// report notes what the host says of its devices.
func (n *localNVMe) report(report hostinit.Report) {
	n.attached = report.NVMe
	if report.LessNVMe != "" {
		n.less = report.LessNVMe
	}
}

// NVMe says what the hosts that run have, and why not more.
func (h *Hosts) NVMe() NVMe {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sum NVMe
	for _, host := range h.hosts {
		host.mu.Lock()
		n := host.nvme
		host.mu.Unlock()
		sum.Expected += n.expected
		sum.Attached += n.attached
		if n.less != "" {
			sum.Less = n.less
		}
	}
	return sum
}

// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttach has many hosts attach devices at once: each gets its own files, in their order, and the end of a
// host frees them for its next life.
func TestAttach(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/loop-control"); err != nil || os.Geteuid() != 0 {
		t.Skipf("loop devices need root and a kernel that has them: %v", err)
	}
	var hosts sync.WaitGroup
	for number := range 8 {
		dir := t.TempDir()
		hosts.Go(func() {
			for life := range 5 {
				attachOnce(t, filepath.Join(dir, fmt.Sprint(life)), dir, number)
			}
		})
	}
	hosts.Wait()
}

func attachOnce(t *testing.T, root, dir string, number int) {
	cfg := Config{Root: root}
	if err := os.MkdirAll(filepath.Join(root, "dev"), 0o755); err != nil {
		t.Error(err)
	}
	tag := func(n int) string { return fmt.Sprintf("host %d device %d", number, n) }
	for n := range 3 {
		path := filepath.Join(dir, fmt.Sprint("disk", n))
		if err := os.WriteFile(path, []byte(tag(n)), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Truncate(path, 4<<20); err != nil {
			t.Error(err)
		}
		cfg.NVMe = append(cfg.NVMe, path)
	}
	var devices nvme
	devices.attach(cfg)
	defer func() {
		for _, descriptor := range devices.descriptors {
			_ = unix.Close(int(descriptor))
		}
	}()
	if devices.devices != 3 || devices.less != nil {
		t.Errorf("%d devices: %v", devices.devices, devices.less)
	}
	for n := range devices.devices {
		device, err := os.Open(filepath.Join(root, fmt.Sprintf("dev/nvme%dn1", n)))
		if err != nil {
			t.Error(err)
			continue
		}
		got := make([]byte, len(tag(n)))
		if _, err := device.ReadAt(got, 0); err != nil || string(got) != tag(n) {
			t.Errorf("device %d of host %d holds %q, %v", n, number, got, err)
		}
		_ = device.Close()
	}
	if info, err := os.Stat(filepath.Join(root, VolumePath)); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("the volume: %v, %v", info, err)
	}
}

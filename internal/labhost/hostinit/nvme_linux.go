// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// maxLoopDevices bounds those that labs make the machine's kernel have: it keeps them when they are free again.
const maxLoopDevices = 256

// fileFreedWithin is how long a file's last loop device may take to go, after the end of the host that had it.
const fileFreedWithin = 10 * time.Second

// nvme are the local NVMe devices of a host.
type nvme struct {
	devices int
	less    error // why the host has not all of its shape
	// descriptors keep the devices: the kernel frees a loop device when the last process and mount that use it
	// are gone, however they end.
	descriptors []uintptr
}

// report is what the lab hears of them, and of how the boot went.
func (n *nvme) report(boot error) Report {
	return Report{Error: errorText(boot), NVMe: n.devices, LessNVMe: errorText(n.less)}
}

// attach makes a device of each file, as far as that works.
func (n *nvme) attach(cfg Config) {
	if len(cfg.NVMe) == 0 {
		return
	}
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		n.less = fmt.Errorf("open /dev/loop-control (does the machine have the kernel module loop?): %w", err)
		return
	}
	defer func() { _ = unix.Close(control) }()
	for ; n.devices < len(cfg.NVMe) && n.less == nil; n.devices++ {
		if err := n.attachDevice(cfg, control); err != nil {
			n.less = fmt.Errorf("attach device %d: %w", n.devices, err)
			return
		}
	}
}

// attachDevice attaches the next file. The first one gets a second device, which begins where LVM and md begin a
// volume: that is what the stand-ins for the kernel's parts of them show.
func (n *nvme) attachDevice(cfg Config, control int) error {
	file, err := openAlone(cfg.NVMe[n.devices])
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(file) }() // The loop devices have it, too.
	if err := n.attachLoop(control, file, 0, filepath.Join(cfg.Root, fmt.Sprintf("dev/nvme%dn1", n.devices))); err != nil || n.devices > 0 {
		return err
	}
	volume := filepath.Join(cfg.Root, VolumePath)
	if err := os.MkdirAll(filepath.Dir(volume), 0o700); err != nil {
		return err
	}
	return n.attachLoop(control, file, volumeOffset, volume)
}

// volumeOffset is where the data of LVM's and md's devices begin, by default.
const volumeOffset = 1 << 20

// openAlone opens a file and locks it. A loop device keeps the lock, so that a host which starts while the
// devices of its last life are on their way out waits for them.
func openAlone(path string) (int, error) {
	file, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	for end := time.Now().Add(fileFreedWithin); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			_ = unix.Close(file)
			return 0, fmt.Errorf("lock %s (a loop device may still have it): %w", path, err)
		}
	}
}

// attempts to get a loop device, when others get or remove those that are free.
const attempts = 100

// attachLoop makes a loop device of a file from an offset on, with a node at a path.
func (n *nvme) attachLoop(control, file int, offset uint64, node string) error {
	for attempt := 1; ; attempt++ {
		number, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("get a free loop device: %w", err)
		}
		if number >= maxLoopDevices {
			_ = unix.IoctlSetInt(control, unix.LOOP_CTL_REMOVE, number) // It was made for this answer.
			return fmt.Errorf("all %d loop devices of the machine are in use", maxLoopDevices)
		}
		device, err := configureLoop(number, file, offset, node)
		if err == nil {
			n.descriptors = append(n.descriptors, uintptr(device)) // #nosec G115 -- descriptors are small
			return nil
		}
		if err := os.Remove(node); err != nil {
			return err
		}
		if attempt == attempts || !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENXIO) {
			return err
		}
	}
}

func configureLoop(number, file int, offset uint64, node string) (int, error) {
	const loopMajor, brw = 7, unix.S_IFBLK | 0o660
	if err := unix.Mknod(node, brw, int(unix.Mkdev(loopMajor, uint32(number)))); err != nil { // #nosec G115 -- below maxLoopDevices
		return 0, fmt.Errorf("make the node of loop device %d: %w", number, err)
	}
	device, err := unix.Open(node, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open loop device %d: %w", number, err)
	}
	loop := unix.LoopConfig{Fd: uint32(file)} // #nosec G115 -- descriptors are small
	loop.Info.Flags, loop.Info.Offset = unix.LO_FLAGS_AUTOCLEAR, offset
	copy(loop.Info.File_name[:], "ocihpc-lab")
	if err := unix.IoctlLoopConfigure(device, &loop); err != nil {
		_ = unix.Close(device)
		return 0, fmt.Errorf("configure loop device %d: %w", number, err)
	}
	return device, nil
}

// describeNVMe shows the devices in a host's /sys/class/nvme, as far as the order of devices needs them.
func describeNVMe(class string, devices int) error {
	for n := range devices {
		controller := filepath.Join(class, fmt.Sprintf("nvme%d", n))
		if err := os.MkdirAll(controller, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", controller, err)
		}
		for name, text := range map[string]string{
			"address": fmt.Sprintf("0000:%02x:00.0", firstNVMeBus+n), "transport": "pcie", "model": "loop device (lab)",
		} {
			if err := os.WriteFile(filepath.Join(controller, name), []byte(text+"\n"), 0o444); err != nil { // #nosec G306 -- as in sysfs
				return fmt.Errorf("describe nvme%d: %w", n, err)
			}
		}
	}
	return nil
}

// firstNVMeBus is the PCI bus of the first device.
const firstNVMeBus = 0x31

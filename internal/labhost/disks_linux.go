// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckDisks says why a directory cannot keep the disks of hosts: its file system must be one that an overlay
// can write to, which NFS and overlays themselves, such as a container's root, are not. It runs where [New]
// does.
func CheckDisks(dir string, userNamespace bool) error {
	trial, err := os.MkdirTemp(dir, "trial-")
	if err != nil {
		return fmt.Errorf("try the hosts' disks: %w", err)
	}
	err = mountTrial(trial, userNamespace)
	return errors.Join(err, os.RemoveAll(trial))
}

func mountTrial(trial string, userNamespace bool) error {
	for _, dir := range []string{"lower", "lower/dir", "upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(trial, dir), 0o700); err != nil {
			return fmt.Errorf("try the hosts' disks: %w", err)
		}
	}
	options := fmt.Sprintf("index=off,lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", trial)
	if userNamespace {
		options += ",userxattr"
	}
	root := filepath.Join(trial, "root")
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("its file system cannot be the upper layer of an overlay: %w", err)
	}
	err := writeTrial(root)
	if unmount := unix.Unmount(root, 0); unmount != nil {
		err = errors.Join(err, fmt.Errorf("try the hosts' disks: %w", unmount))
	}
	return err
}

// writeTrial replaces a directory of the lower layer, which needs extended attributes.
func writeTrial(root string) error {
	dir := filepath.Join(root, "dir")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		return fmt.Errorf("its file system cannot keep the attributes of an overlay: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

// adviceOfSystem is what to do about what the operating system refuses.
func adviceOfSystem(err error) string {
	for _, known := range []struct {
		is     error
		advice string
	}{
		{syscall.ENOSPC, "free space on that file system of the node (df -h, df -i), and start again"},
		{syscall.EDQUOT, "raise the quota of that file system, or use another, and start again"},
		{syscall.EROFS, "that file system is mounted read-only: see why (dmesg), and remount it"},
		{exec.ErrNotFound, "install the program on the node by a step before this one"},
		{fs.ErrPermission, "root may not do this either: look at the mount options, attributes (lsattr) and SELinux denials (ausearch -m avc) of the path"},
		{fs.ErrNotExist, "add a step before this one that makes the missing directory or file"},
		{syscall.ENOTDIR, "a file is where a directory should be: move it away"},
		{syscall.EISDIR, "a directory is in the way: move it away"},
	} {
		if errors.Is(err, known.is) {
			return known.advice
		}
	}
	return ""
}

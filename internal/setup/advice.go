// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
)

// refusals of the operating system, and what to do about them.
var refusals = []struct {
	is     error
	advice string
}{
	{syscall.ENOSPC, "free space on that file system of the node (df -h, df -i), and start again"},
	{syscall.EDQUOT, "raise the quota of that file system, or use another, and start again"},
	{syscall.EROFS, "that file system is mounted read-only: see why (dmesg), and remount it"},
	{syscall.EIO, "look for a full file system (df -h, df -i) or a broken disk (dmesg) of the node, and start again"},
	{exec.ErrNotFound, "install the program on the node by a step before this one"},
	{fs.ErrPermission, "root may not do this either: look at the mount options, attributes (lsattr) and SELinux denials (ausearch -m avc) of the path"},
	{fs.ErrNotExist, "add a step before this one that makes the missing directory or file"},
	{syscall.ENOTDIR, "a file is where a directory should be: move it away"},
	{syscall.EISDIR, "a directory is in the way: move it away"},
}

// adviceOfSystem is what to do about what the operating system refuses.
func adviceOfSystem(err error) string {
	for _, known := range refusals {
		if errors.Is(err, known.is) {
			return known.advice
		}
	}
	var program *ProgramError
	if errors.As(err, &program) {
		return adviceOfProgram(program)
	}
	return ""
}

// adviceOfProgram is what to do about a program that failed: programs tell of refusals in the system's words.
func adviceOfProgram(p *ProgramError) string {
	said := strings.ToLower(p.Said)
	for _, known := range refusals {
		var number syscall.Errno
		if errors.As(known.is, &number) && strings.Contains(said, number.Error()) {
			return known.advice
		}
	}
	if strings.Contains(said, "i/o error") { // what dash says of a full disk
		return adviceOfSystem(syscall.EIO)
	}
	return "look at what it printed; on the node, run it by hand to see more"
}

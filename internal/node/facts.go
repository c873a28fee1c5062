// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// osName is PRETTY_NAME of os-release(5).
func osName(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			if plain, err := strconv.Unquote(value); err == nil {
				return plain, nil
			}
			return strings.Trim(value, `'"`), nil
		}
	}
	return "", fmt.Errorf("%s has no PRETTY_NAME", file)
}

func kernel() (release, machine string, err error) {
	var names unix.Utsname
	if err := unix.Uname(&names); err != nil {
		return "", "", fmt.Errorf("uname: %w", err)
	}
	return unix.ByteSliceToString(names.Release[:]), unix.ByteSliceToString(names.Machine[:]), nil
}

// timezone reads it as systemd and glibc do: where /etc/localtime points to, UTC when it is not there. A
// copied file is named by /etc/timezone.
func timezone(root string) (string, error) {
	target, err := os.Readlink(filepath.Join(root, "etc/localtime"))
	if err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			return name, nil
		}
		return "", fmt.Errorf("/etc/localtime points to %s, which is in no zoneinfo folder", target)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "UTC", nil
	}
	name, err := os.ReadFile(filepath.Join(root, "etc/timezone"))
	if err != nil {
		return "", fmt.Errorf("/etc/localtime is no link, and there is no /etc/timezone to name it: %w", err)
	}
	return strings.TrimSpace(string(name)), nil
}

// kernelFilesystems hold no files of users: they are left out of the mounts.
var kernelFilesystems = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
}

// mounts gives the mount points of a file in the form of /proc/mounts, sorted.
func mounts(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return []string{}, err
	}
	found := []string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || slices.Contains(kernelFilesystems, fields[2]) {
			continue
		}
		found = append(found, unescapeMount(fields[1]))
	}
	slices.Sort(found)
	return slices.Compact(found), lines.Err()
}

// unescapeMount undoes the octal escapes that /proc/mounts uses for white space and backslashes.
func unescapeMount(text string) string {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				plain.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// opcID is the user and group ID of opc, as on OCI's images.
const opcID = 1000

// firstPersonID is the first ID of people's accounts; those below are the system's.
const firstPersonID, nobodyID = 1000, 65534

// networkUser is systemd's network service; networkID is its ID where the machine has no such user.
const networkUser, networkID = "systemd-network", "998"

// writeUsers gives hosts the machine's system accounts, without passwords, and opc.
func (l layers) writeUsers() error {
	users, err := systemAccounts("/etc/passwd")
	if err != nil {
		return err
	}
	groups, err := systemAccounts("/etc/group")
	if err != nil {
		return err
	}
	// cloud-init gives files to it where systemd's network service is not installed, too.
	if !slices.ContainsFunc(users, func(fields []string) bool { return fields[0] == networkUser }) {
		users = append(users, []string{networkUser, "x", networkID, networkID, "", "/", "/usr/sbin/nologin"})
		groups = append(groups, []string{networkUser, "x", networkID, ""})
	}
	var passwd, shadow, group strings.Builder
	for _, fields := range users {
		fmt.Fprintln(&passwd, strings.Join(fields, ":"))
		fmt.Fprintf(&shadow, "%s:*:19000:0:99999:7:::\n", fields[0])
	}
	fmt.Fprintf(&passwd, "opc:x:%d:%d:Oracle Public Cloud User:/home/opc:/bin/bash\n", opcID, opcID)
	fmt.Fprintln(&shadow, "opc:*:19000:0:99999:7:::")
	for _, fields := range groups {
		fields[3] = ""
		fmt.Fprintln(&group, strings.Join(fields, ":"))
	}
	fmt.Fprintf(&group, "opc:x:%d:\n", opcID)
	for _, file := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"passwd", passwd.String(), 0o644}, {"group", group.String(), 0o644}, {"shadow", shadow.String(), 0o600},
	} {
		if err := os.WriteFile(filepath.Join(l.base, "etc", file.name), []byte(file.text), file.mode); err != nil {
			return err
		}
	}
	return nil
}

// systemAccounts reads a file in the format of passwd or group, whose third field is the ID.
func systemAccounts(path string) ([][]string, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- one of two files of the system
	if err != nil {
		return nil, err
	}
	var accounts [][]string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 {
			continue
		}
		id, err := strconv.Atoi(fields[2])
		if err != nil || (id >= firstPersonID && id != nobodyID) {
			continue
		}
		accounts = append(accounts, fields)
	}
	return accounts, nil
}

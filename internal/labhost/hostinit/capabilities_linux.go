// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// machineCapabilities would let a host's root change the machine itself: its clock, modules, hardware.
var machineCapabilities = []uintptr{
	unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME, unix.CAP_SYSLOG, unix.CAP_WAKE_ALARM,
	unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE, unix.CAP_BLOCK_SUSPEND,
}

// dropCapabilities takes them from every program that this thread starts. The thread itself keeps them.
func dropCapabilities() error {
	for _, capability := range machineCapabilities {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	return nil
}

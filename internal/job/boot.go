// SPDX-License-Identifier: MPL-2.0

package job

// Where the steps that cloud-init runs at each boot of a node tell what came of them.
const (
	// BootStatusPath is a file with one [BootStep] a line, in JSON.
	BootStatusPath = "/var/lib/ocihpc/status.ndjson"
	// BootLogPath is a file with the output of every step; root reads it.
	BootLogPath = "/var/log/ocihpc-cloud-init.log"
	// BootReady is the last step of a complete boot.
	BootReady = "ready"
	// BootStepHeader begins the line before each step's output in the log.
	BootStepHeader = "== "
)

// BootStep is what came of one of them.
type BootStep struct {
	Step    string `json:"step"`
	Exit    int    `json:"exit"` // exit status
	Seconds int    `json:"seconds"`
	Message string `json:"message"`
}

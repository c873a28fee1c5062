// SPDX-License-Identifier: MPL-2.0

package job

// Where the set-up of a node, which cloud-init runs at each boot, tells what came of it.
const (
	// SetupStatusPath is a file with one [SetupStep] a line, in JSON.
	SetupStatusPath = "/var/lib/ocihpc/status.ndjson"
	// SetupLogPath is a file with the output of every step; root reads it.
	SetupLogPath = "/var/log/ocihpc-cloud-init.log"
	// SetupReady is the last step of a complete set-up.
	SetupReady = "ready"
	// SetupStepHeader begins the line before each step's output in the log.
	SetupStepHeader = "== "
)

// SetupStep is what came of a step of a node's set-up.
type SetupStep struct {
	Step    string `json:"step"`
	Exit    int    `json:"exit"` // exit status
	Seconds int    `json:"seconds"`
	Message string `json:"message"`
}

// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"strings"
	"time"
)

// cloud-init's words for its state.
const (
	cloudInitDone     = "done"
	cloudInitDegraded = "degraded" // done, with recoverable errors
	cloudInitDisabled = "disabled"
	cloudInitError    = "error"
	cloudInitRunning  = "running"
	cloudInitNotRun   = "not run"
)

// cloudInitPoll is how often a running cloud-init is asked.
const cloudInitPoll = 2 * time.Second

// cloudInit is cloud-init's word for its state, and what it says of its errors; both are empty when it is not
// installed.
type cloudInit struct {
	status, detail string
	err            error
}

func askCloudInit(ctx context.Context) (said cloudInit) {
	// The exit status shows what went wrong while cloud-init ran, not whether it answered: 1 error, 2 degraded.
	text, err := answer(ctx, "cloud-init", "status", "--long")
	if missing(err) {
		return said
	}
	// Fields of a line each; "detail:" and, from 23.4 on, "errors:" have theirs below, to the next field.
	var details []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, isField := strings.Cut(line, ":")
		switch {
		case isField && name == "status":
			said.status = strings.TrimSpace(value)
		case isField && (name == "detail" || name == "errors"):
			section = name
		case section == "detail" && !strings.HasPrefix(line, "DataSource") || section == "errors" && strings.HasPrefix(line, "- "):
			details = append(details, strings.TrimPrefix(line, "- "))
		default:
			section = ""
		}
	}
	if said.status == "" {
		return cloudInit{err: err}
	}
	said.detail = strings.Join(details, "; ")
	return said
}

// waitForCloudInit returns when cloud-init has ended or the wait is over, with its last word. It asks again and
// again rather than call `cloud-init status --wait`, which never returns where cloud-init was not started.
func waitForCloudInit(ctx, waiting context.Context) cloudInit {
	ticker := time.NewTicker(cloudInitPoll)
	defer ticker.Stop()
	for {
		said := askCloudInit(ctx)
		if said.err != nil || !unfinished(said.status) {
			return said
		}
		select {
		case <-waiting.Done():
			return said
		case <-ticker.C:
		}
	}
}

func unfinished(status string) bool { return status == cloudInitRunning || status == cloudInitNotRun }

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

// cloudInitStatus gives cloud-init's word for its state; empty when it is not installed.
func cloudInitStatus(ctx context.Context) (string, error) {
	// The status shows what went wrong while cloud-init ran, not whether it answered: 1 error, 2 degraded.
	text, err := answer(ctx, "cloud-init", "status")
	if missing(err) {
		return "", nil
	}
	for line := range strings.Lines(text) {
		if word, ok := strings.CutPrefix(line, "status:"); ok {
			return strings.TrimSpace(word), nil
		}
	}
	return "", err
}

// waitForCloudInit returns when cloud-init has ended or the time is over. It asks again and again rather
// than call `cloud-init status --wait`, which never returns where cloud-init was not started.
func waitForCloudInit(ctx context.Context, seconds int) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	ticker := time.NewTicker(cloudInitPoll)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if status, err := cloudInitStatus(ctx); err != nil || !unfinished(status) {
			return
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func unfinished(status string) bool { return status == cloudInitRunning || status == cloudInitNotRun }

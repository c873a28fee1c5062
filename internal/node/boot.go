// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// How much of a failed step's output a check shows: the last lines.
const (
	bootOutputLines = 10
	bootOutputBytes = 1500
)

// checkBoot tells what came of the set-up that cloud-init ran at this boot; ok is false on a node without one.
func checkBoot(ctx context.Context, statusPath, logPath string) (c job.Check, ok bool) {
	const name = "boot_steps"
	text, err := os.ReadFile(statusPath) // #nosec G304 -- a constant, but in tests
	if errors.Is(err, fs.ErrNotExist) {
		return job.Check{}, false
	}
	if err != nil {
		return check(name, job.CannotTell, fmt.Sprintf("the status of the set-up could not be read: %v", err), ""), true
	}
	steps, err := parseBoot(string(text))
	if err != nil {
		return check(name, job.CannotTell, fmt.Sprintf("%s: %v", statusPath, err), ""), true
	}
	seconds := 0
	var done []string
	for _, s := range steps {
		if s.Exit != 0 {
			message := fmt.Sprintf("step %s failed with exit status %d after %d seconds: %s", s.Step, s.Exit, s.Seconds, s.Message)
			return check(name, job.Fail, message+bootOutput(ctx, logPath, s.Step), ""), true
		}
		seconds += s.Seconds
		done = append(done, fmt.Sprintf("%s %d s", s.Step, s.Seconds))
	}
	if len(steps) == 0 || steps[len(steps)-1].Step != job.BootReady {
		return check(name, job.Fail, "the set-up did not finish; done: "+strings.Join(done, ", "), ""), true
	}
	return check(name, job.Pass, fmt.Sprintf("%d steps in %d seconds: %s", len(steps), seconds, strings.Join(done, ", ")), ""), true
}

// parseBoot reads the status file.
func parseBoot(text string) ([]job.BootStep, error) {
	var steps []job.BootStep
	for line := range strings.Lines(text) {
		var s job.BootStep
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Step == "" {
			return nil, fmt.Errorf("%.100q is not the status of a step", line)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// bootOutput gives the end of what a failed step printed. Only root reads the log: users' commands may print
// secrets.
func bootOutput(ctx context.Context, logPath, step string) string {
	log, err := answerAsRoot(ctx, "tail", "-n", "200", logPath)
	if err != nil {
		return ""
	}
	header := strings.LastIndex("\n"+log, "\n"+job.BootStepHeader)
	if header < 0 {
		return ""
	}
	first, output, _ := strings.Cut(log[header:], "\n")
	if !strings.HasSuffix(first, " "+step) { // the log went on after the status was written
		return ""
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	end := strings.Join(lines[max(0, len(lines)-bootOutputLines):], "\n")
	end = strings.ToValidUTF8(end[max(0, len(end)-bootOutputBytes):], "")
	if end == "" {
		return ""
	}
	return "\n" + end
}

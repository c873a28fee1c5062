// SPDX-License-Identifier: MPL-2.0

package node

import (
	"cmp"
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

// boot is the set-up that cloud-init runs at this boot.
type boot struct {
	there  bool
	steps  []job.BootStep
	output string // of the step that failed: the end of what it printed
	err    error
}

// readBoot reads what the steps left.
func readBoot(ctx context.Context, statusPath, logPath string) boot {
	text, err := os.ReadFile(statusPath) // #nosec G304 -- a constant, but in tests
	if errors.Is(err, fs.ErrNotExist) {
		return boot{}
	}
	if err != nil {
		return boot{there: true, err: fmt.Errorf("the status of the set-up could not be read: %w", err)}
	}
	b := boot{there: true}
	if b.steps, err = parseBoot(string(text)); err != nil {
		b.err = fmt.Errorf("%s: %w", statusPath, err)
	}
	for _, s := range b.steps {
		if s.Exit != 0 {
			b.output = bootOutput(ctx, logPath, s.Step)
			break
		}
	}
	return b
}

// checkBoot tells what came of the steps so far; unnamed on a node without such.
func checkBoot(b boot, cloudInit string) job.Check {
	const name = "boot_steps"
	switch {
	case !b.there:
		return job.Check{}
	case b.err != nil:
		return check(name, job.CannotTell, b.err.Error(), "")
	}
	seconds := 0
	var done []string
	for _, s := range b.steps {
		if s.Exit != 0 {
			message := fmt.Sprintf("step %s failed with exit status %d after %d seconds: %s", s.Step, s.Exit, s.Seconds, s.Message)
			return check(name, job.Fail, message+b.output, "")
		}
		seconds += s.Seconds
		done = append(done, fmt.Sprintf("%s %d s", s.Step, s.Seconds))
	}
	so := strings.Join(done, ", ")
	switch finished := len(b.steps) > 0 && b.steps[len(b.steps)-1].Step == job.BootReady; {
	case finished:
		return check(name, job.Pass, fmt.Sprintf("%d steps in %d seconds: %s", len(b.steps), seconds, so), "")
	case cloudInit == cloudInitRunning:
		return check(name, job.Warn, "the set-up still runs; done so far: "+cmp.Or(so, "nothing"), "wait for it: cloud-init status --wait")
	}
	return check(name, job.Fail, "the set-up did not finish; done: "+cmp.Or(so, "nothing"), "")
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

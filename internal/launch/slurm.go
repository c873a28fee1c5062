// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slurmDirs are searched for Slurm's programs after PATH.
var slurmDirs = []string{"/opt/slurm/bin", "/usr/local/slurm/bin", "/usr/local/bin", "/usr/bin"}

// answerLimit bounds a question to Slurm's controller.
const answerLimit = time.Minute

// slurmError says that a program of Slurm's failed.
type slurmError struct {
	program string
	err     error
	said    string
}

func (e *slurmError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("%s: %v", e.program, e.err)
	}
	return fmt.Sprintf("%s: %s", e.program, e.said)
}

func (e *slurmError) Unwrap() error { return e.err }

// isDown says that the controller could not be reached, which passes.
func isDown(err error) bool {
	var failed *slurmError
	if !errors.As(err, &failed) {
		return false
	}
	for _, sign := range []string{"Unable to contact slurm controller", "Socket timed out", "Connection refused", "Zero Bytes were transmitted", "backup controller"} {
		if strings.Contains(failed.said, sign) {
			return true
		}
	}
	return errors.Is(failed.err, context.DeadlineExceeded)
}

// askSlurm runs a program of Slurm's on this machine.
func askSlurm(ctx context.Context, name string, args ...string) (string, error) {
	program, err := exec.LookPath(name)
	for _, dir := range slurmDirs {
		if err != nil {
			program, err = exec.LookPath(filepath.Join(dir, name))
		}
	}
	if err != nil {
		return "", &slurmError{name, fmt.Errorf("it is not installed: %w", exec.ErrNotFound), ""}
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- fixed names, no shell
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return stdout.String(), &slurmError{name, err, strings.Join(strings.Fields(stderr.String()), " ")}
	}
	return stdout.String(), nil
}

// SlurmNode is a node as Slurm knows it.
type SlurmNode struct {
	Name    string // in node lists
	Address string
	Host    string // its host name
	State   string // such as IDLE or DOWN+DRAIN
	Reason  string // for a state that keeps it from being used
}

// SlurmNodes gives all nodes that Slurm knows.
func SlurmNodes(ctx context.Context) ([]SlurmNode, error) {
	text, err := askSlurm(ctx, "scontrol", "--oneliner", "show", "nodes")
	if err != nil {
		return nil, err
	}
	var nodes []SlurmNode
	for line := range strings.Lines(text) {
		f := fieldsOf(line)
		if f["NodeName"] != "" {
			nodes = append(nodes, SlurmNode{f["NodeName"], f["NodeAddr"], f["NodeHostName"], f["State"], f["Reason"]})
		}
	}
	return nodes, nil
}

// fieldsOf reads a line of `scontrol --oneliner`: NAME=VALUE, between blanks. Of a value with blanks only the first word
// is kept; of a name that repeats, as a comment of a user can make it, the first counts.
func fieldsOf(line string) map[string]string {
	fields := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		name, value, found := strings.Cut(word, "=")
		if _, known := fields[name]; found && !known && value != "(null)" {
			fields[name] = value
		}
	}
	return fields
}

// batchState is a batch job as Slurm knows it.
type batchState struct {
	state  string // such as PENDING or NODE_FAIL
	reason string // why it is in that state; empty when Slurm gives none
	nodes  string // such as gpu-[1-2]
	host   string // that its script runs on
	status int    // exit status of its script; -1 when that is not known
}

// waiting says that it has not started.
func (s batchState) waiting() bool {
	return slices.Contains([]string{"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}, s.state)
}

// over says that it has ended.
func (s batchState) over() bool {
	return !s.waiting() && !slices.Contains([]string{"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "STAGE_OUT", "SIGNALING", "STOPPED"}, s.state)
}

var errForgotten = errors.New("the batch job is no longer known to Slurm")

// stateOf asks for a batch job: the controller, which forgets jobs some minutes after their end, then the accounting, where there is any.
func stateOf(ctx context.Context, id string) (batchState, error) {
	text, err := askSlurm(ctx, "scontrol", "--oneliner", "show", "job", id)
	if err == nil {
		return parseShownJob(text), nil
	}
	if ctx.Err() != nil || isDown(err) || errors.Is(err, exec.ErrNotFound) {
		return batchState{}, err
	}
	text, err = askSlurm(ctx, "sacct", "--jobs="+id, "--allocations", "--noheader", "--parsable2", "--format=State,ExitCode,NodeList,Reason")
	if s, known := parseAccounted(text); err == nil && known {
		return s, nil
	}
	return batchState{}, errForgotten
}

func parseShownJob(text string) batchState {
	f := fieldsOf(text)
	s := batchState{state: f["JobState"], reason: f["Reason"], nodes: f["NodeList"], host: f["BatchHost"], status: -1}
	if s.reason == "None" {
		s.reason = ""
	}
	if s.over() {
		s.status = exitStatusOf(f["ExitCode"])
	}
	return s
}

// parseAccounted reads a line of sacct: State|ExitCode|NodeList|Reason, where a state can be "CANCELLED by 1000".
func parseAccounted(text string) (batchState, bool) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Split(line, "|")
	if len(fields) != 4 || fields[0] == "" {
		return batchState{}, false
	}
	state, by, _ := strings.Cut(fields[0], " ")
	s := batchState{state: state, nodes: fields[2], reason: fields[3], status: -1}
	if by != "" {
		s.reason = by
	}
	if s.reason == "None" {
		s.reason = ""
	}
	if s.over() {
		s.status = exitStatusOf(fields[1])
	}
	return s, true
}

// exitStatusOf reads STATUS:SIGNAL, as a shell gives it; -1 when it is something else.
func exitStatusOf(code string) int {
	status, signal, found := strings.Cut(code, ":")
	number, err := strconv.Atoi(status)
	by, signalErr := strconv.Atoi(signal)
	switch {
	case !found || err != nil || signalErr != nil || number < 0 || by < 0:
		return -1
	case number == 0 && by > 0:
		return 128 + by
	}
	return number
}

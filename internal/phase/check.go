// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// inspectLimit is how long a node may take for its facts and checks, beside the wait for cloud-init.
const inspectLimit = 5 * time.Minute

// checkFailed is the exit status of `ocihpc-runner check` when it has an answer, and a check failed.
const checkFailed = 1

// check asks every node for its facts and holds them against what the job expects.
type check struct{ *work }

func (check) Name() job.Phase { return job.PhaseCheck }
func (check) Title() string   { return "Check the nodes" }

func (p check) Run(ctx context.Context) error {
	if s, ok := shape.Lookup(p.Job.Shape); ok && s.GPUVendor == shape.AMD && p.Job.Benchmark != nil {
		return &Stop{job.CouldNotRun, job.Failure{
			Kind: "unsupported_shape", Message: fmt.Sprintf("%s has AMD GPUs; nccl-tests measure NVIDIA GPUs", p.Job.Shape),
			Advice: "leave the benchmark out",
		}}
	}
	var done atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, n := range p.nodes {
		if n.unreachable != nil {
			continue
		}
		group.Go(func() error {
			err := p.inspect(ctx, n)
			event := job.Event{Type: job.EventNode, Node: n.Name, Done: int(done.Add(1)), Total: len(p.nodes)}
			event.Outcome, event.Message = summary(n.found.Checks)
			if err != nil {
				n.unreachable = &job.Failure{
					Kind: "unreachable", Node: n.Name, Message: fmt.Sprintf("%s could not be checked: %v", n.Name, err),
					Advice: "log in to the node and run: " + n.at.Runner + " check",
				}
				event.Outcome, event.Message = job.CouldNotRun, n.unreachable.Message
			}
			p.emit(event)
			return nil
		})
	}
	_ = group.Wait() // every error is with its node
	p.checkPorts(ctx)
	p.checkUniform()
	if stop := p.unreachable(); stop != nil {
		return stop
	}
	return p.failed()
}

func (p check) inspect(ctx context.Context, n *nodeWork) error {
	report, err := p.ask(ctx, n, p.request(n))
	if err != nil {
		return err
	}
	received := time.Now()
	n.found.Facts, n.found.Checks = &report.Facts, report.Checks
	if n != p.nodes[0] && p.health() && !slices.Contains(p.Job.Checks.Skip, "uniform_clock") {
		n.found.Checks = append(n.found.Checks, node.CheckClock(*report, received))
	}
	return nil
}

// health says whether the nodes' health is looked at: before every measurement, and when only checks are asked for.
func (p check) health() bool { return p.Job.Benchmark != nil || p.Job.Setup == nil }

// ask has a node look at itself.
func (w *work) ask(ctx context.Context, n *nodeWork, r node.Request) (*node.Report, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	limit := inspectLimit + time.Duration(r.Checks.CloudInitWaitSeconds)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	var out, messages bytes.Buffer
	command := launch.Command{Argv: []string{n.at.Runner, "check", "--request", string(text), "--output", "json"}}
	err = launch.Run(ctx, n.at.Host, n.at.Runner, command, &out, &messages)
	var exit *remote.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Status != checkFailed) {
		if said := strings.TrimSpace(messages.String()); said != "" {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	var report node.Report
	if err := job.DecodeStrict(out.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("read its answer: %w", err)
	}
	return &report, nil
}

func (p check) request(n *nodeWork) node.Request {
	r := node.Request{Address: n.Address, Shape: p.Job.Shape, Checks: p.Job.Checks, Health: p.health()}
	if b := p.Job.Benchmark; b != nil {
		r.Collective, r.NCCLTestsDir, r.GPUsPerNode = b.Collective, b.NCCLTestsDir, b.GPUsPerNode
		r.MPI = p.needsMPI()
		if b.Launcher == job.LauncherSlurm && b.Slurm != nil && (b.Slurm.Image != "" || b.Slurm.Chooses()) {
			r.Collective = "" // nccl-tests are in the image, or on other nodes
		}
		if b.NCCLTestsSource != nil {
			r.Checks.Skip = append(slices.Clone(r.Checks.Skip), "nccl_tests")
		}
		if b.Container != nil { // what it has is looked at there
			r.Collective, r.MPI = "", false
		}
		if b.Slurm.Chooses() { // this node need not have a GPU
			r.Shape, r.Health = "", false
		}
	}
	return r
}

func (p check) checkUniform() {
	results := make([]job.NodeResult, len(p.nodes))
	for i, n := range p.nodes {
		results[i] = n.found
	}
	node.CheckUniform(results, p.health(), p.Job.Checks.Skip)
	for i, n := range p.nodes {
		n.found = results[i]
	}
}

// failed gives the reason to stop because of checks that failed; nil when none did.
func (p check) failed() error {
	var nodes []string
	var first *job.Failure
	for _, n := range p.nodes {
		outcome, message := summary(n.found.Checks)
		if outcome != job.Fail {
			continue
		}
		nodes = append(nodes, n.Name)
		if first == nil {
			first = &job.Failure{Kind: "check_failed", Node: n.Name, Message: n.Name + ": " + message, Advice: adviceOf(n.found.Checks)}
		}
	}
	if first == nil {
		return nil
	}
	if len(nodes) > 1 {
		first.Message = fmt.Sprintf("checks failed on %d of %d nodes (%s); the first one: %s", len(nodes), len(p.nodes), strings.Join(nodes, ", "), first.Message)
		first.Node = ""
	}
	return &Stop{job.Fail, *first}
}

// summary gives the worst outcome of the checks and what those say that are not passed.
func summary(checks []job.Check) (job.Outcome, string) {
	worst := job.Pass
	var messages []string
	unsure := 0
	for _, c := range checks {
		worst = job.Worse(worst, c.Outcome)
		if c.Outcome == job.CannotTell {
			unsure++
		}
		if c.Outcome != job.Pass && c.Outcome != job.CannotTell {
			messages = append(messages, c.Name+": "+c.Message)
		}
	}
	if len(messages) > 0 {
		return worst, strings.Join(messages, "; ")
	}
	if unsure > 0 {
		return worst, fmt.Sprintf("no check failed; %d of %d cannot tell", unsure, len(checks))
	}
	return worst, "all checks passed"
}

func adviceOf(checks []job.Check) string {
	for _, c := range checks {
		if c.Outcome == job.Fail {
			return c.Advice
		}
	}
	return ""
}

// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

// How many nodes are set up, and download, at a time where the job does not say.
const (
	defaultSessions  = 64
	defaultDownloads = 16
)

// setUp puts every node into the state that the job asks for, all nodes in parallel. A node that fails does not keep the
// others from being set up, but the job goes no further.
type setUp struct{ *work }

func (setUp) Name() job.Phase { return job.PhaseSetUp }

func (p setUp) Title() string {
	if p.Job.Setup.DryRun {
		return "Look at what would be set up"
	}
	return "Set up the nodes"
}

func (p setUp) Run(ctx context.Context) error {
	setup := p.Job.Setup
	giving, stop := context.WithCancel(ctx)
	shared := &shared{work: p.work, ctx: giving, downloads: make(chan struct{}, cmp.Or(setup.MaxDownloads, defaultDownloads)), images: map[string]*spread{}}
	var done atomic.Int64
	var group errgroup.Group
	group.SetLimit(cmp.Or(setup.MaxSessions, defaultSessions))
	for _, n := range p.nodes {
		if n.unreachable != nil { // it was told of when it could not be reached
			done.Add(1)
			n.found.Setup = &job.NodeSetup{Steps: []job.StepResult{}, Failure: n.unreachable}
			continue
		}
		group.Go(func() error {
			p.awaitCloudInit(ctx, n)
			found := newSetUpNode(p.work, n, shared).run(ctx)
			n.found.Setup = &found
			event := job.Event{Type: job.EventNode, Node: n.Name, Outcome: found.Outcome(), Message: found.Summary(), Done: int(done.Add(1)), Total: len(p.nodes)}
			if found.Failure != nil {
				event.Message = found.Failure.Message
			}
			p.emit(event)
			return nil
		})
	}
	_ = group.Wait() // every failure is with its node
	stop()
	shared.wait()
	if stop := p.setUpFailed(); stop != nil {
		return stop
	}
	results := make([]job.NodeResult, len(p.nodes))
	for i, n := range p.nodes {
		results[i] = n.found
	}
	return remark{job.Pass, job.SetupSummary(results)}
}

// awaitCloudInit waits until cloud-init has ended on a node: users and mounts that the set-up needs may come from it. How it ended
// is a check's matter, and a node that does not answer is that of the set-up's own session.
func (p setUp) awaitCloudInit(ctx context.Context, n *nodeWork) {
	if seconds := p.Job.Checks.CloudInitWaitSeconds; seconds > 0 {
		_, _ = p.ask(ctx, n, node.Request{Checks: job.Checks{CloudInitWaitSeconds: seconds}})
	}
}

// namesShown is how many nodes a message names.
const namesShown = 10

// setUpFailed gives the reason to stop because of nodes whose set-up failed; nil when none did.
func (p setUp) setUpFailed() *Stop {
	var names []string
	var first *Stop
	for _, n := range p.nodes {
		outcome := n.found.Setup.Outcome()
		if outcome == job.Pass {
			continue
		}
		names = append(names, n.Name)
		// Worse is what could not be done at all; of the same kind the first one counts.
		if first == nil || job.Worse(first.Outcome, outcome) != first.Outcome {
			failure := *n.found.Setup.Failure
			if n.unreachable == nil { // else it names the node
				failure.Node, failure.Message = n.Name, n.Name+": "+failure.Message
			}
			first = &Stop{outcome, failure}
		}
	}
	if len(names) > 1 {
		first.Failure.Node = ""
		first.Failure.Message = fmt.Sprintf("the set-up failed on %d of %d nodes (%s); %s", len(names), len(p.nodes), listed(names), first.Failure.Message)
	}
	return first
}

// listed names some of many.
func listed(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return strings.Join(slices.Concat(names[:namesShown], []string{fmt.Sprintf("and %d more", len(names)-namesShown)}), ", ")
}

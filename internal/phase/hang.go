// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

// watch ends a run at its time limit. Before it does, it looks at what the ranks are doing.
type watch struct {
	work   *work
	run    run
	timer  *time.Timer
	cancel context.CancelCauseFunc

	lock  sync.Mutex
	found stuck
}

// lookLimit bounds the look at the ranks.
const lookLimit = 10 * time.Second

// limit gives a run the time that it has.
func (w *work) limit(ctx context.Context, r run) (context.Context, *watch) {
	limit := r.limit
	if limit == 0 {
		limit = time.Duration(w.Job.Benchmark.TimeoutSeconds) * time.Second
	}
	limited, cancel := context.WithCancelCause(ctx)
	wa := &watch{work: w, run: r, cancel: cancel}
	wa.timer = time.AfterFunc(limit, func() {
		found := wa.look(limited)
		wa.lock.Lock()
		wa.found = found
		wa.lock.Unlock()
		cancel(errRunLimit)
	})
	return limited, wa
}

func (wa *watch) stop() {
	wa.timer.Stop()
	wa.cancel(nil)
}

// look asks the nodes of the run for their ranks.
func (wa *watch) look(ctx context.Context) stuck {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	ranks := make([][]node.Rank, len(wa.run.nodes))
	var asking sync.WaitGroup
	for i, n := range wa.run.nodes {
		asking.Go(func() { ranks[i] = ranksOf(ctx, n) })
	}
	asking.Wait()
	names := make([]string, len(wa.run.nodes))
	for i, n := range wa.run.nodes {
		names[i] = n.Name
	}
	return whoIsStuck(names, ranks)
}

// ranksOf asks a node for its ranks; nil when it does not tell.
func ranksOf(ctx context.Context, n *nodeWork) []node.Rank {
	var out bytes.Buffer
	command := launch.Command{Argv: []string{n.at.Runner, "ranks"}}
	if err := launch.Run(ctx, n.at.Host, n.at.Runner, command, &out, io.Discard); err != nil {
		return nil
	}
	ranks := []node.Rank{}
	if err := job.DecodeStrict(out.Bytes(), &ranks); err != nil {
		return nil
	}
	return ranks
}

// stuck is who keeps a run from going on, as far as that shows.
type stuck struct {
	node string // the only one
	text string
}

// whoIsStuck compares the ranks of nodes, nil for a node that does not tell. Ranks that wait for others take processor
// time, and so do those that compute; a rank that takes none, while most do, is not waiting.
func whoIsStuck(nodes []string, ranks [][]node.Rank) stuck {
	var missing, idle []string
	busy, still := 0, 0
	on := map[string]bool{}
	for i, name := range nodes {
		if ranks[i] != nil && len(ranks[i]) == 0 {
			missing = append(missing, name)
			on[name] = true
		}
		for _, r := range ranks[i] {
			if r.Ticks > 0 {
				busy++
				continue
			}
			still++
			idle = append(idle, fmt.Sprintf("rank %d on %s", r.Rank, name))
			on[name] = true
		}
	}
	var s stuck
	switch {
	case busy+still == 0:
		return s // no launcher's ranks, or none anywhere
	case len(missing) > 0 && 2*len(missing) < len(nodes):
		s.text = "no rank runs on " + strings.Join(missing, ", ")
	case still > 0 && still < busy:
		s.text = fmt.Sprintf("%s stands still, while %d others work or wait", strings.Join(idle, ", "), busy)
		if still > 1 {
			s.text = fmt.Sprintf("%s stand still, while %d others work or wait", strings.Join(idle, ", "), busy)
		}
	default:
		return s
	}
	if len(on) == 1 {
		for name := range on {
			s.node = name
		}
	}
	return s
}

// whereItHangs adds to a failure how far the run came, and who is stuck.
func (wa *watch) whereItHangs(failure *job.Failure, reports []job.Report) job.Failure {
	wa.lock.Lock()
	defer wa.lock.Unlock()
	failure.Message += "; it stops " + nccl.Reached(reports, rowsOf(*wa.work.Job.Benchmark))
	if wa.found.text != "" {
		failure.Message += "; " + wa.found.text
		failure.Node = wa.found.node
	}
	return *failure
}

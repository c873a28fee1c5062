// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
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
	nodes := nearOrder(wa.run.nodes)
	names, ranks := make([]string, len(nodes)), make([][]node.Rank, len(nodes))
	var asking sync.WaitGroup
	for i, n := range nodes {
		names[i] = n.Name
		asking.Go(func() { ranks[i] = ranksOf(ctx, n) })
	}
	asking.Wait()
	return whoIsStuck(names, max(1, wa.run.ranks/len(names)), ranks)
}

// ranksOf asks a node for its ranks; nil when it does not tell.
func ranksOf(ctx context.Context, n *nodeWork) []node.Rank {
	var out bytes.Buffer
	at := n.ranks()
	command := launch.Command{Argv: []string{at.Runner, "ranks"}}
	if err := at.Run(ctx, command, &out, io.Discard); err != nil {
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

// whoIsStuck compares the ranks of nodes, each of which has so many, in their order; nil for a node that does not tell. Ranks
// that wait for others take processor time, and so do those that compute; a rank that takes none, while most do, is not
// waiting.
func whoIsStuck(nodes []string, each int, ranks [][]node.Rank) stuck {
	var missing, idle, on []string
	busy := 0
	for i, name := range nodes {
		own := slices.DeleteFunc(slices.Clone(ranks[i]), func(r node.Rank) bool { return r.Rank/each != i })
		var still []string
		for _, r := range own {
			if r.Ticks > 0 {
				busy++
			} else {
				still = append(still, fmt.Sprintf("rank %d on %s", r.Rank, name))
			}
		}
		if ranks[i] != nil && len(own) == 0 {
			missing = append(missing, name)
		}
		if len(still) > 0 || ranks[i] != nil && len(own) == 0 {
			on = append(on, name)
		}
		idle = append(idle, still...)
	}
	var s stuck
	switch {
	case busy == 0:
		return s // no launcher's ranks, or all alike
	case len(missing) > 0 && 2*len(missing) < len(nodes):
		s.text = "no rank runs on " + strings.Join(missing, ", ")
	case len(idle) == 1:
		s.text = fmt.Sprintf("%s stands still, while the other ranks (%d) work or wait", idle[0], busy)
	case len(idle) > 1 && len(idle) < busy:
		s.text = fmt.Sprintf("%s stand still, while the other ranks (%d) work or wait", strings.Join(idle, ", "), busy)
	default:
		return s
	}
	if len(on) == 1 {
		s.node = on[0]
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

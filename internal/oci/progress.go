// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Progress is what one look at a cluster shows.
type Progress struct {
	Cluster Cluster
	// Wanted is how many nodes there shall be next; 0 for a cluster that is being deleted.
	Wanted int
	// Ready counts the nodes that run; it is known only when the cluster itself looks complete.
	Ready int
	// Replaced counts the nodes that this operation has replaced so far, and Stale those that are launched
	// otherwise than the cluster's nodes are now and still have to be. Both are known only while nodes are
	// replaced.
	Replaced, Stale int
	// Working are the unfinished work requests.
	Working []WorkRequest
	Elapsed time.Duration
}

// watch follows what is seen over time, and reports it when it changes and once a minute.
type watch struct {
	report           func(Progress)
	begun, told, was time.Time // was: when the last change was seen
	state            string
	size, stale      int
}

func newWatch(report func(Progress)) *watch {
	if report == nil {
		report = func(Progress) {}
	}
	now := time.Now()
	return &watch{report: report, begun: now, was: now}
}

func (w *watch) see(ctx context.Context, p Progress) {
	now := time.Now()
	p.Elapsed = now.Sub(w.begun)
	c := p.Cluster
	tflog.Debug(ctx, "Looked at the cluster", map[string]any{"id": c.ID, "state": c.State, "current_size": c.CurrentSize})
	changed := c.State != w.state || c.CurrentSize != w.size || p.Stale != w.stale
	if changed {
		w.state, w.size, w.stale, w.was = c.State, c.CurrentSize, p.Stale, now
	}
	if changed || now.Sub(w.told) >= time.Minute {
		w.told = now
		w.report(p)
	}
}

// expect says that something has just been asked for, whose effect is still to be seen.
func (w *watch) expect() { w.was = time.Now() }

// unchangedFor says for how long nothing has changed.
func (w *watch) unchangedFor() time.Duration { return time.Since(w.was) }

// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Operation is a change of a cluster that OCI has accepted and works on.
type Operation struct {
	clusters *Clusters
	cluster  Cluster // as it shall be
	// earlier work requests say nothing about this operation.
	earlier map[string]bool
	// obsolete configurations go when nothing uses them any more.
	obsolete []string
	// grows says that nodes are launched, so that a lack of them is this operation's failure.
	grows bool
}

// Cluster is what the operation works on, as it shall be.
func (o *Operation) Cluster() Cluster { return o.cluster }

// Progress is what one look at a cluster shows.
type Progress struct {
	Cluster Cluster
	// Ready counts the nodes that run; it is known only when the cluster itself looks complete.
	Ready int
	// Working are the unfinished work requests.
	Working []WorkRequest
	Elapsed time.Duration
}

// FailureError says that OCI ended an operation without reaching its goal, and why.
type FailureError struct {
	What string
	// Cluster as it was last seen.
	Cluster Cluster
	// WorkRequests that failed or reported errors.
	WorkRequests []WorkRequest
}

// Ended says that OCI itself has terminated the cluster.
func (e *FailureError) Ended() bool { return e.Cluster.State == terminated }

// Error gives the failure with the work requests' own texts.
func (e *FailureError) Error() string {
	var text strings.Builder
	text.WriteString(e.What)
	for _, w := range e.WorkRequests {
		text.WriteString("\n\n" + w.String())
	}
	if len(e.WorkRequests) == 0 {
		text.WriteString("\n\nNo work request says why.")
	}
	return text.String()
}

func (e *FailureError) kind() Kind {
	for _, w := range e.WorkRequests {
		if kind := w.kind(); kind != Other {
			return kind
		}
	}
	return Other
}

// Wait waits until the cluster has all its nodes, and gives it as last seen, also beside an error. The
// error is a [FailureError] when OCI gave up, and the context's when that ended first. Report, if any, is
// told of every change and once a minute.
func (o *Operation) Wait(ctx context.Context, report func(Progress)) (Cluster, error) {
	s, want := o.clusters, o.cluster
	last := want
	last.State, last.CurrentSize = "", 0
	watch := newWatch(report)
	var hopeless time.Time // since when a work request says that the nodes will not come
	err := s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		now, err := s.group(want.Interconnect).get(ctx, want.ID)
		if KindOf(err) == NotFound {
			return false, o.notFound(watch, err)
		}
		if err != nil {
			return false, err
		}
		now.Launch = want.Launch
		last = now
		seen := Progress{Cluster: now}
		if done, err := o.reached(ctx, &seen); done || err != nil {
			return done, err
		}
		failed, err := o.look(ctx, &seen)
		if err != nil {
			return false, err
		}
		watch.see(ctx, seen)
		if len(failed) > 0 && hopeless.IsZero() {
			hopeless = time.Now()
		}
		return false, o.verdict(ctx, seen, failed, watch, hopeless)
	})
	if err != nil {
		return last, fmt.Errorf("wait for the %s: %w", want.Interconnect.noun(), err)
	}
	return last, nil
}

// Nodes gives the nodes of a cluster for which Wait has ended well. It waits a moment longer for the
// addresses of nodes that run already.
func (o *Operation) Nodes(ctx context.Context) ([]Node, error) {
	s := o.clusters
	ctx, cancel := context.WithTimeout(ctx, s.Grace)
	defer cancel()
	var nodes []Node
	err := s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		var err error
		nodes, err = s.Nodes(ctx, o.cluster)
		return err == nil && !slices.ContainsFunc(nodes, func(n Node) bool { return n.PrivateIP == "" }), err
	})
	if err != nil {
		return nil, fmt.Errorf("find the addresses of the nodes: %w", err)
	}
	return nodes, nil
}

// CleanUp removes the configurations that the operation, or one that was interrupted before it, has left
// without use. The cluster is well without it.
func (o *Operation) CleanUp(ctx context.Context) error {
	return o.clusters.removeConfigurations(ctx, o.cluster, o.obsolete)
}

// notFound tolerates that OCI does not show at once what it has just made.
func (o *Operation) notFound(watch *watch, err error) error {
	if watch.unchangedFor() < o.clusters.Grace {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", o.cluster.ID, ErrGone, err)
}

// reached says whether the cluster and each of its nodes are as they shall be.
func (o *Operation) reached(ctx context.Context, seen *Progress) (bool, error) {
	now, want := seen.Cluster, o.cluster
	if !now.Complete() || now.Size != want.Size || now.ConfigurationID != want.ConfigurationID {
		return false, nil
	}
	members, err := o.clusters.members(ctx, now)
	if err != nil {
		return false, err
	}
	for _, m := range members {
		if m.State == running {
			seen.Ready++
		}
	}
	return seen.Ready == want.Size && len(members) == want.Size, nil
}

// look reads what the operation's work requests report, and gives those that say that nodes will not come.
func (o *Operation) look(ctx context.Context, seen *Progress) (failed []WorkRequest, err error) {
	requests, err := o.clusters.workRequests(ctx, seen.Cluster, o.earlier)
	if err != nil {
		return nil, err
	}
	for _, w := range requests {
		if w.unfinished() {
			seen.Working = append(seen.Working, w)
		}
		if o.grows && w.kind() != Other {
			failed = append(failed, w)
		}
	}
	return failed, nil
}

// verdict says whether there is still something to wait for.
func (o *Operation) verdict(ctx context.Context, seen Progress, failed []WorkRequest, watch *watch, hopeless time.Time) error {
	now, grace := seen.Cluster, o.clusters.Grace
	switch {
	case now.State == terminated:
		return o.failure(ctx, now, fmt.Sprintf("OCI ended the %s %s: it is %s.", now.Interconnect.noun(), now.ID, now.State))
	case now.State == terminating && watch.unchangedFor() > grace:
		return o.failure(ctx, now, fmt.Sprintf("The %s %s is being terminated by OCI or by somebody else.", now.Interconnect.noun(), now.ID))
	case now.State == stopped && watch.unchangedFor() > grace:
		return o.failure(ctx, now, fmt.Sprintf("The %s %s is stopped. Start its instance pool, then apply again.", now.Interconnect.noun(), now.ID))
	case len(failed) > 0 && time.Since(hopeless) > grace,
		now.State == running && len(seen.Working) == 0 && !now.Complete() && watch.unchangedFor() > grace:
		return o.failure(ctx, now, fmt.Sprintf("The %s %s has %d of %d nodes, and OCI launches no more.",
			now.Interconnect.noun(), now.ID, now.CurrentSize, o.cluster.Size))
	}
	return nil
}

// failure gathers the reasons. That they cannot be read must not hide that the operation failed.
func (o *Operation) failure(ctx context.Context, now Cluster, what string) error {
	failure := &FailureError{What: what, Cluster: now}
	requests, err := o.clusters.workRequests(ctx, now, o.earlier)
	if err != nil {
		failure.What += fmt.Sprintf("\n\nWhy cannot be said: %v", err)
	}
	for _, w := range requests {
		if w.failed() {
			failure.WorkRequests = append(failure.WorkRequests, w)
		}
	}
	return failure
}

// watch follows what is seen over time, and reports it when it changes and once a minute.
type watch struct {
	report           func(Progress)
	begun, told, was time.Time // was: when the last change was seen
	state            string
	size             int
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
	changed := c.State != w.state || c.CurrentSize != w.size
	if changed {
		w.state, w.size, w.was = c.State, c.CurrentSize, now
	}
	if changed || now.Sub(w.told) >= time.Minute {
		w.told = now
		w.report(p)
	}
}

// unchangedFor says for how long nothing has changed.
func (w *watch) unchangedFor() time.Duration { return time.Since(w.was) }

// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operation is a change of a cluster whose first step OCI has accepted and works on.
type Operation struct {
	clusters *Clusters
	cluster  Cluster // as it shall be in the end
	change   Change  // names the nodes that go
	step     step
	rolling  rolling
	singles  singles
	// obsolete configurations go when nothing uses them any more.
	obsolete []string
	accepted Accepted
}

// step is what OCI has been asked for and is to be waited for, before anything else is asked for.
type step struct {
	size    int      // of the cluster, once reached
	leaving []string // nodes that are there no more, once reached
	// refused is why a node may not be leaving, although it should.
	refused error
	// grows says that nodes are launched, so that a lack of them is this step's failure.
	grows bool
	// earlier work requests say nothing about this step.
	earlier map[string]bool
}

// Cluster is what the operation works on, as it shall be.
func (o *Operation) Cluster() Cluster { return o.cluster }

// Wait carries the operation through until the cluster is as it shall be with all its nodes, and gives it
// as last seen, also beside an error. The error is a [FailureError] when OCI gave up, and the context's
// when that ended first. Report, if any, is told of every change and once a minute.
func (o *Operation) Wait(ctx context.Context, report func(Progress)) (Cluster, error) {
	last := o.cluster
	last.State, last.CurrentSize = "", 0
	watch := newWatch(report)
	for {
		members, err := o.reach(ctx, watch, &last)
		if err != nil {
			return last, o.stopped(ctx, last, fmt.Errorf("wait for the %s: %w", last.Interconnect.noun(), err))
		}
		begun, err := o.next(ctx, last, members)
		if err != nil {
			return last, o.stopped(ctx, last, err)
		}
		if !begun {
			return last, nil
		}
		watch.expect()
	}
}

// reach waits for the step under way, and gives the nodes that there are then. Last takes the cluster as
// it was last seen.
func (o *Operation) reach(ctx context.Context, watch *watch, last *Cluster) ([]Node, error) {
	var members []Node
	var hopeless time.Time // since when a work request says that the nodes will not come
	err := o.clusters.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		now, err := o.clusters.group(o.cluster.Interconnect).get(ctx, o.cluster.ID)
		if KindOf(err) == NotFound {
			return false, o.notFound(watch, err)
		}
		if err != nil {
			return false, err
		}
		now.Launch = o.cluster.Launch
		now.Placement.SubnetID = o.cluster.Placement.SubnetID // A compute cluster does not tell it.
		o.cluster.PoolID = cmp.Or(o.cluster.PoolID, now.PoolID)
		*last = now
		if err := o.advance(ctx, now); err != nil {
			return false, err
		}
		seen := Progress{Cluster: now, Wanted: o.step.size, Replaced: o.rolling.replaced, Stale: o.rolling.stale}
		var done bool
		if members, done, err = o.reached(ctx, &seen); err != nil {
			return false, err
		}
		if done {
			watch.see(ctx, seen)
			return true, nil
		}
		failed, err := o.look(ctx, &seen)
		if err != nil {
			return false, err
		}
		watch.see(ctx, seen)
		if len(failed) > 0 && hopeless.IsZero() {
			hopeless = time.Now()
		}
		return false, o.verdict(ctx, seen, members, watch, hopeless)
	})
	return members, err
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

// reached says whether the cluster and each of its nodes are as the step shall bring them about. The
// nodes are looked at only when the cluster itself looks complete.
func (o *Operation) reached(ctx context.Context, seen *Progress) ([]Node, bool, error) {
	now := seen.Cluster
	if !now.Complete() {
		return nil, false, nil
	}
	members, err := o.clusters.members(ctx, now)
	if err != nil {
		return nil, false, err
	}
	for _, m := range members {
		if m.State == running {
			seen.Ready++
		}
	}
	return members, o.asked(now) && seen.Ready == now.Size && len(members) == now.Size && len(among(members, o.step.leaving)) == 0, nil
}

// asked says that OCI's record is what the step asks for.
func (o *Operation) asked(now Cluster) bool {
	return now.Size == o.step.size && now.ConfigurationID == o.cluster.ConfigurationID
}

// look reads what the operation's work requests report, and gives those that say that nodes will not come.
func (o *Operation) look(ctx context.Context, seen *Progress) (failed []WorkRequest, err error) {
	requests, err := o.clusters.workRequests(ctx, seen.Cluster, o.step.earlier)
	if err := unlessUnseen(err); err != nil {
		return nil, err
	}
	for _, w := range requests {
		if w.unfinished() {
			seen.Working = append(seen.Working, w)
		}
		if o.step.grows && w.kind() != Other {
			failed = append(failed, w)
		}
	}
	return failed, nil
}

// verdict says whether there is still something to wait for.
func (o *Operation) verdict(ctx context.Context, seen Progress, members []Node, watch *watch, hopeless time.Time) error {
	now := seen.Cluster
	name := now.Interconnect.noun() + " " + now.ID
	late := watch.unchangedFor() > o.clusters.Grace
	idle := late && now.State == running && len(seen.Working) == 0
	switch {
	case now.State == terminated:
		return o.failure(ctx, now, fmt.Sprintf("OCI ended the %s: it is %s.", name, now.State))
	case now.State == terminating && late:
		return o.failure(ctx, now, fmt.Sprintf("The %s is being terminated by OCI or by somebody else.", name))
	case now.State == stopped && late:
		return &FailureError{Cluster: now, What: fmt.Sprintf("The %s is stopped. Start it, or its nodes, then apply again.", name)}
	case o.fellShort(now), late && !hopeless.IsZero() && time.Since(hopeless) > o.clusters.Grace, idle && !now.Complete():
		return o.failure(ctx, now, fmt.Sprintf("The %s has %d of %d nodes, and OCI launches no more.", name, now.CurrentSize, o.step.size)+o.idleNodes(ctx, now))
	case idle && !o.asked(now) && now.Interconnect != ComputeCluster: // which has no size of its own
		return &FailureError{Cluster: now, Accepted: o.accepted, What: fmt.Sprintf("Somebody else has changed the %s meanwhile: "+
			"its size is %d, not %d, or it has another instance configuration. Apply again to have it as configured.", name, now.Size, o.step.size)}
	case idle && len(among(members, o.step.leaving)) > 0:
		if o.step.refused != nil {
			return o.step.refused
		}
		return o.failure(ctx, now, fmt.Sprintf("OCI has not taken the node %s out of the %s.", among(members, o.step.leaving)[0].ID, name))
	}
	return nil
}

// idleNodes tells of nodes that are there but do not run, which may be all that is wrong.
func (o *Operation) idleNodes(ctx context.Context, now Cluster) string {
	members, err := o.clusters.members(ctx, now)
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, m := range members {
		if m.State != running {
			fmt.Fprintf(&text, "\nThe node %s (%s) is %s.", m.DisplayName, m.ID, m.State)
		}
	}
	return text.String()
}

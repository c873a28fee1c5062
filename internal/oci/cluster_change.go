// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// ErrGone says that a cluster does not exist (any more).
var ErrGone = errors.New("the cluster does not exist")

// Create makes the instance configuration and the cluster, and returns as soon as OCI has accepted both:
// what then exists is in the operation's Cluster, to be recorded before [Operation.Wait].
//
// When OCI refuses the cluster, the configuration is taken away again; if even that fails, the cluster
// that is returned beside the error names it. When there is such a cluster already, it gives an
// [OrphanError].
func (s *Clusters) Create(ctx context.Context, spec Spec) (*Operation, Cluster, error) {
	if err := s.sweep(ctx, spec); err != nil {
		return nil, Cluster{}, err
	}
	spec.Token = uuid.NewString()
	configurationID, err := s.createConfiguration(ctx, spec)
	if err != nil {
		return nil, Cluster{}, err
	}
	operation := &Operation{clusters: s}
	c, err := s.createGroup(operation.accepted.note(ctx), spec, configurationID)
	if err == nil {
		c.Launch = spec.Launch
		operation.cluster, operation.step = c, step{size: c.Size, grows: true}
		return operation, c, nil
	}
	ctx, cancel := s.Afterwards(ctx)
	defer cancel()
	if left := s.deleteConfiguration(ctx, configurationID); left != nil {
		return nil, Cluster{ConfigurationID: configurationID, Spec: spec}, fmt.Errorf("%w\n\nIts instance configuration is left: %w", err, left)
	}
	return nil, Cluster{}, err
}

// createGroup makes the cluster network or pool. When the answer got lost, the token tells whether there
// is one; lists may show it a little later.
func (s *Clusters) createGroup(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	if ctx.Err() != nil {
		return Cluster{}, ctx.Err() // Nothing was sent, so that there is nothing to look for.
	}
	g := s.group(spec.Interconnect)
	c, err := g.create(ctx, spec, configurationID)
	if err == nil {
		return c.asAsked(spec, configurationID), nil
	}
	verb := "create"
	if spec.Placement.ComputeClusterID != "" {
		verb = "adopt"
	}
	err = fmt.Errorf("%s the %s: %w", verb, spec.Interconnect.noun(), err)
	if declined(err) || verb == "adopt" { // which changes nothing that could be lost
		return Cluster{}, err
	}
	ctx, cancel := s.Afterwards(ctx)
	defer cancel()
	var found *Cluster
	unseen := s.Waiter.Until(ctx, func(ctx context.Context) (done bool, err error) {
		found, err = g.find(ctx, spec)
		return found != nil, err
	})
	if unseen != nil {
		return Cluster{}, err
	}
	return found.asAsked(spec, configurationID), nil
}

// declined says that OCI has answered that it does not do what it was asked for.
func declined(err error) bool {
	switch KindOf(err) {
	case Unreachable, Unavailable, Interrupted, TimedOut:
		return false
	case Other: // such as an answer that cannot be read
		_, answered := serviceError(err)
		return answered
	default:
		return true
	}
}

// asAsked completes a cluster that OCI has accepted, and may not show as a whole yet.
func (c Cluster) asAsked(spec Spec, configurationID string) Cluster {
	c.ConfigurationID, c.Size = configurationID, spec.Size
	c.Placement.AvailabilityDomain, c.Placement.SubnetID = spec.Placement.AvailabilityDomain, spec.Placement.SubnetID
	return c
}

func (i Interconnect) noun() string {
	switch i {
	case ClusterNetwork:
		return "cluster network"
	case ComputeCluster:
		return "compute cluster"
	default:
		return "instance pool"
	}
}

// Afterwards is the context for what must still be done when an operation ends early.
func (s *Clusters) Afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.CleanUp)
}

// Change is what an update of a cluster shall bring about.
type Change struct {
	// Want is the cluster as it shall be. Placement and interconnect cannot change and are not looked at.
	Want Spec
	// Managed are the tags that the user has set before. Tags that Want leaves out, but that are not among
	// them either, are somebody else's and stay.
	Managed Tags
	// Relaunch says that nodes are launched differently from now on, tags aside: a new configuration takes
	// the place of the old one. New tags are set on running nodes as well, and need no Relaunch.
	Relaunch bool
	// Remove and Replace name nodes by OCID. Those that are no longer there are no error. Removed ones are
	// the first to go when the cluster shrinks; replaced ones leave the size as it is.
	Remove, Replace []string
	// MaxUnavailable is how many nodes that were launched otherwise than Want says are replaced at a time,
	// until none is left; 0 leaves them as they are.
	MaxUnavailable int
	// ReportUnhealthy tags nodes in Remove and Replace for Oracle's host repair before they are terminated.
	ReportUnhealthy bool
}

// RemovalError says that more nodes are named for removal than the cluster shall lose. Nothing was done.
type RemovalError struct {
	// Named nodes that are there, and by how many the cluster shall become smaller.
	Named, Fewer int
}

func (e *RemovalError) Error() string {
	return fmt.Sprintf("the number of its nodes that are named for removal is %d, but its size becomes smaller by %d: "+
		"lower the size to what is left without them, or have them replaced instead", e.Named, max(0, e.Fewer))
}

// Update makes a cluster as wanted, or continues to, and returns as soon as OCI has accepted the first
// step; [Operation.Wait] carries it through.
func (s *Clusters) Update(ctx context.Context, id string, change Change) (*Operation, error) {
	current, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if current.ConfigurationID == "" { // Somebody has deleted it.
		change.Relaunch = true
		current.Placement.SubnetID = change.Want.Placement.SubnetID
	}
	operation := s.toward(current, change)
	target := operation.cluster
	changes := change.Relaunch || current.differs(target)
	if !changes && len(change.Remove)+len(change.Replace) == 0 {
		return operation, operation.resume(ctx, current)
	}
	if current, err = s.settle(ctx, current); err != nil {
		return nil, err
	}
	members, err := s.members(ctx, current)
	if err != nil {
		return nil, err
	}
	if current.State == running && len(members) == current.Size {
		current.CurrentSize = current.Size // One that is stopped has its place; another size would bring no node.
	}
	switch named, fewer := len(among(members, change.Remove)), current.Size-target.Size; {
	case named > 0 && named > fewer:
		return nil, &RemovalError{Named: named, Fewer: fewer}
	case named > 0:
		target.Size = current.Size // until they are gone
	case current.State == running && fewer == 0 && len(members) == current.CurrentSize:
		target.Size = current.CurrentSize // OCI has stopped trying. Only another size makes it try again.
	}
	if change.ReportUnhealthy {
		if err := s.reportUnhealthy(ctx, among(members, slices.Concat(change.Remove, change.Replace))); err != nil {
			return nil, err
		}
	}
	if changes = change.Relaunch || current.differs(target); !changes {
		_, err = operation.next(ctx, current, members)
		return operation, err
	}
	if !current.tags().equal(target.tags()) {
		if err := s.retagNodes(ctx, current, members, change); err != nil {
			return nil, err
		}
	}
	return operation, operation.configure(ctx, current, target)
}

// toward gives the operation that makes a cluster as wanted.
func (s *Clusters) toward(current Cluster, change Change) *Operation {
	target, want := current, change.Want
	target.DisplayName, target.Size, target.Launch = want.DisplayName, want.Size, want.Launch
	tags := change.Managed.apply(current.tags(), want.tags())
	target.FreeformTags, target.DefinedTags = tags.Freeform, tags.Defined
	return &Operation{
		clusters: s, cluster: target, change: change,
		step: step{size: target.Size, grows: !current.Complete()},
	}
}

// resume carries on with what OCI works on already. What had failed before that began says nothing about it.
func (o *Operation) resume(ctx context.Context, now Cluster) (err error) {
	if !now.Complete() {
		o.step.earlier, err = o.clusters.supersededIDs(ctx, now)
	}
	return unlessUnseen(err)
}

// differs says whether OCI must be told of the target, or has all of it already.
func (c Cluster) differs(target Cluster) bool {
	short := c.State == running && c.CurrentSize != target.Size // it stopped trying
	return short || c.Size != target.Size || c.DisplayName != target.DisplayName ||
		!c.tags().equal(target.tags())
}

// send updates the group. A cluster that is just beginning to move answers 409, so it gets the time that
// the context leaves; unless it moves because of this very update, whose answer got lost.
func (s *Clusters) send(ctx context.Context, target Cluster) error {
	g := s.group(target.Interconnect)
	return s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		err := g.update(ctx, target)
		if !busy(err) {
			return err == nil, err
		}
		now, err := g.get(ctx, target.ID)
		if target.DefinedTags == nil { // They were not sent.
			now.DefinedTags = nil
		}
		return err == nil && now.State != running && now.ConfigurationID == target.ConfigurationID && !now.differs(target), err
	})
}

// settle waits until a cluster that is still moving can be changed. One that cannot get its nodes never
// stops moving, but may well be made smaller. A compute cluster can be changed at any time.
func (s *Clusters) settle(ctx context.Context, c Cluster) (Cluster, error) {
	if c.State == running || c.Interconnect == ComputeCluster {
		return c, nil
	}
	moving := &Operation{clusters: s, cluster: c, step: step{size: c.Size, grows: true}}
	settled, err := moving.Wait(ctx, nil)
	var failure *FailureError
	if errors.As(err, &failure) && !slices.Contains([]string{stopped, terminating, terminated}, settled.State) {
		return c, nil
	}
	return settled, err
}

// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"
)

// ErrGone says that a cluster does not exist (any more).
var ErrGone = errors.New("the cluster does not exist")

// Create makes the instance configuration and the cluster, and returns as soon as OCI has accepted both:
// what then exists is in the operation's Cluster, to be recorded before [Operation.Wait].
//
// When OCI refuses the cluster, the configuration is taken away again; if even that fails, the cluster
// that is returned beside the error names it.
func (s *Clusters) Create(ctx context.Context, spec Spec) (*Operation, Cluster, error) {
	spec.Token = uuid.NewString()
	configurationID, err := s.createConfiguration(ctx, spec)
	if err != nil {
		return nil, Cluster{}, err
	}
	c, err := s.createGroup(ctx, spec, configurationID)
	if err == nil {
		c.Launch = spec.Launch
		return &Operation{clusters: s, cluster: c, grows: true}, c, nil
	}
	ctx, cancel := s.Afterwards(ctx)
	defer cancel()
	if left := s.deleteConfiguration(ctx, configurationID); left != nil {
		return nil, Cluster{ConfigurationID: configurationID, Spec: spec}, errors.Join(err, left)
	}
	return nil, Cluster{}, err
}

// createGroup makes the cluster network or pool. When the answer got lost, the token tells whether there
// is one.
func (s *Clusters) createGroup(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	g := s.group(spec.Interconnect)
	c, err := g.create(ctx, spec, configurationID)
	if err == nil {
		return c, nil
	}
	err = fmt.Errorf("create the %s: %w", spec.Interconnect.noun(), err)
	switch KindOf(err) {
	case Unreachable, Unavailable, Interrupted, TimedOut:
	default:
		return Cluster{}, err // refused
	}
	ctx, cancel := s.Afterwards(ctx)
	defer cancel()
	if found, _ := g.find(ctx, spec); found != nil {
		return *found, nil
	}
	return Cluster{}, err
}

func (i Interconnect) noun() string {
	if i == ClusterNetwork {
		return "cluster network"
	}
	return "instance pool"
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
	// Relaunch says that nodes are launched differently from now on: a new configuration takes the place
	// of the old one.
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

// Update makes a cluster as wanted, or continues to, and returns as soon as OCI has accepted the change;
// [Operation.Wait] carries it through.
func (s *Clusters) Update(ctx context.Context, id string, change Change) (*Operation, error) {
	want, managed, relaunch := change.Want, change.Managed, change.Relaunch
	current, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	target := current
	target.DisplayName, target.Size, target.Launch = want.DisplayName, want.Size, want.Launch
	target.FreeformTags, target.DefinedTags = managed.apply(current.Spec, want)

	if !relaunch && !current.differs(target) {
		return &Operation{clusters: s, cluster: target, grows: !current.Complete()}, nil
	}
	if current, err = s.settle(ctx, current); err != nil {
		return nil, err
	}
	earlier, err := s.workRequestIDs(ctx, current)
	if err != nil {
		return nil, err
	}
	operation := &Operation{clusters: s, cluster: target, earlier: earlier, grows: target.Size > current.CurrentSize}
	if relaunch {
		want.Token = current.Token
		if target.ConfigurationID, err = s.createConfiguration(ctx, want); err != nil {
			return nil, err
		}
		operation.cluster = target
	}
	if reflect.DeepEqual(current.DefinedTags, target.DefinedTags) {
		target.DefinedTags = nil // To repeat tags that others have set may not be allowed to this user.
	}
	if err := s.send(ctx, target); err != nil {
		err = fmt.Errorf("change the %s: %w", target.Interconnect.noun(), err)
		if relaunch {
			ctx, cancel := s.Afterwards(ctx)
			defer cancel()
			err = errors.Join(err, s.deleteConfiguration(ctx, target.ConfigurationID))
		}
		return nil, err
	}
	if relaunch {
		operation.obsolete = []string{current.ConfigurationID}
	}
	return operation, nil
}

// differs says whether OCI must be told of the target, or has all of it already.
func (c Cluster) differs(target Cluster) bool {
	short := c.State == running && c.CurrentSize != target.Size // it stopped trying
	return short || c.Size != target.Size || c.DisplayName != target.DisplayName ||
		!maps.Equal(c.FreeformTags, target.FreeformTags) || !reflect.DeepEqual(c.DefinedTags, target.DefinedTags)
}

// send updates the group. A cluster that is just beginning to move answers 409, so it gets the time that
// the context leaves.
func (s *Clusters) send(ctx context.Context, target Cluster) error {
	return s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		err := s.group(target.Interconnect).update(ctx, target)
		if service, ok := serviceError(err); ok && service.GetCode() == "IncorrectState" {
			return false, nil
		}
		return err == nil, err
	})
}

// settle waits until a cluster that is still moving can be changed. One that cannot get its nodes never
// stops moving, but may well be made smaller.
func (s *Clusters) settle(ctx context.Context, c Cluster) (Cluster, error) {
	if c.State == running {
		return c, nil
	}
	moving := &Operation{clusters: s, cluster: c, grows: true}
	settled, err := moving.Wait(ctx, nil)
	var failure *FailureError
	if errors.As(err, &failure) && settled.State != terminated {
		return c, nil
	}
	return settled, err
}

// Delete terminates a cluster, waits until it is gone, and removes every configuration that was made for
// it. It needs the cluster's ID, CompartmentID and ConfigurationID; one that is empty names nothing. What
// is gone already is no error.
func (s *Clusters) Delete(ctx context.Context, c Cluster, report func(Progress)) error {
	last, err := s.terminate(ctx, c, report)
	if err != nil {
		return err
	}
	obsolete := []string{c.ConfigurationID, last.ConfigurationID}
	last.CompartmentID, last.ConfigurationID = c.CompartmentID, ""
	return s.removeConfigurations(ctx, last, obsolete)
}

// removeConfigurations deletes the named configurations and those that carry the cluster's token, but not
// the one that the cluster uses.
func (s *Clusters) removeConfigurations(ctx context.Context, c Cluster, named []string) error {
	ids, err := s.configurations(ctx, c.CompartmentID, c.Token)
	ids = slices.Concat(ids, named)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if id != "" && id != c.ConfigurationID {
			err = errors.Join(err, s.deleteConfiguration(ctx, id))
		}
	}
	return err
}

// terminate asks for termination until it is seen to happen, and gives the cluster as last seen. Right
// after the request OCI may still show the old state, and a cluster that is being changed refuses it at
// first.
func (s *Clusters) terminate(ctx context.Context, c Cluster, report func(Progress)) (Cluster, error) {
	var last Cluster
	if c.ID == "" {
		return last, nil
	}
	interconnect, err := InterconnectOf(c.ID)
	if err != nil {
		return last, err
	}
	g := s.group(interconnect)
	watch := newWatch(report)
	sent := false
	err = s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		now, err := g.get(ctx, c.ID)
		if KindOf(err) == NotFound {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		last = now
		watch.see(ctx, Progress{Cluster: now})
		if now.State == terminated || now.State == terminating || sent && watch.unchangedFor() < s.Grace {
			return now.State == terminated, nil
		}
		switch err := g.terminate(ctx, c.ID); KindOf(err) {
		case NotFound:
			return true, nil
		case Conflict: // still moving
			return false, nil
		default:
			sent = err == nil
			return false, err
		}
	})
	if err != nil {
		return last, fmt.Errorf("terminate the %s %s: %w", interconnect.noun(), c.ID, err)
	}
	return last, nil
}

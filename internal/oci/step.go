// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// maxReleases is how many nodes are taken out at a time: OCI launches replacements in batches of about
// as many.
const maxReleases = 20

// next begins what is still to be done, once everything before is complete, and says whether there was
// anything.
func (o *Operation) next(ctx context.Context, now Cluster, members []Node) (begun bool, err error) {
	if nodes := among(members, o.change.Remove); len(nodes) > 0 {
		return true, o.release(ctx, now, nodes, false)
	}
	if now.Size != o.cluster.Size {
		return true, o.configure(ctx, now, o.cluster)
	}
	if nodes := among(members, o.change.Replace); len(nodes) > 0 {
		return true, o.release(ctx, now, nodes, true)
	}
	return o.roll(ctx, now, members)
}

// among gives the nodes whose OCIDs are in a list.
func among(nodes []Node, ids []string) []Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return !slices.Contains(ids, n.ID) })
}

// begin makes a step of what is asked for next.
func (o *Operation) begin(ctx context.Context, now Cluster, size int) error {
	earlier, err := o.clusters.workRequestIDs(ctx, now)
	if err := unlessUnseen(err); err != nil {
		return err
	}
	o.step = step{size: size, earlier: earlier}
	return nil
}

// configure makes OCI's record equal to the target. What the nodes to come are launched by cannot be
// changed, so that another launch or other tags need a new configuration.
func (o *Operation) configure(ctx context.Context, current, target Cluster) error {
	s := o.clusters
	if err := o.begin(ctx, current, target.Size); err != nil {
		return err
	}
	o.step.grows = target.Size > current.CurrentSize
	id, err := o.configuration(ctx, current, target)
	if err != nil {
		return err
	}
	o.cluster.ConfigurationID, target.ConfigurationID = id, id
	if current.DefinedTags.equal(target.DefinedTags) {
		target.DefinedTags = nil // To repeat tags that others have set may not be allowed to this user.
	}
	renewed := id != current.ConfigurationID
	if err := s.send(o.accepted.note(ctx), target); err != nil {
		err = fmt.Errorf("change the %s: %w", target.Interconnect.noun(), err)
		if renewed {
			ctx, cancel := s.Afterwards(ctx)
			defer cancel()
			err = errors.Join(err, s.deleteConfiguration(ctx, id))
		}
		return err
	}
	if renewed {
		o.obsolete = append(o.obsolete, current.ConfigurationID)
	}
	return nil
}

// configuration gives the OCID of what nodes are launched by from now on.
func (o *Operation) configuration(ctx context.Context, current, target Cluster) (string, error) {
	switch {
	case o.change.Relaunch:
		o.change.Relaunch = false
		want := o.change.Want
		want.Interconnect, want.Placement, want.Token = current.Interconnect, current.Placement, current.Token
		return o.clusters.createConfiguration(ctx, want)
	case !current.tags().equal(target.tags()):
		return o.clusters.retagConfiguration(ctx, current, o.change)
	}
	return current.ConfigurationID, nil
}

// release takes nodes out, with or without a replacement each: as many as OCI accepts at once. It may
// refuse the second while it is busy with the first.
func (o *Operation) release(ctx context.Context, now Cluster, nodes []Node, replace bool) error {
	if err := o.begin(ctx, now, now.Size); err != nil {
		return err
	}
	o.step.grows = replace
	for _, node := range nodes[:min(len(nodes), maxReleases)] {
		err := o.clusters.release(o.accepted.note(ctx), now, node.ID, replace, len(o.step.leaving) == 0)
		switch {
		case busy(err) && len(o.step.leaving) > 0:
			return nil
		case err == nil && !replace:
			o.step.size--
		case KindOf(err) == NotFound: // gone, most likely
			o.step.refused = err
		case err != nil:
			return err
		}
		o.step.leaving = append(o.step.leaving, node.ID)
	}
	return nil
}

// release takes one node out. The first one may have to wait until OCI is ready for it.
func (s *Clusters) release(ctx context.Context, c Cluster, nodeID string, replace, first bool) error {
	token := uuid.NewString() // of all repetitions, for the answer to the first may be lost
	err := s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		err := s.group(c.Interconnect).release(ctx, c, nodeID, replace, token)
		if first && busy(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("take the node %s out of the %s: %w", nodeID, c.Interconnect.noun(), err)
	}
	return nil
}

// busy says that a resource is just changing and refuses another change until it is done.
func busy(err error) bool {
	service, ok := serviceError(err)
	return ok && (service.GetCode() == "IncorrectState" || service.GetCode() == "LockConflict")
}

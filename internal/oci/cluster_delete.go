// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

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
	if last.Token == "" { // The cluster itself is not shown any more.
		if configuration, err := s.configuration(ctx, c.ConfigurationID); err != nil {
			return err
		} else if configuration != nil {
			last.Token = configuration.FreeformTags[MarkerTag]
		}
	}
	err = s.removeConfigurations(ctx, last, obsolete)
	if last.Token == "" && KindOf(err) == Conflict {
		return nil // It was not made here, and other pools use it.
	}
	return err
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
	var refused error // the last conflict
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
			refused = err
			return false, nil
		default:
			sent = err == nil
			return false, err
		}
	})
	switch {
	case err == nil:
		return last, nil
	case sent || last.State == terminating:
		return last, fmt.Errorf("wait until the %s %s is gone, which OCI goes on with; last seen it was %s with %d nodes: %w",
			interconnect.noun(), c.ID, last.State, last.CurrentSize, err)
	}
	if ctx.Err() != nil {
		err = endOf(ctx, refused)
	}
	return last, fmt.Errorf("terminate the %s %s: %w", interconnect.noun(), c.ID, err)
}

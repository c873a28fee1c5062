// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"maps"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// The defined tag by which a customer reports a bad host, so that Oracle repairs it before anybody gets it
// again. The host is known by the instance on it, so the tag is set before the instance is terminated.
const (
	hostActions = "ComputeInstanceHostActions"
	hostStatus  = "CustomerReportedHostStatus"
	unhealthy   = "unhealthy"
)

// ReportError says that a node could not be reported as unhealthy. No node was terminated.
type ReportError struct {
	NodeID string
	Err    error
}

func (e *ReportError) Error() string {
	return fmt.Sprintf("report the host of %s as unhealthy, before anything is terminated: %v\n\n"+
		"The report is the defined tag %s.%s = %s on the instance. The tenancy needs the tag namespace %s with the tag key %s "+
		"(a static value, or a list of values with %q in it), and this user a policy that allows to \"use tag-namespaces\" and to "+
		"\"manage instance-family\" in the compartment. Create what is missing, or switch the report off.",
		e.NodeID, e.Err, hostActions, hostStatus, unhealthy, hostActions, hostStatus, unhealthy)
}

func (e *ReportError) Unwrap() error { return e.Err }

// reportUnhealthy tags nodes for Oracle's host repair. Those that are gone meanwhile need no report.
func (s *Clusters) reportUnhealthy(ctx context.Context, nodes []Node) error {
	return each(nodes, func(n Node) error {
		if err := s.report(ctx, n.ID); err != nil {
			return &ReportError{NodeID: n.ID, Err: err}
		}
		return nil
	})
}

func (s *Clusters) report(ctx context.Context, id string) error {
	instance, err := read(ctx, s.Clients, s.Compute.GetInstance, core.GetInstanceRequest{InstanceId: &id})
	if KindOf(err) == NotFound {
		return nil
	}
	if err != nil || instance.DefinedTags[hostActions][hostStatus] == unhealthy {
		return err
	}
	tags := DefinedTags{}
	for space, pairs := range instance.DefinedTags {
		tags[space] = maps.Clone(pairs)
	}
	tags.set(hostActions, hostStatus, unhealthy)
	_, err = change(ctx, s.Clients, s.Compute.UpdateInstance, core.UpdateInstanceRequest{
		InstanceId: &id, IfMatch: instance.Etag, UpdateInstanceDetails: core.UpdateInstanceDetails{DefinedTags: tags},
	})
	return err
}

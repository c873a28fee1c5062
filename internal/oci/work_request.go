// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// WorkRequest is OCI's own account of an operation.
type WorkRequest struct {
	ID, Operation, Status string
	PercentComplete       float32
	Errors                []WorkRequestError
	// Logs are read unless the work request succeeded: some operations give the reason nowhere else.
	Logs []string
}

// WorkRequestError is one error that a work request reports.
type WorkRequestError struct{ Code, Message string }

func (w WorkRequest) unfinished() bool {
	return w.Status == string(workrequests.WorkRequestStatusAccepted) || w.Status == string(workrequests.WorkRequestStatusInProgress)
}

// failed says that the work request ended badly, or reports errors while it still runs.
func (w WorkRequest) failed() bool {
	return w.ended(workrequests.WorkRequestStatusFailed) || w.ended(workrequests.WorkRequestStatusCanceled) || len(w.Errors) > 0
}

func (w WorkRequest) ended(status workrequests.WorkRequestStatusEnum) bool {
	return w.Status == string(status)
}

// kind is Capacity or Limit when the work request says so, wherever it does.
func (w WorkRequest) kind() Kind {
	for _, e := range w.Errors {
		if kind := kindOfText(e.Code, e.Message); kind != Other {
			return kind
		}
	}
	for _, line := range w.Logs {
		if kind := kindOfText("", line); kind != Other {
			return kind
		}
	}
	return Other
}

// String gives the work request's own account, for people.
func (w WorkRequest) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Work request %s is %s (%s, %.0f %%):", w.Operation, w.Status, w.ID, w.PercentComplete)
	for _, e := range w.Errors {
		fmt.Fprintf(&text, "\n  error %s: %s", e.Code, e.Message)
	}
	for _, line := range w.Logs {
		fmt.Fprintf(&text, "\n  log: %s", line)
	}
	return text.String()
}

// workRequests gives what OCI did for a cluster, by its OCID and by its pool's, without the earlier ones;
// with errors and logs of each that is unfinished or failed. Those that succeeded cost no further call.
func (s *Clusters) workRequests(ctx context.Context, c Cluster, earlier map[string]bool) ([]WorkRequest, error) {
	summaries, err := s.workRequestSummaries(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []WorkRequest
	for _, summary := range summaries {
		w := workRequestOf(summary)
		if earlier[w.ID] || slices.ContainsFunc(all, func(other WorkRequest) bool { return other.ID == w.ID }) {
			continue
		}
		if err := s.fillWorkRequest(ctx, &w); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// workRequestSummaries gives all that OCI did for a cluster; what concerns both it and its pool, twice.
func (s *Clusters) workRequestSummaries(ctx context.Context, c Cluster) ([]workrequests.WorkRequestSummary, error) {
	var all []workrequests.WorkRequestSummary
	for _, resource := range c.accounts() {
		summaries, err := s.listWorkRequests(ctx, c.CompartmentID, resource)
		if err != nil {
			return nil, err
		}
		all = append(all, summaries...)
	}
	return all, nil
}

// accounts are the OCIDs under which OCI files what it does for a cluster. What it does for a compute
// cluster, it files under the nodes' OCIDs.
func (c Cluster) accounts() []string {
	if c.Interconnect == ComputeCluster {
		return nil
	}
	if c.PoolID == "" { // not shown yet, or any more
		return []string{c.ID}
	}
	return slices.Compact([]string{c.ID, c.PoolID})
}

// failedWorkRequest gives the account of why a node came to nothing; nil when there is none.
func (s *Clusters) failedWorkRequest(ctx context.Context, compartmentID, nodeID string) (*WorkRequest, error) {
	summaries, err := s.listWorkRequests(ctx, compartmentID, nodeID)
	if err != nil {
		return nil, err
	}
	for _, summary := range summaries {
		w := workRequestOf(summary)
		if err := s.fillWorkRequest(ctx, &w); err != nil {
			return nil, err
		}
		if w.failed() {
			return &w, nil
		}
	}
	return nil, nil
}

func workRequestOf(summary workrequests.WorkRequestSummary) WorkRequest {
	return WorkRequest{
		ID:              value(summary.Id),
		Operation:       value(summary.OperationType),
		Status:          string(summary.Status),
		PercentComplete: value(summary.PercentComplete),
	}
}

// workRequestIDs gives the work requests that a cluster has had so far.
func (s *Clusters) workRequestIDs(ctx context.Context, c Cluster) (map[string]bool, error) {
	ids := map[string]bool{}
	summaries, err := s.workRequestSummaries(ctx, c)
	for _, summary := range summaries {
		ids[value(summary.Id)] = true
	}
	return ids, err
}

// supersededIDs gives the work requests that had ended when the first of those that are under way was accepted:
// another change has brought these about. Without one under way, none is superseded.
func (s *Clusters) supersededIDs(ctx context.Context, c Cluster) (map[string]bool, error) {
	summaries, err := s.workRequestSummaries(ctx, c)
	if err != nil {
		return nil, err
	}
	var begun time.Time
	for _, summary := range summaries {
		accepted := value(summary.TimeAccepted).Time
		if workRequestOf(summary).unfinished() && (begun.IsZero() || accepted.Before(begun)) {
			begun = accepted
		}
	}
	ids := map[string]bool{}
	for _, summary := range summaries {
		if !workRequestOf(summary).unfinished() && value(summary.TimeAccepted).Before(begun) {
			ids[value(summary.Id)] = true
		}
	}
	return ids, nil
}

func (s *Clusters) listWorkRequests(ctx context.Context, compartmentID, resource string) ([]workrequests.WorkRequestSummary, error) {
	all, err := collect(pages(func(page *string) ([]workrequests.WorkRequestSummary, *string, error) {
		response, err := read(ctx, s.Clients, s.WorkRequest.ListWorkRequests, workrequests.ListWorkRequestsRequest{
			CompartmentId: &compartmentID, ResourceId: &resource, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}))
	if err != nil {
		return nil, fmt.Errorf("list the work requests of %s: %w", resource, err)
	}
	return all, nil
}

func (s *Clusters) fillWorkRequest(ctx context.Context, w *WorkRequest) error {
	if w.ended(workrequests.WorkRequestStatusSucceeded) {
		return nil
	}
	for e, err := range pages(func(page *string) ([]workrequests.WorkRequestError, *string, error) {
		response, err := read(ctx, s.Clients, s.WorkRequest.ListWorkRequestErrors, workrequests.ListWorkRequestErrorsRequest{
			WorkRequestId: &w.ID, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return fmt.Errorf("read the errors of work request %s: %w", w.ID, err)
		}
		w.Errors = append(w.Errors, WorkRequestError{Code: value(e.Code), Message: value(e.Message)})
	}
	for entry, err := range pages(func(page *string) ([]workrequests.WorkRequestLogEntry, *string, error) {
		response, err := read(ctx, s.Clients, s.WorkRequest.ListWorkRequestLogs, workrequests.ListWorkRequestLogsRequest{
			WorkRequestId: &w.ID, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return fmt.Errorf("read the log of work request %s: %w", w.ID, err)
		}
		w.Logs = append(w.Logs, value(entry.Message))
	}
	return nil
}

// unlessUnseen passes over work requests that this user may not see, or that are purged: the cluster itself tells
// how far it is.
func unlessUnseen(err error) error {
	if kind := KindOf(err); kind == NotFound || kind == Forbidden {
		return nil
	}
	return err
}

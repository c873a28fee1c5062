// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// FailureError says that OCI ended an operation without reaching its goal, and why.
type FailureError struct {
	What string
	// Cluster as it was last seen.
	Cluster Cluster
	// WorkRequests that failed or reported errors.
	WorkRequests []WorkRequest
	// Refusals are the reasons why single nodes are missing.
	Refusals []Refusal
	// Accepted is the last change that OCI has accepted before.
	Accepted Accepted
	// sought says that the reasons were looked for.
	sought bool
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
	for _, r := range e.Refusals {
		text.WriteString("\n\n" + r.String())
	}
	if e.sought && len(e.WorkRequests)+len(e.Refusals) == 0 {
		text.WriteString("\n\nNo work request says why.")
	}
	if e.Accepted.RequestID != "" {
		text.WriteString("\n\nThe last change that OCI accepted:\n  Request ID: " + e.Accepted.RequestID)
	}
	if e.Accepted.WorkRequestID != "" {
		text.WriteString("\n  Work request: " + e.Accepted.WorkRequestID)
	}
	return text.String()
}

func (e *FailureError) kind() Kind {
	for _, w := range e.WorkRequests {
		if kind := w.kind(); kind != Other {
			return kind
		}
	}
	for _, r := range e.Refusals {
		if r.Kind != Other {
			return r.Kind
		}
	}
	return Other
}

// failure gathers the reasons. That they cannot be read must not hide that the operation failed.
func (o *Operation) failure(ctx context.Context, now Cluster, what string) error {
	failure := &FailureError{What: what, Cluster: now, Accepted: o.accepted, sought: true}
	requests, err := o.clusters.workRequests(ctx, now, o.step.earlier)
	refusals, nodesErr := o.refusals(ctx)
	failure.Refusals = refusals
	if err = errors.Join(err, nodesErr); err != nil {
		failure.What += fmt.Sprintf("\n\nWhy cannot be said: %v", err)
	}
	for _, w := range requests {
		if w.failed() || w.kind() != Other {
			failure.WorkRequests = append(failure.WorkRequests, w)
		}
	}
	return failure
}

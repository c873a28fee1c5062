// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"

	"github.com/oracle/oci-go-sdk/v65/common"
)

// Accepted is a change that OCI has accepted, as its support finds it again. Work requests that fail name
// no request.
type Accepted struct {
	RequestID     string // opc-request-id
	WorkRequestID string // opc-work-request-id; empty for changes without one
}

// noting is the key under which a context carries where to note the last accepted change.
type noting struct{}

// note makes the changes that are sent with the context known to an operation, the last of them.
func (a *Accepted) note(ctx context.Context) context.Context {
	return context.WithValue(ctx, noting{}, a)
}

// accepted notes the answer to a change.
func accepted(ctx context.Context, response any) {
	into, ok := ctx.Value(noting{}).(*Accepted)
	answer, answered := response.(common.OCIResponse)
	if !ok || !answered {
		return
	}
	if raw := answer.HTTPResponse(); raw != nil { //nolint:bodyclose // The SDK has read and closed it.
		*into = Accepted{RequestID: raw.Header.Get("opc-request-id"), WorkRequestID: raw.Header.Get("opc-work-request-id")}
	}
}

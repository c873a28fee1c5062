// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/common"
)

// callContext is the key under which a call's own context travels to the network.
type callContext struct{}

// hidden gives a context for the SDK that does not end, and has the call's own one inside for
// [interruptible]. When the context that it knows ends, the SDK returns a response that another of its
// goroutines still writes (common.Retry of v65.129.0).
func hidden(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), callContext{}, ctx)
}

// interruptible ends a request with the context of its call.
type interruptible struct{ next common.HTTPRequestDispatcher }

func (d interruptible) Do(r *http.Request) (*http.Response, error) {
	if ctx, ok := r.Context().Value(callContext{}).(context.Context); ok {
		r = r.WithContext(ctx) //nolint:contextcheck // The call's own, which the SDK has only carried.
	}
	return d.next.Do(r)
}

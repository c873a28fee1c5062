// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// parallelCalls is how many calls for single nodes are under way at a time: enough for thousands of nodes,
// and few enough for OCI's throttling.
const parallelCalls = 8

// each does something with every item, several at a time, until one fails.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelCalls)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// changes counts what is being created, changed or deleted at this moment.
type changes struct{ sync.WaitGroup }

// exitWithParent ends this process once Terraform is gone, which otherwise tells it to. A Terraform that was
// killed has cancelled all changes by that; they are let end in order.
func (c *changes) exitWithParent() {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(time.Second)
	}
	c.Wait()
	os.Exit(1)
}

// counted is a provider server whose changes are counted.
type counted struct {
	tfprotov6.ProviderServer
	changes *changes
}

// ApplyResourceChange creates, changes or deletes a resource.
func (s counted) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	s.changes.Add(1)
	defer s.changes.Done()
	return s.ProviderServer.ApplyResourceChange(ctx, req)
}

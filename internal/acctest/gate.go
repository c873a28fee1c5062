// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Gate holds back the boot of instances, so that a test can act while a cluster is being made, however
// fast or slow the machine is. The zero Gate is open.
type Gate struct {
	lock   sync.Mutex
	closed chan struct{} // nil: open
}

var _ ocisim.Hosts = (*Gate)(nil)

// Close makes instances that boot from now on wait.
func (g *Gate) Close() {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// Open lets all instances boot.
func (g *Gate) Open() {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// Boot implements [ocisim.Hosts].
func (g *Gate) Boot(ctx context.Context, _ ocisim.Host) error {
	g.lock.Lock()
	closed := g.closed
	g.lock.Unlock()
	if closed == nil {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop implements [ocisim.Hosts].
func (g *Gate) Stop(context.Context, string) error { return nil }

// RemoveDisk implements [ocisim.Hosts].
func (g *Gate) RemoveDisk(context.Context, string) error { return nil }

// Remove implements [ocisim.Hosts].
func (g *Gate) Remove(context.Context, string) error { return nil }

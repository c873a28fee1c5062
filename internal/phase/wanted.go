// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// shared is what the nodes of a set-up share: the leave to download, and images.
type shared struct {
	*work
	ctx       context.Context // of nodes that give
	downloads chan struct{}   // one place a node that downloads

	lock   sync.Mutex
	images map[string]*spread // by reference
}

// ImageRequest is the first line that `ocihpc-runner give image` hears: an image, and whose engine has it.
type ImageRequest struct {
	ContainerRuntime job.ContainerRuntime `json:"container_runtime"`
	Image            string               `json:"image"`
}

// image is pulled by one node alone, and by those that cannot get it from another.
func (s *shared) image(reference string) (*spread, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if known := s.images[reference]; known != nil {
		return known, nil
	}
	if s.Job.Setup.ContainerRuntime == nil {
		return nil, errors.New("there is no container runtime to share an image of")
	}
	request, err := json.Marshal(ImageRequest{ContainerRuntime: *s.Job.Setup.ContainerRuntime, Image: reference})
	if err != nil {
		return nil, fmt.Errorf("encode the request for an image: %w", err)
	}
	each := cmp.Or(s.Job.Setup.MaxTransfers, defaultTransfers)
	s.images[reference] = newSpread(s.ctx, len(s.nodes), 1, each, nil, []string{"give", "image"}, append(request, '\n'))
	return s.images[reference], nil
}

// wait waits for the end of all nodes that give.
func (s *shared) wait() {
	for _, spread := range s.images {
		spread.wait()
	}
}

// wanted is what a node's running step wants from outside, in one session: leave to download, or a gift of another node.
type wanted struct {
	*setUpNode
	to io.Writer // the node

	answering sync.WaitGroup // at most one
	receiver  *receiver      // nil when the step wants nothing that nodes share
	leave     bool           // it has
}

// ask answers a node, as soon as there is something for it.
func (w *wanted) ask(ctx context.Context, m setup.Message) {
	w.answering.Wait()
	w.answering.Go(func() {
		line, err := w.answer(ctx, m)
		if err == nil {
			_, _ = io.WriteString(w.to, line+"\n") // a lost session gives all back
		}
	})
}

func (w *wanted) answer(ctx context.Context, m setup.Message) (string, error) {
	if m.Content != "" {
		gift, err := w.gift(ctx, m)
		if err != nil || gift != nil {
			return string(gift), err
		}
	}
	select {
	case w.shared.downloads <- struct{}{}:
		w.leave = true
		return setup.Grant, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// gift gives the line about another node that has what the node asks for; nil when it is to get that by itself.
func (w *wanted) gift(ctx context.Context, m setup.Message) ([]byte, error) {
	var failed error
	if m.Failed != "" {
		failed = errors.New(m.Failed)
	} else {
		spread, err := w.shared.image(m.Content)
		if err != nil {
			return nil, err
		}
		w.receiver = &receiver{spread: spread}
	}
	if w.receiver == nil {
		return nil, errors.New("the node tells of a failure before it has asked")
	}
	offer, err := w.receiver.next(ctx, failed)
	if err != nil || offer == nil {
		return nil, err
	}
	from := w.receiver.at
	return json.Marshal(setup.Gift{Offer: *offer, From: from.node.Name, Identity: from.identity})
}

// done takes back what a step had that has come to its end.
func (w *wanted) done(m setup.Message) {
	var failed error
	if m.Step.Outcome == job.StepFailed {
		failed = errors.New(m.Step.Message)
	}
	w.giveBack(m.Holds, failed)
}

// end takes back all that a session had.
func (w *wanted) end() { w.giveBack(nil, errors.New("the session has ended")) }

func (w *wanted) giveBack(holds *setup.Holding, failed error) {
	w.answering.Wait()
	if w.leave {
		w.leave = false
		<-w.shared.downloads
	}
	identity := ""
	if holds != nil {
		identity = holds.Identity
		if w.receiver == nil { // it was there
			if spread, err := w.shared.image(holds.Content); err == nil {
				spread.holds(w.node, identity)
			}
		}
	}
	if w.receiver != nil {
		if failed == nil && identity == "" {
			failed = errors.New("the node does not know what it has")
		}
		w.receiver.end(w.node, identity, failed)
		w.receiver = nil
	}
}

// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
)

// Answer is what a node said.
type Answer struct {
	Node   string
	Output []byte
	Err    error
}

// AskNodes runs a command of the runner on every node of the job but the first, where it runs itself, and gives what each
// said. The key in the job's directory is removed.
func AskNodes(ctx context.Context, c Config, arguments ...string) ([]Answer, error) {
	w := newWork(c)
	defer func() { _ = finishing{w}.Run(ctx) }() // what it cannot remove lies in the caller's directory
	var stop *Stop
	var said remark
	if err := (connect{w}).Run(ctx); err != nil && !errors.As(err, &said) && !errors.As(err, &stop) {
		return nil, err
	} else if stop != nil {
		return nil, fmt.Errorf("%w: %s", stop, stop.Failure.Advice)
	}
	others := w.nodes[1:]
	answers := make([]Answer, len(others))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, n := range others {
		group.Go(func() error {
			answers[i].Node = n.Name
			if n.unreachable != nil {
				answers[i].Err = errors.New(n.unreachable.Message)
				return nil
			}
			var out bytes.Buffer
			command := launch.Command{Argv: append([]string{n.at.Runner}, arguments...)}
			answers[i].Err = launch.Run(ctx, n.at.Host, n.at.Runner, command, &out, io.Discard)
			answers[i].Output = out.Bytes()
			return nil
		})
	}
	_ = group.Wait() // every failure is with its node
	return answers, nil
}

func newWork(c Config) *work {
	w := &work{Config: c}
	for _, n := range c.Job.Nodes {
		w.nodes = append(w.nodes, &nodeWork{Node: n, found: job.NodeResult{Name: n.Name, Address: n.Address, Checks: []job.Check{}}})
	}
	return w
}

// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ncclbuild"
)

// makeTestsDir makes the folder for nccl-tests that are built, as the login user: an engine would make it root's.
func (p prepare) makeTestsDir(ctx context.Context, n *nodeWork) (string, error) {
	out, err := p.testsCommand(ctx, n.at, "place", ncclbuild.Request{NCCLTestsSource: *p.Job.Benchmark.NCCLTestsSource, Key: "0"})
	if err != nil {
		return "", p.buildFailed(n, err)
	}
	n.tests = path.Dir(strings.TrimSpace(out))
	return "", nil
}

// haveTests has nccl-tests on all nodes in the same place: those that are there, or those that one node builds and hands on.
func (p prepare) haveTests(ctx context.Context) error {
	source := *p.Job.Benchmark.NCCLTestsSource
	there := !slices.ContainsFunc(p.nodes, func(n *nodeWork) bool {
		return n.found.Facts.NCCLTests == "" || n.found.Facts.NCCLTests != p.nodes[0].found.Facts.NCCLTests
	})
	if there && !source.Always {
		return nil
	}
	image := ""
	if c := p.Job.Benchmark.Container; c != nil {
		image = c.Image
	}
	facts := p.nodes[0].found.Facts
	r := ncclbuild.Request{NCCLTestsSource: source, Key: source.Key(facts.Arch, facts.OpenMPIVersion, image), OpenMPIBin: facts.OpenMPIBin}
	program, err := nccl.Program(p.Job.Benchmark.Collective)
	if err != nil {
		return err //nolint:wrapcheck // it names the collective
	}
	b := &building{prepare: p, request: r, program: program, identities: map[*nodeWork]string{}}
	if err := p.everywhere(ctx, b.find); err != nil {
		return err
	}
	giving, stop := context.WithCancel(ctx)
	text, err := json.Marshal(r)
	if err != nil {
		stop()
		return fmt.Errorf("encode the request: %w", err)
	}
	builders := 1
	if len(b.identities) > 0 {
		builders = 0
	}
	b.spread = newSpread(giving, len(p.nodes), builders, defaultTransfers, nil, []string{"give", "nccl-tests"}, append(text, '\n'))
	for n, identity := range b.identities {
		b.spread.holds(n, identity)
	}
	err = p.everywhere(ctx, b.get)
	stop()
	b.spread.wait()
	return err
}

// building is nccl-tests on their way to all nodes.
type building struct {
	prepare
	request ncclbuild.Request
	program string // its name
	spread  *spread

	lock       sync.Mutex
	identities map[*nodeWork]string // of the nodes that had them
}

// find asks a node for what an earlier job has left there.
func (b *building) find(ctx context.Context, n *nodeWork) (string, error) {
	identity, err := b.testsCommand(ctx, n.at, "find", b.request)
	if err != nil {
		return "", b.buildFailed(n, err)
	}
	if identity = strings.TrimSpace(identity); identity != "" {
		b.lock.Lock()
		defer b.lock.Unlock()
		b.identities[n] = identity
	}
	return "", nil
}

// get has a node get them: from another, or by building them.
func (b *building) get(ctx context.Context, n *nodeWork) (string, error) {
	dir := n.tests
	if n.inside != nil {
		dir = job.ContainerTests
	}
	n.found.Facts.NCCLTests = path.Join(dir, b.request.Key, b.program)
	if b.identities[n] != "" {
		return "nccl-tests were built before", nil
	}
	r := &receiver{spread: b.spread}
	var failed error
	for {
		offer, err := r.next(ctx, failed)
		if err != nil {
			return "", err
		}
		if offer == nil {
			identity, err := b.build(ctx, n)
			r.end(n, identity, err)
			if err != nil {
				return "", b.buildFailed(n, err)
			}
			if len(r.failures) > 0 {
				return "nccl-tests were built here, too, because " + errors.Join(r.failures...).Error(), nil
			}
			return "nccl-tests were built", nil
		}
		from := r.at
		if failed = b.take(ctx, n, *offer, from.identity); failed == nil {
			r.end(n, from.identity, nil)
			return "nccl-tests came from " + from.node.Name, nil
		}
		if ctx.Err() != nil {
			r.end(n, "", failed)
			return "", context.Cause(ctx)
		}
	}
}

// build fetches the source on the node, and builds it where the ranks run.
func (b *building) build(ctx context.Context, n *nodeWork) (string, error) {
	if _, err := b.testsCommand(ctx, n.at, "fetch", b.request); err != nil {
		return "", err
	}
	request := b.request
	if n.inside != nil {
		request.Dir = job.ContainerTests
	}
	identity, err := b.testsCommand(ctx, n.ranks(), "build", request)
	return strings.TrimSpace(identity), err
}

// take has a node take them from another. The token that lets it in is a secret, and goes by stdin.
func (b *building) take(ctx context.Context, n *nodeWork, offer handover.Offer, identity string) error {
	request, err := json.Marshal(b.request)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	line, err := json.Marshal(offer)
	if err != nil {
		return fmt.Errorf("encode the offer: %w", err)
	}
	lifeline, hold := io.Pipe()
	go func() { _, _ = hold.Write(append(line, '\n')) }() // a lost session says so itself
	var said bytes.Buffer
	err = launch.Converse(ctx, n.at.Host, n.at.Runner, []string{"nccl-tests", "take", "--request", string(request), "--identity", identity}, lifeline, hold, io.Discard, &said)
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// testsCommand runs `ocihpc-runner nccl-tests` on a node or in its container, and gives what it says.
func (p prepare) testsCommand(ctx context.Context, at launch.Node, command string, r ncclbuild.Request) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	var out, said bytes.Buffer
	err = at.Run(ctx, launch.Command{Argv: []string{at.Runner, "nccl-tests", command, "--request", string(text)}}, &out, &said)
	if err != nil {
		return "", errors.Join(errors.New(strings.TrimSpace(said.String())), err)
	}
	return out.String(), nil
}

func (p prepare) buildFailed(n *nodeWork, err error) error {
	message, advice, _ := strings.Cut(err.Error(), adviceMark)
	advice, _, _ = strings.Cut(advice, "\n") // the exit status follows
	return &Stop{job.CouldNotRun, job.Failure{
		Kind: "nccl_tests_not_built", Node: n.Name, Message: fmt.Sprintf("nccl-tests could not be built on %s: %s", n.Name, strings.TrimPrefix(message, "ocihpc-runner: ")),
		Advice: cmp.Or(advice, "see nccl_tests_source, and the node's network and disk"),
	}}
}

// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/container"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// heldContainers are those that run for the job. Each ends when the session that holds it does.
type heldContainers struct {
	lock    sync.Mutex
	cancel  []context.CancelFunc
	running sync.WaitGroup
}

// end takes all containers away, and waits for it.
func (h *heldContainers) end() {
	h.lock.Lock()
	for _, cancel := range h.cancel {
		cancel()
	}
	h.lock.Unlock()
	h.running.Wait()
}

// containerOf is the container of a node.
func (w *work) containerOf(n *nodeWork) container.Ranks {
	r := container.Ranks{Container: *w.Job.Benchmark.Container, Name: "ocihpc-" + w.Job.Key(), Runner: n.at.Runner}
	if w.Job.Benchmark.NCCLTestsSource != nil {
		r.Tests = n.tests
	}
	if n == w.nodes[0] {
		r.SocketDir = w.Dir.SocketDir()
	}
	return r
}

// enterContainer starts the container of a node, and looks at what it has.
func (p prepare) enterContainer(ctx context.Context, n *nodeWork) (string, error) {
	if n == p.nodes[0] {
		if err := os.MkdirAll(p.Dir.SocketDir(), 0o700); err != nil { // the container sees the folder that is there when it starts
			return "", fmt.Errorf("make the socket's folder: %w", err)
		}
	}
	text, err := json.Marshal(p.containerOf(n))
	if err != nil {
		return "", fmt.Errorf("encode the container: %w", err)
	}
	told, err := p.hold(ctx, n, string(text))
	if err != nil {
		return "", err
	}
	n.inside = &launch.Node{
		Host: n.at.Host, Runner: job.ContainerRunner, Enter: []string{n.at.Runner, "container", "enter", "--request", string(text), "--"},
	}
	const plenty = 1 << 30
	if facts := n.found.Facts; len(facts.HCAs) > 0 && told.MemlockBytes >= 0 && told.MemlockBytes < plenty {
		return "", &Stop{job.CouldNotRun, job.Failure{
			Kind: "memlock", Node: n.Name, Message: fmt.Sprintf("containers on %s may lock %d bytes of memory, and RDMA locks all that it transfers", n.Name, told.MemlockBytes),
			Advice: "let the engine's user lock memory without a limit (ocihpc_container_runtime does), log in anew, and leave ulimits of memlock out",
		}}
	}
	return p.lookInside(ctx, n)
}

// hold starts the session that holds the container of a node, and waits for the container.
func (p prepare) hold(ctx context.Context, n *nodeWork, request string) (container.Announcement, error) {
	var told container.Announcement
	holding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.containers.lock.Lock()
	p.containers.cancel = append(p.containers.cancel, cancel)
	p.containers.lock.Unlock()
	announced := make(chan error, 1)
	line := &firstLine{told: func(text string) {
		announced <- json.Unmarshal([]byte(text), &told)
	}}
	lifeline, end := io.Pipe()
	var said bytes.Buffer
	p.containers.running.Go(func() {
		err := launch.Converse(holding, n.at.Host, n.at.Runner, []string{"container", "hold", "--request", request}, lifeline, end, line, &said)
		select {
		case announced <- errors.Join(errors.New("it ended"), err): // too late for one that was announced
		default:
		}
	})
	select {
	case err := <-announced:
		if err == nil {
			return told, nil
		}
		cancel()
		message, advice, _ := strings.Cut(strings.TrimSpace(said.String()), adviceMark)
		return told, &Stop{job.CouldNotRun, job.Failure{
			Kind: "container_failed", Node: n.Name, Message: fmt.Sprintf("the container could not be started on %s: %s (%v)", n.Name, message, err), Advice: advice,
		}}
	case <-ctx.Done():
		cancel()
		return told, context.Cause(ctx)
	}
}

// adviceMark is between what happened and what to do, in what the runner says on a node.
const adviceMark = "; advice: "

// lookInside asks for Open MPI and nccl-tests in the container: those count in place of the node's own.
func (p prepare) lookInside(ctx context.Context, n *nodeWork) (string, error) {
	b := p.Job.Benchmark
	text, err := json.Marshal(node.Request{Address: n.Address, Collective: b.Collective, NCCLTestsDir: b.NCCLTestsDir, MPI: p.needsMPI()})
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	var out, messages bytes.Buffer
	command := launch.Command{Argv: []string{job.ContainerRunner, "check", "--request", string(text), "--output", "json"}}
	err = n.inside.Run(ctx, command, &out, &messages)
	var exit *remote.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Status != checkFailed) {
		return "", fmt.Errorf("look into the container on %s: %w: %s", n.Name, err, strings.TrimSpace(messages.String()))
	}
	var report node.Report
	if err := job.DecodeStrict(out.Bytes(), &report); err != nil {
		return "", fmt.Errorf("look into the container on %s: %w", n.Name, err)
	}
	facts := n.found.Facts
	if reason := report.Facts.Unknown["network_cidr"]; reason != "" && facts.NetworkCIDR != "" && p.needsMPI() {
		return "", &Stop{job.CouldNotRun, job.Failure{
			Kind: "container_network", Node: n.Name, Message: fmt.Sprintf("the container on %s does not have the node's network: %s", n.Name, reason),
			Advice: "a rootless engine may have a network of its own, which other nodes cannot reach: use Podman, a RootlessKit with detach-netns, or root's engine",
		}}
	}
	facts.OpenMPIBin, facts.OpenMPIVersion, facts.NCCLTests = report.Facts.OpenMPIBin, report.Facts.OpenMPIVersion, report.Facts.NCCLTests
	for _, c := range report.Checks {
		if c.Name == "nccl_tests" && b.NCCLTestsSource != nil {
			continue // they are built
		}
		if c.Outcome == job.Fail && (c.Name == "open_mpi" || c.Name == "nccl_tests") {
			return "", &Stop{job.CouldNotRun, job.Failure{
				Kind: c.Name + "_missing", Node: n.Name, Message: fmt.Sprintf("the image %s lacks what is needed: %s", b.Container.Image, c.Message), Advice: c.Advice,
			}}
		}
	}
	said := b.Container.Image + " runs"
	if facts.NCCLTests != "" {
		said += ", with " + facts.NCCLTests
	}
	if facts.OpenMPIVersion != "" {
		said += ", with Open MPI " + facts.OpenMPIVersion
	}
	return said, nil
}

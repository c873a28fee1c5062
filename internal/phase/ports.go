// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

// portsLimit bounds the trial of connections between all nodes.
const portsLimit = time.Minute

// checkPorts has nodes connect to each other, as MPI does: every node listens, and is tried from nodes 1, 2, 4,
// 8 … places before it. So each is tried by several, and the number of connections grows little faster than
// that of the nodes.
func (p check) checkPorts(ctx context.Context) {
	const name = "mpi_ports"
	var nodes []*nodeWork
	for _, n := range p.nodes {
		if n.unreachable == nil {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) < 2 || !p.health() || slices.Contains(p.Job.Checks.Skip, name) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, portsLimit)
	defer cancel()
	listening, stop := context.WithCancel(ctx)
	ports, ended := listenOn(listening, nodes)
	trials := connectAll(ctx, nodes, ports)
	stop()
	ended()
	for i, n := range nodes {
		n.found.Checks = append(n.found.Checks, node.CheckPorts(trials[i]))
	}
}

// listenOn has every node listen until the context ends, and gives their ports, 0 where one cannot. The function
// waits for their end.
func listenOn(ctx context.Context, nodes []*nodeWork) ([]int, func()) {
	ports := make([]int, len(nodes))
	var ready, running sync.WaitGroup
	for i, n := range nodes {
		ready.Add(1)
		told := sync.OnceFunc(ready.Done)
		running.Go(func() {
			defer told()
			port := &firstLine{told: func(text string) {
				ports[i], _ = strconv.Atoi(text) // 0: it did not tell a port
				told()
			}}
			command := launch.Command{Argv: []string{n.at.Runner, "check", "--listen"}}
			_ = launch.Run(ctx, n.at.Host, n.at.Runner, command, port, io.Discard) // without a port nobody tries
		})
	}
	ready.Wait()
	return ports, running.Wait
}

// firstLine hands on the first line that is written.
type firstLine struct {
	text bytes.Buffer
	told func(string)
}

func (f *firstLine) Write(p []byte) (int, error) {
	if f.told == nil {
		return len(p), nil
	}
	f.text.Write(p)
	if line, _, ended := strings.Cut(f.text.String(), "\n"); ended {
		f.told(line)
		f.told = nil
	}
	return len(p), nil
}

// connectAll gives for every node the trials of others to connect to it.
func connectAll(ctx context.Context, nodes []*nodeWork, ports []int) [][]node.Trial {
	trials := make([][]node.Trial, len(nodes))
	var writing sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, n := range nodes {
		group.Go(func() error {
			var addresses []string
			var targets []int
			for distance := 1; distance < len(nodes); distance *= 2 {
				target := (i + distance) % len(nodes)
				if ports[target] != 0 {
					targets = append(targets, target)
					addresses = append(addresses, net.JoinHostPort(nodes[target].Address, strconv.Itoa(ports[target])))
				}
			}
			if len(addresses) == 0 {
				return nil
			}
			connections, err := connectFrom(ctx, n, addresses)
			if err != nil {
				return nil // who cannot try says nothing of the others
			}
			writing.Lock()
			defer writing.Unlock()
			for k, target := range targets {
				trials[target] = append(trials[target], node.Trial{From: n.Name, Connection: connections[k]})
			}
			return nil
		})
	}
	_ = group.Wait() // it has no errors
	return trials
}

func connectFrom(ctx context.Context, n *nodeWork, addresses []string) ([]node.Connection, error) {
	var out bytes.Buffer
	command := launch.Command{Argv: []string{n.at.Runner, "check", "--output", "json", "--connect", strings.Join(addresses, ",")}}
	if err := launch.Run(ctx, n.at.Host, n.at.Runner, command, &out, io.Discard); err != nil {
		return nil, fmt.Errorf("connect from %s: %w", n.Name, err)
	}
	var connections []node.Connection
	if err := job.DecodeStrict(out.Bytes(), &connections); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", n.Name, err)
	}
	if len(connections) != len(addresses) {
		return nil, fmt.Errorf("%s tried %d connections of %d", n.Name, len(connections), len(addresses))
	}
	return connections, nil
}

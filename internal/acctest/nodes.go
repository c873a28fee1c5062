// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// Files that [Nodes] puts on the head node.
const (
	RunnerPath   = "/usr/local/bin/ocihpc-runner"
	NodesPath    = "/root/nodes.json" // a job file that names the nodes
	NodesKeyPath = "/root/nodes-key"  // logs in to the others as opc
)

// plainShape has neither GPUs nor local disks: its hosts cost least.
const plainShape = "VM.Standard3.Flex"

// Nodes are hosts of a lab for the runner alone: cloud-init, which would cost most of their start, is left out. The
// first is the head node.
type Nodes struct {
	*lab.Lab
	Nodes   []job.Node
	compute core.ComputeClient
	shape   string
}

// StartNodes starts a lab with a head node of a plain shape. The runner is a binary of this machine's.
func StartNodes(ctx context.Context, runner string) (*Nodes, error) {
	return StartNodesOf(ctx, runner, plainShape)
}

// StartNodesOf is [StartNodes] with nodes of another shape, such as one with GPUs.
func StartNodesOf(ctx context.Context, runner, shape string) (*Nodes, error) {
	l, err := lab.Start(ctx, lab.Config{Without: []string{"cloud-init"}})
	if err != nil {
		return nil, err
	}
	n := &Nodes{Lab: l, shape: shape}
	if err := n.startHead(ctx, runner); err != nil {
		return nil, errors.Join(err, l.Close()) //nolint:contextcheck // it is closed whatever became of the context
	}
	return n, nil
}

func (n *Nodes) startHead(ctx context.Context, runner string) error {
	provider, err := common.ConfigurationProviderFromFile(n.Info.ConfigFile, "")
	if err != nil {
		return err
	}
	if n.compute, err = core.NewComputeClientWithConfigurationProvider(provider); err != nil {
		return err
	}
	n.compute.Host = n.Info.Endpoint
	if err := n.Grow(ctx, 1); err != nil {
		return err
	}
	for path, from := range map[string]string{RunnerPath: runner, NodesKeyPath: n.Info.SSHPrivateKeyPath} {
		content, err := os.ReadFile(from) // #nosec G304 -- the caller's, and the lab's
		if err != nil {
			return err
		}
		if err := n.Put(ctx, n.Head(), path, 0o700, content); err != nil {
			return err
		}
	}
	return nil
}

// Head is the OCID of the head node.
func (n *Nodes) Head() string { return n.Nodes[0].ID }

// Grow has so many nodes run, the head node among them, and tells the head node of them.
func (n *Nodes) Grow(ctx context.Context, size int) error {
	var launched []string
	for number := len(n.Nodes) + 1; number <= size; number++ {
		var flexible *core.LaunchInstanceShapeConfigDetails
		if n.shape == plainShape {
			flexible = &core.LaunchInstanceShapeConfigDetails{Ocpus: common.Float32(1)}
		}
		answer, err := n.compute.LaunchInstance(ctx, core.LaunchInstanceRequest{LaunchInstanceDetails: core.LaunchInstanceDetails{
			CompartmentId: &n.Info.CompartmentID, AvailabilityDomain: &n.Info.AvailabilityDomain, Shape: &n.shape,
			DisplayName:       common.String(fmt.Sprintf("node-%d", number)),
			ShapeConfig:       flexible,
			SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: &n.Info.ImageID},
			CreateVnicDetails: &core.CreateVnicDetails{SubnetId: &n.Info.SubnetID},
		}})
		if err != nil {
			return fmt.Errorf("launch a node: %w", err)
		}
		launched = append(launched, *answer.Id)
	}
	status, err := n.until(ctx, core.InstanceLifecycleStateRunning, launched...)
	if err != nil {
		return err
	}
	added := make([]job.Node, len(launched))
	var group errgroup.Group
	group.SetLimit(8)
	for i, id := range launched {
		at := slices.IndexFunc(status.InstanceList, func(s lab.InstanceStatus) bool { return s.ID == id })
		added[i] = job.Node{ID: id, Name: status.InstanceList[at].Hostname, Address: status.InstanceList[at].PrivateIP.String()}
		group.Go(func() (err error) {
			added[i].HostKey, err = n.open(ctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	n.Nodes = append(n.Nodes, added...)
	return n.tell(ctx)
}

// Act has OCI stop, start or reset a node, and waits until it is in the state that this ends with.
func (n *Nodes) Act(ctx context.Context, id string, action core.InstanceActionActionEnum, end core.InstanceLifecycleStateEnum) error {
	if _, err := n.compute.InstanceAction(ctx, core.InstanceActionRequest{InstanceId: &id, Action: action}); err != nil {
		return fmt.Errorf("%s a node: %w", action, err)
	}
	_, err := n.until(ctx, end, id)
	return err
}

// until waits until these instances are in a state, and have a host that runs, or none.
func (n *Nodes) until(ctx context.Context, state core.InstanceLifecycleStateEnum, ids ...string) (lab.Status, error) {
	runs := state == core.InstanceLifecycleStateRunning
	for {
		status, err := n.Status(ctx)
		if err != nil {
			return status, err
		}
		are := 0
		for _, s := range status.InstanceList {
			if slices.Contains(ids, s.ID) && s.State == string(state) && slices.Contains(status.Hosts, s.ID) == runs {
				are++
			}
		}
		if are == len(ids) {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return status, fmt.Errorf("%d of %d nodes are %s: %w", are, len(ids), state, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// open lets the lab's key log in, as cloud-init would, and gives the node's host key.
func (n *Nodes) open(ctx context.Context, id string) (hostKey string, err error) {
	out, err := n.Exec(ctx, id, "sh", "-ec", `install -d -o opc -g opc -m 700 /home/opc /home/opc/.ssh
printf '%s\n' "$1" >/home/opc/.ssh/authorized_keys
cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub`, "sh", strings.TrimSpace(n.Info.SSHAuthorizedKeys))
	if err != nil {
		return "", fmt.Errorf("let the key log in: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// tell writes the job file that names the nodes.
func (n *Nodes) tell(ctx context.Context) error {
	text, err := json.Marshal(job.Job{
		Version: job.Version, Nodes: n.Nodes, SSH: job.SSH{User: "opc", Port: 22}, TimeoutSeconds: 3600,
		Setup: &job.Setup{Steps: []job.Step{{Name: "none", Directory: &job.DirectoryStep{Path: "/run", Mode: "0755"}}}},
	})
	if err != nil {
		return err
	}
	return n.Put(ctx, n.Head(), NodesPath, 0o600, text)
}

// Put writes a file on a host.
func (n *Nodes) Put(ctx context.Context, host, path string, mode os.FileMode, content []byte) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	go func() {
		_, _ = bytes.NewReader(content).WriteTo(writer) // what is missing is found by its size
		_ = writer.Close()
	}()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	script := fmt.Sprintf("umask 077; cat >%[1]s && chmod %04[2]o %[1]s && test $(stat -c %%s %[1]s) = %[3]d", shellescape.Quote(path), mode, len(content))
	status, err := n.ExecFiles(ctx, host, []string{"sh", "-c", script}, reader, null, null)
	if err == nil && status != 0 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return fmt.Errorf("put %s on %s: %w", path, host, err)
	}
	return nil
}

// SetUp sets all nodes up by `ocihpc-runner setup` on the head node, with a job directory there, and gives the result,
// whatever it is. The caller's steps are on the head node as a file.
func (n *Nodes) SetUp(ctx context.Context, steps, dir string, options ...string) (job.Result, error) {
	argv := append([]string{"env", "HOME=/root", RunnerPath, "setup", steps, "--nodes", NodesPath, "--key", NodesKeyPath, "--dir", dir, "--output", "json"}, options...)
	out, err := n.Exec(ctx, n.Head(), argv...)
	var result job.Result
	if decodeErr := job.DecodeStrict(out, &result); decodeErr != nil {
		return result, errors.Join(fmt.Errorf("result of the set-up: %w", decodeErr), err)
	}
	return result, nil
}

// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

// Built once for all tests.
var (
	runnerPath string
	testsDir   string // nccl-tests and nvidia-smi of the lab
)

func TestMain(m *testing.M) { os.Exit(buildAndTest(m)) }

func buildAndTest(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ocihpc") // a short path: sockets lie below it
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // best effort
	ctx := context.Background()
	runnerPath = filepath.Join(dir, "ocihpc-runner")
	build := exec.CommandContext(ctx, "go", "build", "-o", runnerPath, ".")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the runner: %v: %s", err, out))
	}
	testsDir = filepath.Join(dir, "nccl-tests")
	if err := os.Mkdir(testsDir, 0o755); err != nil {
		panic(err)
	}
	if err := standin.Build(ctx, testsDir); err != nil {
		panic(err)
	}
	return m.Run()
}

// cluster is a head node, which is this machine, and further nodes behind real sshd.
type cluster struct {
	t   *testing.T
	dir job.Dir
	job job.Job
	env []string // of the runner on the head node
	// home holds everything of the cluster: a process of it names it, or works in it.
	home  string
	hosts []*sshdtest.Host
	key   []byte
	run0  string // the head node's /run/ocihpc
}

const gpusPerNode = 2

// newCluster makes a cluster whose nodes have two of the lab's GPUs and host names of their own. Further namespaces
// are what unshare calls them.
func newCluster(t *testing.T, nodes int, namespaces ...string) *cluster {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("giving hosts names of their own needs root")
	}
	home, err := os.MkdirTemp("", "oc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	c := &cluster{t: t, home: home, dir: job.Dir(filepath.Join(home, "job"))}
	gpus := c.gpusOf(1)
	c.write(gpus, string(standin.GPUFile(gpusPerNode, "NVIDIA H200", 1<<30)), 0o600)
	path := testsDir + ":/usr/bin:/bin"
	c.env = []string{"HOME=" + home, "PATH=" + path, "OCIHPC_LAB_GPUS=" + gpus, "TMPDIR=" + home}
	signer, key := sshdtest.NewKey(t)
	c.key, c.run0 = key, filepath.Join(home, "run-1")
	c.giveKey()
	c.mkdir("/run/ocihpc", c.run0)
	c.job = job.Job{
		Version: job.Version, TimeoutSeconds: 120,
		Nodes: []job.Node{{Name: "gpu-1", Address: "127.0.0.1"}},
		Benchmark: &job.Benchmark{
			Collective: "all_reduce", MinSizeBytes: 1 << 10, MaxSizeBytes: 1 << 16, StepFactor: 4, Iterations: 3, WarmupIterations: 1,
			Environment: map[string]string{"OMPI_MCA_mpi_yield_when_idle": "1", "NCCL_DEBUG": "WARN"}, TimeoutSeconds: 60,
		},
	}
	for i := 2; i <= nodes; i++ {
		name := fmt.Sprintf("gpu-%d", i)
		run := filepath.Join(home, fmt.Sprintf("run-%d", i))
		c.mkdir(run)
		gpus := c.gpusOf(i)
		c.write(gpus, string(standin.GPUFile(gpusPerNode, "NVIDIA H200", 1<<30)), 0o600)
		h := sshdtest.Start(t, []ssh.PublicKey{signer.PublicKey()}, fmt.Sprintf(
			`ForceCommand unshare --uts --mount %s sh -c 'hostname %s; mount --bind %s /run/ocihpc; export PATH=%s OCIHPC_LAB_GPUS=%s TMPDIR=%s; exec bash -c "$SSH_ORIGINAL_COMMAND"'`,
			strings.Join(namespaces, " "), name, run, path, gpus, home))
		c.hosts = append(c.hosts, h)
		c.job.Nodes = append(c.job.Nodes, job.Node{Name: name, Address: h.Address, HostKey: h.HostKey()})
		c.job.SSH = job.SSH{User: h.User, Port: h.Port}
	}
	if nodes == 1 {
		c.job.SSH = job.SSH{User: "opc", Port: 22}
	}
	return c
}

// gpusOf is the file that says which GPUs a node has, from 1.
func (c *cluster) gpusOf(node int) string { return filepath.Join(c.home, fmt.Sprintf("gpus-%d", node)) }

// spoil gives a node a fault of the lab's GPUs.
func (c *cluster) spoil(node int, fault string) {
	c.t.Helper()
	c.write(c.gpusOf(node), c.read(c.gpusOf(node))+fault+"\n", 0o600)
}

func (c *cluster) mkdir(dirs ...string) {
	c.t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// giveKey puts the key there that logs in to the nodes; a job takes it away at its end.
func (c *cluster) giveKey() { c.write(c.dir.Key(), string(c.key), 0o600) }

// hangTogether makes the measurement over all nodes hang, with the one of each node alone as it was.
func (c *cluster) hangTogether() {
	dir := filepath.Join(c.home, "hanging")
	c.write(filepath.Join(dir, standin.AllReducePerf), fmt.Sprintf(
		"#!/bin/sh\n[ -z \"$OMPI_COMM_WORLD_SIZE\" ] && exec %s \"$@\"\ntouch %s/rank-$OMPI_COMM_WORLD_RANK\nsetsid sleep 1000 & exec sleep 1000\n",
		filepath.Join(testsDir, standin.AllReducePerf), c.home), 0o755)
	c.job.Benchmark.NCCLTestsDir = dir
}

// untilTogether waits until every rank of the hanging measurement runs.
func (c *cluster) untilTogether() {
	c.t.Helper()
	c.until("all ranks run", func() bool {
		ranks, _ := filepath.Glob(filepath.Join(c.home, "rank-*"))
		return len(ranks) == gpusPerNode*len(c.job.Nodes)
	})
}

func (c *cluster) until(what string, is func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited too long until %s; processes:\n%s\nlog:\n%s", what, strings.Join(c.processes(), "\n"), c.read(c.dir.Log()))
		}
	}
}

// command is a call of the runner on the head node, which has a /run/ocihpc of its own.
func (c *cluster) command(args ...string) *exec.Cmd {
	argv := append([]string{"--mount", "sh", "-c", `mount --bind "$0" /run/ocihpc && exec "$@"`, c.run0, runnerPath}, args...)
	cmd := exec.CommandContext(c.t.Context(), "unshare", argv...)
	cmd.Env, cmd.Dir = c.env, c.home
	return cmd
}

// call runs the runner to its end and gives what it wrote to stdout, and its exit status.
func (c *cluster) call(args ...string) (string, int) {
	c.t.Helper()
	cmd := c.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	c.t.Logf("%v: status %d\n%s", args, cmd.ProcessState.ExitCode(), stderr.String())
	return string(out), cmd.ProcessState.ExitCode()
}

// run works on the job in the foreground.
func (c *cluster) run(options ...string) (job.Result, int) {
	c.t.Helper()
	c.putJob()
	out, status := c.call(append([]string{"run", c.dir.Job(), "--dir", string(c.dir), "--output", "json"}, options...)...)
	var result job.Result
	if err := job.DecodeStrict([]byte(out), &result); err != nil {
		c.t.Fatalf("result: %v in %s", err, out)
	}
	return result, status
}

// start starts the job detached, and sees to it that it is over when the test is.
func (c *cluster) start() jobdir.State {
	c.t.Helper()
	c.putJob()
	c.t.Cleanup(func() {
		cancel := exec.CommandContext(context.Background(), runnerPath, "cancel", string(c.dir))
		if out, err := cancel.CombinedOutput(); err != nil {
			c.t.Errorf("cancel: %v: %s", err, out)
		}
		c.nothingLeft() // or it writes to folders that are being removed
	})
	return c.startAgain()
}

func (c *cluster) startAgain() jobdir.State {
	c.t.Helper()
	out, status := c.call("start", string(c.dir))
	if status != 0 {
		c.t.Fatalf("start: status %d, log: %s", status, c.read(c.dir.Log()))
	}
	var answer struct {
		State jobdir.State `json:"state"`
	}
	if err := job.DecodeStrict([]byte(out), &answer); err != nil {
		c.t.Fatal(err)
	}
	return answer.State
}

// attach follows the job to its end and gives its events.
func (c *cluster) attach() []job.Event {
	c.t.Helper()
	out, status := c.call("attach", string(c.dir))
	if status != 0 {
		c.t.Fatalf("attach: status %d", status)
	}
	return decodeEvents(c.t, out)
}

func decodeEvents(t *testing.T, ndjson string) []job.Event {
	t.Helper()
	var events []job.Event
	for decoder := json.NewDecoder(strings.NewReader(ndjson)); ; {
		var e job.Event
		if err := decoder.Decode(&e); err == io.EOF {
			return events
		} else if err != nil {
			t.Fatalf("events: %v in %s", err, ndjson)
		}
		events = append(events, e)
	}
}

func (c *cluster) putJob() {
	c.t.Helper()
	text, err := json.Marshal(c.job)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(c.dir.Job(), string(text), 0o600)
}

func (c *cluster) write(file, text string, mode os.FileMode) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) read(file string) string {
	c.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(text)
}

// processes gives the command lines of all processes of the cluster, but not of sshd itself.
func (c *cluster) processes() []string {
	dirs := []string{c.home}
	for _, h := range c.hosts {
		dirs = append(dirs, h.Home)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		line := strings.ReplaceAll(string(text), "\x00", " ")
		for _, dir := range dirs {
			if !strings.Contains(line, "sshd") && strings.Contains(line+"\n"+string(environment)+"\n"+cwd, dir) {
				found = append(found, filepath.Base(filepath.Dir(file))+" "+line)
				break
			}
		}
	}
	return found
}

// nothingLeft fails when a process of the cluster still runs.
func (c *cluster) nothingLeft() {
	c.t.Helper()
	// sshd ends a session's shell a moment after the session.
	c.until("no process is left", func() bool { return len(c.processes()) == 0 })
}

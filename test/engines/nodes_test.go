// SPDX-License-Identifier: MPL-2.0

// Package engines_test has the runner set up real container engines on lab hosts whose init is systemd: packages of a
// real apt repository, releases of a mirror, images of a registry that asks for a password, and containers that see
// the lab's GPUs through a CDI specification.
package engines_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

var runnerPath string // built once for all tests

func TestMain(m *testing.M) { os.Exit(buildAndTest(m)) }

func buildAndTest(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ocihpc")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // best effort
	runnerPath = filepath.Join(dir, "ocihpc-runner")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", runnerPath, "../../runner")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the runner: %v: %s", err, out))
	}
	return m.Run()
}

// The shape has no RDMA adapters: a lab may be kept from raising limits of locked memory.
const (
	shapeName = "BM.GPU.A10.4"
	gpuName   = "NVIDIA A10"
	user      = "opc" // may run sudo without a password
	password  = "sw0rdfish-of-the-registry"
)

// nodes are two lab hosts with systemd; the first is the head node.
type nodes struct {
	lab      *lab.Lab
	ids      []string
	mirror   string // a directory of this machine; Mirror is its address on the nodes
	registry *containertest.Registry
	image    string
	base     job.ContainerRuntime // what every set-up asks for
	source   *job.NCCLTestsSource // of measurements; nil builds none
}

// start has two nodes that lack container engines, and could have them from a repository and a mirror.
func start(t *testing.T, engine job.Engine) *nodes {
	t.Helper()
	return startSome(t, engine, 2)
}

func startSome(t *testing.T, engine job.Engine, count int) *nodes {
	t.Helper()
	if os.Getenv("OCIHPC_TEST_ENGINES") == "" {
		t.Skip("takes minutes: run `make test-engines`")
	}
	mirror, _ := containertest.Releases(t)
	n := &nodes{lab: containertest.StartLab(t, lab.Config{Init: lab.InitSystemd}), mirror: mirror}
	n.launch(t, count)
	n.registry = containertest.StartRegistry(t, n.lab, containertest.Credentials{User: "puller", Password: password})
	n.image = n.registry.Push(t, "team/busybox:1", containertest.Image(t, 1))
	n.base = job.ContainerRuntime{
		Engine: engine, Mirror: containertest.ServeDir(t, n.lab, mirror), Images: []string{n.image}, InsecureRegistries: []string{n.registry.Address},
	}
	containertest.AddRepository(t, n.lab, n.ids...)
	n.prepareHead(t)
	return n
}

var clientLock sync.Mutex // the SDK's region table has no lock of its own

func compute(t *testing.T, info lab.Info) core.ComputeClient {
	t.Helper()
	clientLock.Lock()
	defer clientLock.Unlock()
	provider, err := common.ConfigurationProviderFromFile(info.ConfigFile, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := core.NewComputeClientWithConfigurationProvider(provider)
	if err != nil {
		t.Fatal(err)
	}
	client.Host = info.Endpoint
	return client
}

// launch boots instances, and waits for the end of cloud-init.
func (n *nodes) launch(t *testing.T, count int) {
	t.Helper()
	client, info := compute(t, n.lab.Info), n.lab.Info
	for i := range count {
		launched, err := client.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: core.LaunchInstanceDetails{
			CompartmentId: &info.CompartmentID, AvailabilityDomain: &info.AvailabilityDomain, Shape: common.String(shapeName),
			DisplayName:       common.String(fmt.Sprintf("gpu-%d", i+1)),
			CreateVnicDetails: &core.CreateVnicDetails{SubnetId: &info.SubnetID, HostnameLabel: common.String(fmt.Sprintf("gpu-%d", i+1))},
			SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: &info.ImageID},
			Metadata:          map[string]string{"ssh_authorized_keys": info.SSHAuthorizedKeys},
		}})
		if err != nil {
			t.Fatal(err)
		}
		n.ids = append(n.ids, *launched.Id)
	}
	for _, id := range n.ids {
		until(t, id+" to run", func() bool {
			got, err := client.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &id})
			if err != nil {
				t.Fatal(err)
			}
			return got.LifecycleState == core.InstanceLifecycleStateRunning
		})
		containertest.Run(t, n.lab, id, "cloud-init status --wait >/dev/null; systemctl is-system-running --wait || systemctl --failed >&2")
	}
}

// until polls a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// put writes a file of this machine's on the head node, as the user who works there.
func (n *nodes) put(t *testing.T, file, path, mode string) {
	t.Helper()
	content, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	status, err := n.lab.ExecFiles(t.Context(), n.ids[0], []string{"sh", "-ec", fmt.Sprintf("cat >%[1]s; chmod %[2]s %[1]s; chown %[3]s: %[1]s", path, mode, user)}, content, os.Stderr, os.Stderr)
	if err != nil || status != 0 {
		t.Fatalf("put %s: status %d, %v", path, status, err)
	}
}

// home of the user on the head node.
const home = "/home/" + user

// prepareHead puts the runner, the key to the other nodes, the job with the nodes and the registry's credentials there.
func (n *nodes) prepareHead(t *testing.T) {
	t.Helper()
	n.setShape(t, shapeName)
	dir := t.TempDir()
	n.put(t, runnerPath, home+"/ocihpc-runner", "755")
	n.put(t, n.lab.Info.SSHPrivateKeyPath, home+"/key", "600")
	auth := base64.StdEncoding.EncodeToString([]byte("puller:" + password))
	n.put(t, writeJSON(t, dir, "auth.json", map[string]any{"auths": map[string]any{n.registry.Address: map[string]any{"auth": auth}}}), home+"/auth.json", "600")
}

// setShape writes the job with the nodes, of this shape.
func (n *nodes) setShape(t *testing.T, shape string) {
	t.Helper()
	j := job.Job{Version: job.Version, Shape: shape, SSH: job.SSH{User: user, Port: 22}, TimeoutSeconds: 600}
	for _, id := range n.ids {
		line := func(command string) string { return strings.TrimSpace(containertest.Run(t, n.lab, id, command)) }
		j.Nodes = append(j.Nodes, job.Node{ID: id, Name: line("hostname"), Address: line("hostname -I | cut -d ' ' -f 1"), HostKey: line("cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub")})
	}
	n.put(t, writeJSON(t, t.TempDir(), "job.json", j), home+"/job.json", "644")
}

func writeJSON(t *testing.T, dir, name string, content any) string {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// setUp runs `ocihpc-runner setup` on the head node for both nodes, as the user who logs in there, and gives what came of it.
func (n *nodes) setUp(t *testing.T, want job.ContainerRuntime, flags ...string) job.Result {
	t.Helper()
	began := time.Now()
	n.put(t, writeJSON(t, t.TempDir(), "setup.json", job.Setup{ContainerRuntime: &want}), home+"/setup.json", "644")
	line := fmt.Sprintf("cd; ./ocihpc-runner setup setup.json --nodes job.json --key key --registry-auth auth.json --output json %s >result.json 2>progress.log || echo $?", strings.Join(flags, " "))
	status := n.as(t, 0, line)
	text := containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/result.json")
	var result job.Result
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatalf("status %s, %v: %s\n%s", status, err, text, containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/progress.log"))
	}
	t.Logf("set up in %s: %s%s", time.Since(began).Round(100*time.Millisecond), job.SetupSummary(result.Nodes), slowSteps(result))
	return result
}

// slowSteps names the steps that took seconds.
func slowSteps(result job.Result) (told string) {
	for _, node := range result.Nodes {
		if node.Setup == nil {
			continue
		}
		for _, step := range node.Setup.Steps {
			if step.Seconds > 2 {
				told += fmt.Sprintf("; %s on %s %.1f s", step.Name, node.Name, step.Seconds)
			}
		}
	}
	return told
}

// refused expects that a set-up fails with a message and an advice that hold these words.
func refused(t *testing.T, result job.Result, message, advice string) {
	t.Helper()
	if result.Outcome == job.Pass || result.Failure == nil || !strings.Contains(result.Failure.Message, message) || !strings.Contains(result.Failure.Advice, advice) {
		t.Fatalf("%s: %+v; expected %q and %q", result.Outcome, result.Failure, message, advice)
	}
}

// as runs a line as the user on a node, in a session as a login over SSH gives it.
func (n *nodes) as(t *testing.T, node int, line string) string {
	t.Helper()
	return strings.TrimSpace(containertest.Run(t, n.lab, n.ids[node], "export XDG_RUNTIME_DIR=/run/user/$(id -u "+user+"); setpriv --reuid="+user+" --regid="+user+" --init-groups env HOME="+home+" USER="+user+" bash -c "+quoted(line)))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// passes expects that all steps of all nodes are as they should be, and that containers see the GPU; it gives the number of changed steps.
func passes(t *testing.T, result job.Result) (changed int) {
	t.Helper()
	for _, node := range result.Nodes {
		if node.Setup == nil {
			t.Fatalf("%s was not set up: %+v", node.Name, result.Failure)
		}
		for _, step := range node.Setup.Steps {
			switch step.Outcome {
			case job.StepChanged:
				changed++
			case job.StepUnchanged:
			default:
				t.Errorf("%s: %s: %s: %s\n%s", node.Name, step.Title, step.Outcome, step.Message, step.Output)
			}
		}
		if node.Setup.Failure != nil {
			t.Errorf("%s: %+v", node.Name, *node.Setup.Failure)
		}
	}
	if result.Outcome != job.Pass || len(result.Nodes) != 2 {
		t.Fatalf("%s on %d nodes: %+v", result.Outcome, len(result.Nodes), result.Failure)
	}
	return changed
}

// seesGPUs expects what a set-up has told of the containers.
func (n *nodes) seesGPUs(t *testing.T, result job.Result) {
	t.Helper()
	for _, node := range result.Nodes {
		if s := node.Setup; len(s.GPUs) != 4 || !strings.Contains(s.GPUs[0], gpuName) || !strings.Contains(s.Images[n.image], "@sha256:") {
			t.Errorf("%s: GPUs %q, images %v, versions %v", node.Name, s.GPUs, s.Images, s.Versions)
		}
	}
}

// unchanged sets up a second time, and expects that nothing is done.
func (n *nodes) unchanged(t *testing.T, want job.ContainerRuntime) {
	t.Helper()
	result := n.setUp(t, want)
	if passes(t, result) != 0 {
		for _, node := range result.Nodes {
			for _, step := range node.Setup.Steps {
				if step.Outcome == job.StepChanged {
					t.Errorf("the second time changed %s: %s: %s", node.Name, step.Title, step.Message)
				}
			}
		}
	}
}

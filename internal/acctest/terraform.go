// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goversion "github.com/hashicorp/go-version"
)

// binary builds the provider once a test process, and gives the folder it lies in.
var binary = sync.OnceValues(func() (string, error) {
	root, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "ocihpc-provider-")
	if err != nil {
		return "", err
	}
	built = true
	build := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "terraform-provider-ocihpc"), ".")
	build.Dir = strings.TrimSpace(string(root))
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the provider: %w\n%s", err, output)
	}
	return dir, nil
})

// Main runs the tests of a package that uses [NewTerraform], and removes the provider afterwards.
func Main(m *testing.M) {
	status := m.Run()
	if built {
		if dir, err := binary(); err == nil {
			_ = os.RemoveAll(dir) // A leftover in the temporary folder is no failure.
		}
	}
	os.Exit(status)
}

// built says that the provider's folder was made.
var built bool

// Terraform is a working directory in which the real Terraform runs the real provider, as users do.
type Terraform struct {
	t         testing.TB
	dir       string
	env       []string
	providers map[string]string
}

// NewTerraform makes a working directory with one configuration. Env adds to the environment, as NAME=value.
// The test is skipped when TF_ACC is not set.
func NewTerraform(t testing.TB, hcl string, env ...string) *Terraform {
	t.Helper()
	return NewTerraformWith(t, map[string]string{Source: Provider(t)}, hcl, env...)
}

// Source is the provider's source address.
const Source = "ocihpc/ocihpc"

// Provider builds the provider, once a test process, and gives the folder it lies in. The test is skipped
// when TF_ACC is not set.
func Provider(t testing.TB) string {
	t.Helper()
	skipUnlessAcceptance(t)
	dir, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func skipUnlessAcceptance(t testing.TB) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance test: set TF_ACC=1 to run it")
	}
}

// NewTerraformWith makes a working directory whose configuration uses other providers: the folder of each
// one's binary, by the provider's source address. The test is skipped when TF_ACC is not set.
func NewTerraformWith(t testing.TB, providers map[string]string, hcl string, env ...string) *Terraform {
	t.Helper()
	skipUnlessAcceptance(t)
	tf := &Terraform{t: t, dir: t.TempDir(), providers: providers}
	rc := filepath.Join(tf.dir, "terraform.rc")
	var overrides strings.Builder
	for source, dir := range providers {
		fmt.Fprintf(&overrides, "    %q = %q\n", source, dir)
	}
	tf.write("terraform.rc", "provider_installation {\n  dev_overrides {\n"+overrides.String()+"  }\n  direct {}\n}\n")
	tf.env = append(environ(t, rc), env...)
	tf.Configure(hcl)
	return tf
}

// environ is the environment of Terraform, with its settings in a file. Providers that are killed leave their sockets in a
// folder that goes with the test; its path is short, as those of sockets must be.
func environ(t testing.TB, settings string) []string {
	t.Helper()
	sockets, err := os.MkdirTemp("", "ocihpc-sockets-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	return append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "PLUGIN_UNIX_SOCKET_DIR="+sockets, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
}

// NewTerraformOf makes a working directory out of a copy of a folder with configurations, at a path within it, and has
// Terraform install providers there as users do, from a mirror: the folder of each one's binary, by its source address.
// The test is skipped when TF_ACC is not set.
func NewTerraformOf(t testing.TB, folder, within string, providers map[string]string, env ...string) *Terraform {
	t.Helper()
	skipUnlessAcceptance(t)
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	tf := &Terraform{t: t, dir: filepath.Join(root, within), providers: providers}
	tf.env = append(environ(t, os.DevNull), env...)
	tf.Must("init", "-input=false", "-no-color", "-plugin-dir="+Mirror(t, providers))
	return tf
}

// host is where Terraform, or OpenTofu, takes providers to be whose source address names no host.
func host() string { return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io") }

// Mirror makes a folder from which Terraform, or OpenTofu, installs providers: the folder of each one's binary, by its
// source address.
func Mirror(t testing.TB, providers map[string]string) string {
	t.Helper()
	mirror := t.TempDir()
	const version = "0.1.0" // such as configurations ask for
	for source, dir := range providers {
		binary := "terraform-provider-" + path.Base(source)
		place := filepath.Join(mirror, host(), source, version, runtime.GOOS+"_"+runtime.GOARCH)
		err := errors.Join(os.MkdirAll(place, 0o700), os.Symlink(filepath.Join(dir, binary), filepath.Join(place, binary+"_v"+version))) // #nosec G703 -- in the test's folder
		if err != nil {
			t.Fatal(err)
		}
	}
	return mirror
}

// IsTerraform says whether the Terraform that tests run is of a version or a newer one, such as 1.8.
func IsTerraform(t testing.TB, version string) bool {
	t.Helper()
	skipUnlessAcceptance(t)
	command := exec.CommandContext(t.Context(), "terraform", "version", "-json")
	command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull) // OpenTofu would put a warning about it before the JSON.
	output, err := command.Output()
	var is struct {
		Version string `json:"terraform_version"`
	}
	if err == nil {
		err = json.Unmarshal(output, &is)
	}
	if err != nil {
		t.Fatalf("ask terraform for its version: %v", err)
	}
	return !goversion.Must(goversion.NewVersion(is.Version)).LessThan(goversion.Must(goversion.NewVersion(version)))
}

// Configure replaces the configuration.
func (tf *Terraform) Configure(hcl string) {
	tf.t.Helper()
	var required strings.Builder
	for source := range tf.providers {
		fmt.Fprintf(&required, "    %s = { source = %q }\n", path.Base(source), source)
	}
	tf.write("main.tf", "terraform {\n  required_providers {\n"+required.String()+"  }\n}\n"+hcl)
}

// Dir is the working directory.
func (tf *Terraform) Dir() string { return tf.dir }

// Setenv changes the environment of the runs to come.
func (tf *Terraform) Setenv(name, value string) { tf.env = append(tf.env, name+"="+value) }

// SetEnviron replaces the environment of the runs to come, of which nothing of this process's own is left.
func (tf *Terraform) SetEnviron(environ []string) { tf.env = environ }

// SetVariables gives values to variables of the configuration, over those of the environment.
func (tf *Terraform) SetVariables(values map[string]any) {
	tf.t.Helper()
	text, err := json.Marshal(values)
	if err != nil {
		tf.t.Fatal(err)
	}
	tf.write("test.auto.tfvars.json", string(text))
}

// Output reads an output's value.
func (tf *Terraform) Output(name string, value any) {
	tf.t.Helper()
	text := tf.Must("output", "-json", name)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		tf.t.Fatalf("read output %s: %v\n%s", name, err, text)
	}
}

func (tf *Terraform) write(name, text string) {
	tf.t.Helper()
	if err := os.WriteFile(filepath.Join(tf.dir, name), []byte(text), 0o600); err != nil {
		tf.t.Fatal(err)
	}
}

// Run runs Terraform and gives its exit status and all that it printed.
func (tf *Terraform) Run(arguments ...string) (status int, output string) {
	tf.t.Helper()
	return tf.Start(arguments...).Wait()
}

// Must runs Terraform and fails the test unless it exits with 0.
func (tf *Terraform) Must(arguments ...string) string {
	tf.t.Helper()
	status, output := tf.Run(arguments...)
	if status != 0 {
		tf.t.Fatalf("terraform %s: exit status %d\n%s", strings.Join(arguments, " "), status, output)
	}
	return output
}

// Apply applies without asking and fails the test if that fails.
func (tf *Terraform) Apply() string {
	tf.t.Helper()
	return tf.Must("apply", "-auto-approve", "-no-color", "-input=false")
}

// Destroy destroys without asking and fails the test if that fails.
func (tf *Terraform) Destroy() string {
	tf.t.Helper()
	return tf.Must("destroy", "-auto-approve", "-no-color", "-input=false")
}

// ExpectNoChanges fails the test unless a plan finds nothing to do.
func (tf *Terraform) ExpectNoChanges() {
	tf.t.Helper()
	if status, output := tf.Run("plan", "-detailed-exitcode", "-no-color", "-input=false"); status != 0 {
		tf.t.Errorf("the plan is not empty (exit status %d)\n%s", status, output)
	}
}

// State gives a resource as the state has it; nil when it is not there.
func (tf *Terraform) State(address string) *StateResource {
	tf.t.Helper()
	var state struct {
		Values struct {
			Root struct {
				Resources []StateResource `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	command := exec.CommandContext(tf.t.Context(), "terraform", "show", "-json")
	command.Dir, command.Env = tf.dir, tf.env
	output, err := command.Output()
	if err == nil {
		err = json.Unmarshal(output, &state)
	}
	if err != nil {
		tf.t.Fatalf("read the state: %v\n%s", err, output)
	}
	for _, r := range state.Values.Root.Resources {
		if r.Address == address {
			return &r
		}
	}
	return nil
}

// StateResource is a resource in the state.
type StateResource struct {
	Address string         `json:"address"`
	Tainted bool           `json:"tainted"`
	Values  map[string]any `json:"values"`
}

// Running is a Terraform that runs.
type Running struct {
	t       testing.TB
	command *exec.Cmd
	output  bytes.Buffer
}

// Start starts Terraform. The caller must Wait for it.
func (tf *Terraform) Start(arguments ...string) *Running {
	tf.t.Helper()
	r := &Running{t: tf.t, command: exec.CommandContext(tf.t.Context(), "terraform", arguments...)}
	r.command.Dir, r.command.Env = tf.dir, tf.env
	r.command.Stdout, r.command.Stderr = &r.output, &r.output
	r.command.Cancel = func() error { return r.command.Process.Signal(os.Interrupt) }
	r.command.WaitDelay = time.Minute
	if err := r.command.Start(); err != nil {
		tf.t.Fatal(err)
	}
	return r
}

// Interrupt does what Ctrl-C does, once.
func (r *Running) Interrupt() {
	r.t.Helper()
	if err := r.command.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatalf("interrupt terraform: %v", err)
	}
}

// Kill ends Terraform without warning, as kill -9 does.
func (r *Running) Kill() {
	r.t.Helper()
	if err := r.command.Process.Kill(); err != nil {
		r.t.Fatalf("kill terraform: %v", err)
	}
}

// Providers are the process IDs of the providers that Terraform runs at this moment.
func (r *Running) Providers() []int {
	r.t.Helper()
	var providers []int
	for _, task := range glob(r.t, fmt.Sprintf("/proc/%d/task/*/children", r.command.Process.Pid)) {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // The thread has ended.
		}
		for text := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				r.t.Fatal(err)
			}
			providers = append(providers, pid)
		}
	}
	return providers
}

// KillProvider ends the providers that Terraform runs at this moment, if any, without warning.
func (r *Running) KillProvider() {
	r.t.Helper()
	for _, pid := range r.Providers() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			r.t.Fatalf("kill the provider: %v", err)
		}
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Wait waits for the end and gives the exit status, -1 after a signal, and all that was printed.
func (r *Running) Wait() (status int, output string) {
	r.t.Helper()
	err := r.command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("run terraform: %v\n%s", err, r.output.String())
	}
	return r.command.ProcessState.ExitCode(), r.output.String()
}

// Eventually waits until something is so, and fails the test if that takes too long.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after a minute: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

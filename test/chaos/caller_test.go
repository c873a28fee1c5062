// SPDX-License-Identifier: MPL-2.0

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/runnerbin"
)

// callerVariable names the file of a [caller], in whose place this program was started.
const callerVariable = "OCIHPC_CHAOS_CALLER"

// caller has the head node set all nodes up from outside, through the bastion, as the provider does.
type caller struct {
	Info   lab.Info
	Nodes  []job.Node
	Runner string // binary
}

// execute gives the result, as far as there is one.
func (c caller) execute(ctx context.Context) (job.Result, error) {
	text, err := os.ReadFile(c.Info.SSHPrivateKeyPath)
	if err != nil {
		return job.Result{}, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return job.Result{}, err
	}
	runners, err := runnerbin.FromFile(c.Runner)
	if err != nil {
		return job.Result{}, err
	}
	signers := []ssh.Signer{signer}
	outcome, err := remote.Execute(ctx, remote.Access{
		User: "opc", Signers: signers,
		Bastion: &remote.Target{
			Name: "bastion", Address: c.Info.BastionHost, Port: c.Info.BastionPort, User: c.Info.BastionUser,
			Signers: signers, HostKey: c.Info.BastionHostKey,
		},
	}, job.Job{
		Version: job.Version, Nodes: c.Nodes, SSH: job.SSH{User: "opc", Port: 22}, TimeoutSeconds: 600, Setup: &job.Setup{Steps: steps()},
	}, runners, nil)
	if outcome.Result == nil {
		return job.Result{}, errors.Join(err, errors.New("there is no result"))
	}
	return *outcome.Result, errors.Join(err, outcome.CleanupErr)
}

// becomeCaller calls in the place of a process that may be killed, and gives its exit status.
func becomeCaller(file string) int {
	text, err := os.ReadFile(file) // #nosec G304 G703 -- the test's
	var c caller
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		_, err = c.execute(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killed calls in a process of its own, and kills that after a while.
func (c caller) killed(t *testing.T, after time.Duration) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "caller.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), callerVariable+"="+file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after) // The moment is the point of the test; whichever it is, the end must be the same.
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // however it ended
}

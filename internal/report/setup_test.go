// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// setUpNodes are nodes on which steps have come to every end.
func setUpNodes(n int) []job.NodeResult {
	nodes := make([]job.NodeResult, n)
	for i := range nodes {
		nodes[i] = job.NodeResult{Name: fmt.Sprintf("gpu-%d", i+1), Setup: &job.NodeSetup{
			Steps: []job.StepResult{
				{Name: "check-systemd", Title: "Look whether systemd runs", Outcome: job.StepUnchanged},
				{Name: "install-runc", Title: "Install runc 1.3.6", Outcome: job.StepChanged, Seconds: float64(i), Message: "runc 1.1.12 is installed"},
			},
			Engine: job.Containerd, Versions: map[string]string{"runc": "1.3.6", "containerd": "2.2.7"}, GPUs: []string{"GPU 0: NVIDIA A10", "GPU 1: NVIDIA A10"},
		}}
	}
	return nodes
}

func TestSetUpTable(t *testing.T) {
	t.Parallel()
	all := setUpNodes(3)

	broken := setUpNodes(3)
	broken[1].Setup = &job.NodeSetup{Steps: []job.StepResult{
		broken[1].Setup.Steps[0],
		{Title: "Install runc 1.3.6", Outcome: job.StepFailed, Message: "tar ended with exit status 2: no space left on device", Output: "tar: write error\n\x1b[2Jtar: no space left on device\n", Advice: "free space on that file system of the node (df -h, df -i), and start again"},
		{Title: "Pull busybox", Outcome: job.StepNotRun, Message: "install-runc failed before"},
	}, Failure: &job.Failure{Kind: job.KindStepFailed, Message: "Install runc 1.3.6: no space left on device"}}
	broken[2].Setup = &job.NodeSetup{Failure: &job.Failure{Kind: "locked", Message: "another set-up (job 1a2b) works on gpu-3 since 4 min", Advice: "wait for its end"}}

	dry := setUpNodes(10)
	for i := range dry {
		dry[i].Setup.Engine = ""
		if i > 0 {
			dry[i].Setup.Steps[1] = job.StepResult{Title: "Write /etc/motd", Outcome: job.StepWouldChange, Message: "differs:\n-old\n+new"}
		}
	}

	for _, c := range []struct {
		name   string
		result job.Result
		want   string
	}{
		{"all alike", job.Result{Nodes: all, Outcome: job.Pass}, `Set-up: 2 steps on 3 nodes: 3 changed, 3 in place
  changed       Install runc 1.3.6  on all 3 nodes
    before: runc 1.1.12 is installed
  containerd: containerd 2.2.7, runc 1.3.6; a container sees 2 GPUs  on all 3 nodes

Verdict     passed
`},
		{"one node", job.Result{Nodes: all[:1], Outcome: job.Pass}, `Set-up: 2 steps on 1 node: 1 changed, 1 in place
  changed       Install runc 1.3.6
    before: runc 1.1.12 is installed
  containerd: containerd 2.2.7, runc 1.3.6; a container sees 2 GPUs

Verdict     passed
`},
		{"a node that fails, and one that is locked", job.Result{Nodes: broken, Outcome: job.CouldNotRun, Failure: &job.Failure{Node: "gpu-3", Message: "another set-up works there", Advice: "wait for its end"}},
			`Set-up: 3 steps on 2 nodes: 1 changed, 1 failed, 1 not run, 2 in place
  changed       Install runc 1.3.6  on gpu-1
    before: runc 1.1.12 is installed
  failed        Install runc 1.3.6  on gpu-2
    tar ended with exit status 2: no space left on device
    output:
    | tar: write error
    | [2Jtar: no space left on device
    → free space on that file system of the node (df -h, df -i), and start again
  not run       Pull busybox  on gpu-2
    install-runc failed before
  containerd: containerd 2.2.7, runc 1.3.6; a container sees 2 GPUs  on gpu-1
  gpu-3  another set-up (job 1a2b) works on gpu-3 since 4 min (could not run)
    wait for its end

Verdict     could not run
Reason      gpu-3: another set-up works there
Advice      wait for its end
`},
		{"a dry run of many nodes", job.Result{Nodes: dry, Outcome: job.Pass}, `Set-up: 2 steps on 10 nodes: 1 changed, 9 would change, 10 in place
  changed       Install runc 1.3.6  on gpu-1
    before: runc 1.1.12 is installed
  would change  Write /etc/motd  on 9 nodes: gpu-2, gpu-3, gpu-4, gpu-5, gpu-6, gpu-7, gpu-8, gpu-9, …
    differs:
    -old
    +new

Verdict     passed
`},
		{"no set-up", job.Result{Nodes: []job.NodeResult{{Name: "gpu-1"}}, Outcome: job.Pass}, "Verdict     passed\n"},
	} {
		if got := table(t, c.result); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}

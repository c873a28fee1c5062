// SPDX-License-Identifier: MPL-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const setUpDir = "/var/lib/chaos"

// disturbances of a node during its set-up, each a script there, and what ends it.
var disturbances = []struct{ name, begin, end string }{
	{"connection cut", `pkill -KILL -u opc || :`, ``},
	{"sshd stopped", `pkill -STOP -x sshd || :`, `pkill -CONT -x sshd || :`},
	{"disk full", `cat /dev/zero >` + setUpDir + `/filler 2>/dev/null || :`, `rm -f ` + setUpDir + `/filler`},
	{"set-up killed", `pkill -KILL -f 'ocihpc-runner.* apply' || :`, ``},
}

// TestSetUp disturbs one node at a random moment of a set-up: the result must be true, the next set-up must reach the
// wanted state, and the one after that must change nothing.
func TestSetUp(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("the moments are drawn with -seed %d", *seed)
	runner := filepath.Join(t.TempDir(), "ocihpc-runner")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "../../runner").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	nodes, err := acctest.StartNodes(t.Context(), runner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Close() })
	if err := nodes.Grow(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(*seed, 5))
	for n := range *setUps {
		d, after := disturbances[random.IntN(len(disturbances))], time.Duration(random.Int64N(int64(3*time.Second)))
		victim := nodes.Nodes[1+random.IntN(2)]
		t.Run(fmt.Sprintf("%d/%s", n, d.name), func(t *testing.T) {
			on := func(node job.Node, script string) (string, error) {
				out, err := nodes.Exec(context.WithoutCancel(t.Context()), node.ID, "sh", "-c", script)
				return string(out), err
			}
			for _, node := range nodes.Nodes { // a disk of its own, small enough to fill
				if out, err := on(node, "umount "+setUpDir+" 2>/dev/null; mkdir -p "+setUpDir+" && mount -t tmpfs -o size=1m none "+setUpDir); err != nil {
					t.Fatal(out, err)
				}
			}
			var steps []job.Step
			for i := range 10 {
				file := fmt.Sprintf("%s/%d", setUpDir, i)
				steps = append(steps,
					job.Step{Name: fmt.Sprintf("wait-%d", i), Command: &job.CommandStep{Argv: []string{"sh", "-c", "sleep 0.2; echo done >" + file + ".done"}, Unless: []string{"grep", "-q", "done", file + ".done"}}},
					job.Step{Name: fmt.Sprintf("file-%d", i), File: &job.FileStep{Path: file, Content: "wanted\n", Mode: "0644"}})
			}
			text, err := json.Marshal(job.Setup{Steps: steps})
			if err != nil {
				t.Fatal(err)
			}
			if err := nodes.Put(t.Context(), nodes.Head(), "/root/chaos.json", 0o600, text); err != nil {
				t.Fatal(err)
			}
			run := func(dir string) job.Result {
				result, err := nodes.SetUp(t.Context(), "/root/chaos.json", "/root/"+dir, "--reconnect-timeout", "5s", "--connect-timeout", "20s")
				if err != nil && len(result.Nodes) == 0 {
					t.Fatal(err)
				}
				return result
			}
			disturbed := make(chan struct{})
			go func() {
				defer close(disturbed)
				time.Sleep(after) // The moment is the point of the test; whichever it is, the end must be the same.
				_, _ = on(victim, d.begin)
			}()
			first := run(fmt.Sprintf("chaos-%d-1", n))
			<-disturbed
			for _, node := range first.Nodes { // what is said to be done is there
				if node.Setup == nil { // it was never reached
					if node.Name != victim.Name || first.Outcome != job.CouldNotRun {
						t.Errorf("%s has no set-up, and the result is %s", node.Name, first.Outcome)
					}
					continue
				}
				if node.Setup.Failure != nil && first.Outcome == job.Pass {
					t.Errorf("%s failed in a set-up that passed", node.Name)
				}
				for _, s := range node.Setup.Steps {
					if i, ok := strings.CutPrefix(s.Name, "file-"); ok && (s.Outcome == job.StepChanged || s.Outcome == job.StepUnchanged) {
						for _, m := range nodes.Nodes {
							if out, _ := on(m, "cat "+setUpDir+"/"+i); m.Name == node.Name && out != "wanted\n" {
								t.Errorf("%s: %s is said to be %s, and the file has %q", node.Name, s.Name, s.Outcome, out)
							}
						}
					}
				}
				if failed := node.Setup.Failure != nil; failed && node.Name != victim.Name {
					t.Errorf("%s was not disturbed: %+v", node.Name, node.Setup.Failure)
				}
			}
			t.Logf("%s on %s after %s: %s %+v", d.name, victim.Name, after.Round(time.Millisecond), first.Outcome, first.Failure)
			if _, err := on(victim, d.end); err != nil && d.end != "" {
				t.Fatal(err)
			}
			if again := run(fmt.Sprintf("chaos-%d-2", n)); again.Outcome != job.Pass {
				t.Errorf("the next set-up: %+v", again.Failure)
			}
			for _, node := range run(fmt.Sprintf("chaos-%d-3", n)).Nodes {
				for _, s := range node.Setup.Steps {
					if s.Outcome != job.StepUnchanged {
						t.Errorf("%s: %s is %s by a third set-up", node.Name, s.Name, s.Outcome)
					}
				}
			}
		})
	}
}

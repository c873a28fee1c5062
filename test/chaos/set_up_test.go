// SPDX-License-Identifier: MPL-2.0

package chaos

import (
	"cmp"
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

// TestSetUp disturbs one node at a random moment of a set-up: the result must be true, the next set-up must reach the
// wanted state, and the one after that must change nothing.
func TestSetUp(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("the moments are drawn with -seed %d", *seed)
	runner := filepath.Join(t.TempDir(), "ocihpc-runner")
	nodes := startNodes(t, runner)
	random := rand.New(rand.NewPCG(*seed, 5))
	takes := undisturbedSetUp(t, nodes)
	var order []int // each disturbance as often as the others
	for n := range *setUps {
		if len(order) == 0 {
			order = random.Perm(len(disturbances))
		}
		s := setUp{nodes: nodes, runner: runner, disturbance: disturbances[order[0]], victim: nodes.Nodes[1+random.IntN(len(nodes.Nodes)-1)], dir: fmt.Sprintf("/root/chaos-%d", n)}
		s.after, order = time.Duration(random.Int64N(int64(takes))), order[1:]
		if random.IntN(2) == 0 { // else it lasts longer than the set-up
			s.lasts = time.Duration(random.Int64N(int64(12 * time.Second)))
		}
		t.Run(fmt.Sprintf("%d/%s", n, s.name), s.survive)
	}
}

// startNodes builds the runner, and gives a head node and two others.
func startNodes(t *testing.T, runner string) *acctest.Nodes {
	t.Helper()
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
	return nodes
}

// stepsPath is where the steps are on the head node.
const stepsPath = "/root/chaos.json"

// setUp is one that is disturbed.
type setUp struct {
	disturbance
	nodes        *acctest.Nodes
	runner       string // binary
	victim       job.Node
	dir          string // of the jobs, on the head node
	after, lasts time.Duration
}

// undisturbedSetUp gives the time that a set-up takes when nothing happens, and leaves its steps on the head node.
func undisturbedSetUp(t *testing.T, nodes *acctest.Nodes) time.Duration {
	t.Helper()
	s := setUp{nodes: nodes, dir: "/root/undisturbed"}
	if err := s.prepare(t.Context(), nodes, s.victim); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(job.Setup{Steps: steps()})
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes.Put(t.Context(), nodes.Head(), stepsPath, 0o600, text); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	result, err := s.run(t.Context(), 1)
	if err != nil || result.Outcome != job.Pass {
		t.Fatalf("the undisturbed set-up: %v %+v", err, result.Failure)
	}
	return time.Since(begun)
}

func (s setUp) survive(t *testing.T) {
	if err := s.prepare(t.Context(), s.nodes, s.victim); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	first, err := s.disturbed(t)
	took := time.Since(begun)
	lasts := "ever"
	if s.lasts != 0 {
		lasts = s.lasts.Round(time.Millisecond).String()
	}
	t.Logf("%s on %s after %s for %s: %s in %s: %+v", s.name, s.victim.Name, s.after.Round(time.Millisecond), lasts,
		cmp.Or(first.Outcome, "no result"), took.Round(time.Millisecond), first.Failure)
	if err != nil && !s.headless {
		t.Fatal(err)
	}
	if s.end != nil && s.lasts == 0 && s.small { // what is on a full disk can be read
		s.mustBeTrue(t, first)
	}
	if s.end != nil && s.lasts == 0 {
		if err := s.end(context.WithoutCancel(t.Context()), s.nodes, s.victim); err != nil {
			t.Fatal(err)
		}
	}
	s.mustBeTrue(t, first)
	if again, err := s.run(t.Context(), 2); err != nil || again.Outcome != job.Pass {
		t.Errorf("the next set-up: %v %+v", err, again.Failure)
	}
	s.mustBeInPlace(t)
}

// disturbed gives the result of a set-up during which the disturbance struck.
func (s setUp) disturbed(t *testing.T) (job.Result, error) {
	t.Helper()
	if s.outside {
		c := caller{s.nodes.Info, s.nodes.Nodes, s.runner}
		c.killed(t, s.after)
		return c.execute(t.Context())
	}
	struck := make(chan error, 1)
	go func() { struck <- s.strike(context.WithoutCancel(t.Context()), s.nodes, s.victim, s.after, s.lasts) }()
	result, err := s.run(t.Context(), 1)
	if stroke := <-struck; stroke != nil {
		t.Fatalf("%s: %v", s.name, stroke)
	}
	return result, err
}

// steps take two seconds, in which they leave twenty files.
func steps() []job.Step {
	var all []job.Step
	for i := range 10 {
		made, written := fmt.Sprintf("%s/made-%d", setUpDir, i), fmt.Sprintf("%s/written-%d", setUpDir, i)
		all = append(all,
			job.Step{Name: fmt.Sprintf("made-%d", i), Command: &job.CommandStep{
				Argv: []string{"sh", "-c", "sleep 0.2; echo wanted >" + made}, Unless: []string{"grep", "-qx", "wanted", made},
			}},
			job.Step{Name: fmt.Sprintf("written-%d", i), File: &job.FileStep{Path: written, Content: "wanted\n", Mode: "0644"}})
	}
	return all
}

func (s setUp) run(ctx context.Context, number int) (job.Result, error) {
	return s.nodes.SetUp(ctx, stepsPath, fmt.Sprintf("%s-%d", s.dir, number), "--reconnect-timeout", "15s", "--connect-timeout", "15s")
}

// inPlace gives the names of the steps that a node truly has in place.
func (s setUp) inPlace(t *testing.T, node job.Node) map[string]bool {
	t.Helper()
	out, err := s.nodes.Exec(t.Context(), node.ID, "sh", "-c", "cd "+setUpDir+" && { grep -lx wanted made-* written-* 2>/dev/null || :; }")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, name := range strings.Fields(string(out)) {
		there[name] = true
	}
	return there
}

// mustBeTrue holds a result against what is on the nodes.
func (s setUp) mustBeTrue(t *testing.T, result job.Result) {
	t.Helper()
	if len(result.Nodes) == 0 {
		return // nobody said anything
	}
	want := job.Pass
	for i, said := range result.Nodes {
		if said.Setup == nil {
			t.Errorf("of %s nothing is said", said.Name)
			continue
		}
		if failure := said.Setup.Failure; failure != nil {
			want = job.Worse(want, said.Setup.Outcome())
			s.mustBeExplained(t, said)
		}
		there := s.inPlace(t, s.nodes.Nodes[i])
		if all := len(steps()); said.Setup.Failure == nil && (len(there) != all || len(said.Setup.Steps) != all) {
			t.Errorf("%s is said to be set up, and has %d steps in place of %d, of which %d were told of", said.Name, len(there), all, len(said.Setup.Steps))
		}
		for _, step := range said.Setup.Steps {
			switch step.Outcome {
			case job.StepChanged, job.StepUnchanged:
				if !there[step.Name] {
					t.Errorf("%s: %s is said to be %s, and is not in place", said.Name, step.Name, step.Outcome)
				}
			default:
				if there[step.Name] {
					t.Errorf("%s: %s is said to be %s (%s), and is in place", said.Name, step.Name, step.Outcome, step.Message)
				}
			}
		}
	}
	if result.Outcome != want || (result.Failure != nil) != (want != job.Pass) {
		t.Errorf("the result is %s (%+v), that of its nodes %s", result.Outcome, result.Failure, want)
	}
}

// mustBeExplained expects that a node failed because of the disturbance, with the step, its output, and what to do.
func (s setUp) mustBeExplained(t *testing.T, said job.NodeResult) {
	t.Helper()
	failure := said.Setup.Failure
	if said.Name != s.victim.Name {
		t.Errorf("%s was not disturbed: %+v", said.Name, failure)
	}
	if failure.Message == "" || failure.Advice == "" {
		t.Errorf("%s: the failure does not say what happened and what to do: %+v", said.Name, failure)
	}
	if failure.Kind != job.KindStepFailed {
		return
	}
	for _, step := range said.Setup.Steps {
		if step.Outcome == job.StepFailed {
			if step.Message == "" || step.Advice == "" || strings.HasPrefix(step.Name, "made-") && step.Output == "" {
				t.Errorf("%s: the failure of a step does not say what happened and what to do: %+v", said.Name, step)
			}
			return
		}
	}
	t.Errorf("%s: no step failed: %+v", said.Name, failure)
}

// mustBeInPlace expects that a further set-up changes nothing.
func (s setUp) mustBeInPlace(t *testing.T) {
	t.Helper()
	result, err := s.run(t.Context(), 3)
	if err != nil || result.Outcome != job.Pass {
		t.Errorf("the third set-up: %v %+v", err, result.Failure)
	}
	for _, node := range result.Nodes {
		for _, step := range node.Setup.Steps {
			if step.Outcome != job.StepUnchanged {
				t.Errorf("%s: %s is %s by a third set-up", node.Name, step.Name, step.Outcome)
			}
		}
	}
}

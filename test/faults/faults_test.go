// SPDX-License-Identifier: MPL-2.0

// Package faults spoils hosts of the lab, and expects that a benchmark names what was spoilt within the runs that it says,
// that a clean cluster is never accused, and that no process is left on any host.
package faults

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

var clean = flag.Int("clean", 1, "measurements of a clean cluster, none of which may accuse anybody")

// all says that every fault is tried, on 8 hosts, rather than one on 4.
var all = os.Getenv("OCIHPC_TEST_FAULTS") != ""

// bench are hosts with one of the lab's GPUs each in use.
type bench struct {
	t     *testing.T
	nodes *acctest.Nodes
	runs  int // so far, to name their directories
}

func newBench(t *testing.T, size int) *bench {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("needs the lab's hosts: set TF_ACC=1 to run it")
	}
	runner := filepath.Join(t.TempDir(), "ocihpc-runner")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "../../runner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the runner: %v\n%s", err, out)
	}
	nodes, err := acctest.StartNodesOf(t.Context(), runner, "BM.GPU2.2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := nodes.Grow(t.Context(), size); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, nodes: nodes}
}

// mark is far above what a slowed way lets through, and far below what the lab reaches on a busy machine.
const (
	mark = 0.003 // GB/s
	rate = 8_000_000
)

// measure has the head node work on a job, and looks for what it left behind.
func (b *bench) measure(adjust func(*job.Benchmark)) job.Result {
	b.t.Helper()
	b.runs++
	least := mark
	j := job.Job{
		Version: job.Version, Nodes: slices.Clone(b.nodes.Nodes), SSH: job.SSH{User: "opc", Port: 22}, TimeoutSeconds: 900,
		Checks: job.Checks{Skip: []string{"mpi_ports"}},
		Benchmark: &job.Benchmark{
			Collective: "all_reduce", MinSizeBytes: 1 << 17, MaxSizeBytes: 1 << 19, StepFactor: 2, Iterations: 2, WarmupIterations: 1,
			GPUsPerNode: 1, Environment: map[string]string{
				"OMPI_MCA_mpi_yield_when_idle":            "1",
				"OMPI_MCA_coll_tuned_use_dynamic_rules":   "1",
				"OMPI_MCA_coll_tuned_allreduce_algorithm": "4", // a ring over the nodes in their order, as NCCL's
			},
			Expect: job.Expectation{MinBusbwGBPerS: &least}, TimeoutSeconds: 60,
		},
	}
	if adjust != nil {
		adjust(j.Benchmark)
	}
	j.Nodes[0].HostKey = ""
	text, err := json.Marshal(j)
	if err != nil {
		b.t.Fatal(err)
	}
	dir := fmt.Sprintf("/home/opc/job-%d", b.runs)
	head := b.nodes.Head()
	if err := b.nodes.Put(b.t.Context(), head, "/root/job.json", 0o644, text); err != nil {
		b.t.Fatal(err)
	}
	script := `install -d -o opc -m 700 "$1"; install -o opc -m 600 ` + acctest.NodesKeyPath + ` "$1/id_ed25519"; install -o opc -m 600 /root/job.json "$1/job.json"
install -m 755 ` + acctest.RunnerPath + ` /usr/local/bin/runner
exec runuser -u opc -- env HOME=/home/opc PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin runner run "$1/job.json" --dir "$1" --output json`
	out, err := b.nodes.Exec(b.t.Context(), head, "sh", "-c", script, "sh", dir)
	var result job.Result
	if decodeErr := job.DecodeStrict(out, &result); decodeErr != nil {
		b.t.Fatalf("result: %v (%v)", decodeErr, err)
	}
	b.nothingLeft()
	return result
}

// nothingLeft looks for processes of the benchmark on every host.
func (b *bench) nothingLeft() {
	b.t.Helper()
	for _, n := range b.nodes.Nodes {
		var left string
		for range 50 { // sshd ends a session's shell a moment after the session
			out, err := b.nodes.Exec(b.t.Context(), n.ID, "sh", "-c", `pgrep -a 'mpirun|orted|all_reduce|runner' || :`)
			if left = string(out); err == nil && left == "" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if left != "" {
			b.t.Errorf("left on %s: %s", n.Name, left)
		}
	}
}

// fault is what is spoilt, and what is to be found.
type fault struct {
	spoil map[int]lab.Fault // by node
	to    map[int]int       // the other end of a slowed link
	want  func(names []string) []string
	runs  int // of groups, at most
	check func(*testing.T, job.Result)
	limit int // seconds for one run; 0 means plenty
	// symptom of all suspects; empty is not looked at.
	symptom    job.Symptom
	iterations int // 0 means two
}

func node(indexes ...int) func([]string) []string {
	return func(names []string) []string {
		var want []string
		for _, i := range indexes {
			want = append(want, "node "+names[i])
		}
		return want
	}
}

func link(a, b int) func([]string) []string {
	return func(names []string) []string { return []string{"link " + names[a] + " - " + names[b]} }
}

var first = 0

// faults on so many hosts, with the runs that the search may take. Those of hosts that are found alone leave the others to
// be measured once.
func faults() map[string]fault {
	if !all {
		return map[string]fault{"slowed link": {spoil: map[int]lab.Fault{1: {BitsPerSecond: rate}}, to: map[int]int{1: 2}, want: link(1, 2), runs: 12, symptom: job.SymptomSlow}}
	}
	return map[string]fault{
		"slowed link":         {spoil: map[int]lab.Fault{2: {BitsPerSecond: rate}}, to: map[int]int{2: 3}, want: link(2, 3), runs: 16},
		"slowed link, across": {spoil: map[int]lab.Fault{3: {BitsPerSecond: rate}}, to: map[int]int{3: 4}, want: link(3, 4), runs: 16},
		"slowed node":         {spoil: map[int]lab.Fault{5: {BitsPerSecond: rate}}, want: node(5), runs: 8},
		"slowed head node":    {spoil: map[int]lab.Fault{0: {BitsPerSecond: rate}}, want: node(0), runs: 8},
		"wrong results":       {spoil: map[int]lab.Fault{6: {WrongGPU: &first}}, want: node(6), runs: 1},
		"cannot start":        {spoil: map[int]lab.Fault{3: {NoStart: true}}, want: node(3), runs: 1},
		"hanging rank": {spoil: map[int]lab.Fault{4: {Hang: true}}, want: node(4), runs: 3, limit: 15, check: func(t *testing.T, r job.Result) {
			t.Helper()
			for _, text := range []string{"time limit", "when all 8 ranks had their GPUs", "rank 4 on " + r.Nodes[4].Name + " stands still"} {
				if f := r.Overall().Failure; f == nil || !strings.Contains(f.Message, text) {
					t.Errorf("%q is not in %+v", text, f)
				}
			}
		}},
		"throttled node":          {spoil: map[int]lab.Fault{5: {ThrottleMilliseconds: 2000}}, want: node(5), runs: 8, iterations: 5},
		"two slowed nodes":        {spoil: map[int]lab.Fault{1: {BitsPerSecond: rate}, 6: {BitsPerSecond: rate}}, want: node(1, 6), runs: 16},
		"wrong and slowed":        {spoil: map[int]lab.Fault{2: {WrongGPU: &first}, 7: {BitsPerSecond: rate}}, want: node(2, 7), runs: 9},
		"two neighbours are slow": {spoil: map[int]lab.Fault{4: {BitsPerSecond: rate}, 5: {BitsPerSecond: rate}}, want: node(4, 5), runs: 16},
	}
}

func TestFaultsAreFound(t *testing.T) {
	size := 4
	if all {
		size = 8
	}
	b := newBench(t, size)
	var names, ids []string
	for _, n := range b.nodes.Nodes {
		names, ids = append(names, n.Name), append(ids, n.ID)
	}
	for i := range *clean {
		began := time.Now()
		r := b.measure(nil)
		if r.Outcome != job.Pass || len(r.Suspects) > 0 {
			t.Fatalf("clean run %d: %s, %v: %+v", i, r.Outcome, r.Suspects, r.Failure)
		}
		t.Logf("clean run %d: %.3f GB/s, %.1f s", i+1, *r.Overall().Report.AvgBusbwGBPerS, time.Since(began).Seconds())
	}
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			b.t = t
			for i, fault := range f.spoil {
				if to, isLink := f.to[i]; isLink {
					fault.To = ids[to]
				}
				if err := b.nodes.SetFault(t.Context(), ids[i], fault); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := b.nodes.ClearFaults(context.WithoutCancel(t.Context()), ids[i]); err != nil {
						t.Error(err)
					}
				}()
			}
			began := time.Now()
			r := b.measure(func(b *job.Benchmark) {
				if f.limit > 0 {
					b.TimeoutSeconds = f.limit
				}
				if f.iterations > 0 {
					b.Iterations = f.iterations
				}
			})
			var found []string
			groups := 0
			for _, s := range r.Suspects {
				found = append(found, s.Name())
				if f.symptom != "" && s.Symptom != f.symptom {
					t.Errorf("%s is %s, want %s: %q", s.Name(), s.Symptom, f.symptom, s.Evidence)
				}
			}
			for _, m := range r.Runs {
				if m.Scope == job.ScopeGroup {
					groups++
				}
			}
			t.Logf("%d runs of groups (at most %d), %.1f s: %s", groups, f.runs, time.Since(began).Seconds(), r.Conclusion)
			slices.Sort(found)
			want := f.want(names)
			slices.Sort(want)
			if r.Outcome != job.Fail || groups > f.runs || !slices.Equal(found, want) {
				t.Errorf("%s, %d runs, found %q, want %q: %+v", r.Outcome, groups, found, want, r.Suspects)
			}
			if f.check != nil {
				f.check(t, r)
			}
		})
	}
	b.t = t
}

func TestMain(m *testing.M) { acctest.Main(m) }

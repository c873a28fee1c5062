// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestRanks measures two nodes from within containers: mpirun runs in one of them, and its daemon in the other. What is
// killed in the middle leaves no container.
func TestRanks(t *testing.T) {
	t.Parallel()
	for _, engine := range []job.Engine{job.Docker, job.Podman, job.Containerd} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			if engine == job.Containerd && os.Getenv("NERDCTL_BINARY") == "" {
				t.Skip("NERDCTL_BINARY names no nerdctl")
			}
			n := start(t, engine)
			n.image = n.registry.Push(t, "team/nccl-tests:1", containertest.MPIImage(t))
			want := n.base
			want.Images = []string{n.image}
			if engine == job.Docker {
				want.Versions = map[string]string{"docker": "26.1.5"}
			}
			passes(t, n.setUp(t, want))
			client := map[job.Engine]string{job.Docker: "docker", job.Podman: "podman", job.Containerd: "nerdctl"}[engine]

			c := job.Container{Engine: engine, Image: n.image, Mounts: []string{"/etc/hostname:/host-name:ro"}}
			result, run := n.passes(t, inside(c))
			if dir := path.Dir(result.Nodes[1].Facts.NCCLTests); dir != containertest.TestsDir || run.Command[len(run.Command)-1] == "" {
				t.Errorf("nccl-tests of %s: %q", dir, run.Command)
			}
			n.noContainers(t, client)
			t.Run("killed", func(t *testing.T) { n.killed(t, c, client) })
			t.Run("no such image", func(t *testing.T) {
				none := c
				none.Image = n.registry.Address + "/team/nothing:1"
				result := n.measure(t, inside(none), 1<<12)
				refused(t, result, "the container could not be started on gpu-", "images of ocihpc_container_runtime")
				n.noContainers(t, client)
			})
			t.Run("built", func(t *testing.T) { n.built(t, c) })
			t.Run("rootless", func(t *testing.T) {
				want.RootlessUser = user
				passes(t, n.setUp(t, want))
				mine := c
				mine.Rootless = true
				result := n.measure(t, inside(mine), 1<<12)
				if engine == job.Docker { // its RootlessKit is too old: what it calls the host's network is its own
					refused(t, result, "does not have the node's network", "RootlessKit with detach-netns")
				} else if run := result.Overall(); run == nil || run.Outcome != job.Pass || len(run.Report.Hosts()) != 2 {
					t.Errorf("%s: %+v\n%s", result.Outcome, result.Failure, n.as(t, 0, "cat bench/*.log bench.err | tail -c 6000"))
				}
				for node := range n.ids {
					until(t, "the end of all rootless containers", func() bool {
						return n.as(t, node, "DOCKER_HOST=unix://$XDG_RUNTIME_DIR/docker.sock "+client+" ps --all --quiet") == ""
					})
				}
			})
		})
	}
}

// passes measures, and expects all ranks of both nodes.
func (n *nodes) passes(t *testing.T, b job.Benchmark) (job.Result, *job.Measurement) {
	t.Helper()
	result := n.measure(t, b, 1<<12)
	run := result.Overall()
	if run == nil || run.Outcome != job.Pass || run.Report == nil || len(run.Report.Ranks) != 4 || len(run.Report.Hosts()) != 2 {
		t.Fatalf("%s: %+v\n%s", result.Outcome, result.Failure, n.as(t, 0, "cat bench/*.log bench/*.ndjson | tail -c 6000"))
	}
	return result, run
}

// built has nccl-tests built in the container of one node, by a Makefile that needs no compiler, and handed to the other node.
func (n *nodes) built(t *testing.T, c job.Container) {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	const makefile = "all:\n\ttest $(MPI) = 1 && mkdir -p build && cp " + containertest.TestsDir + "/all_reduce_perf build/\n"
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "nccl-tests/Makefile", Mode: 0o644, Size: int64(len(makefile))})
	if _, writeErr := archive.Write([]byte(makefile)); errors.Join(err, writeErr, archive.Close()) != nil {
		t.Fatal(err, writeErr)
	}
	address := containertest.Serve(t, n.lab, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text.Bytes()) }))
	n.source = &job.NCCLTestsSource{ArchiveURL: "http://" + address + "/nccl-tests.tar", SHA256: digest(text.Bytes()), Always: true}
	defer func() { n.source = nil }()
	result := n.measure(t, inside(c), 1<<12)
	if run := result.Overall(); run == nil || run.Outcome != job.Pass || !strings.Contains(strings.Join(run.Command, " "), " "+job.ContainerTests+"/") {
		t.Fatalf("%s: %+v\n%s", result.Outcome, result.Failure, n.as(t, 0, "cat bench/*.log bench.err | tail -c 6000"))
	}
	owners := map[string]int{}
	for _, id := range n.ids {
		owners[containertest.Run(t, n.lab, id, "stat -c %U "+home+"/.ocihpc/nccl-tests/*/all_reduce_perf; ls "+home+"/.ocihpc/nccl-tests | wc -l")]++
	}
	if owners[user+"\n1\n"] != 2 {
		t.Errorf("what was built belongs to %v", owners)
	}
}

// inside is a benchmark that runs in containers.
func inside(c job.Container) job.Benchmark { return job.Benchmark{Container: &c} }

// bench writes a job that measures so.
func (n *nodes) bench(t *testing.T, b job.Benchmark, largest int64) {
	t.Helper()
	var j job.Job
	if err := json.Unmarshal([]byte(containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/job.json")), &j); err != nil {
		t.Fatal(err)
	}
	j.Checks.Skip = []string{"clock"} // it is this machine's
	b.NCCLTestsSource, b.Collective, b.MinSizeBytes, b.MaxSizeBytes, b.StepFactor, b.Iterations, b.WarmupIterations = n.source, "all_reduce", 8, largest, 4, 3, 1
	b.GPUsPerNode, b.Environment, b.TimeoutSeconds = 2, map[string]string{"OMPI_MCA_mpi_yield_when_idle": "1"}, 300
	j.Benchmark = &b
	if largest > 1<<20 {
		j.Benchmark.Iterations, j.Benchmark.Pattern = 100000, job.PatternAll
	}
	containertest.Run(t, n.lab, n.ids[0], fmt.Sprintf("rm -rf %[1]s/bench; install -d -o %[2]s -g %[2]s -m 700 %[1]s/bench; install -o %[2]s -m 600 %[1]s/key %[1]s/bench/id_ed25519", home, user))
	n.put(t, writeJSON(t, t.TempDir(), "bench.json", j), home+"/bench.json", "644")
}

const runBench = "cd; ./ocihpc-runner run bench.json --dir bench --output json >bench.out 2>bench.err"

func (n *nodes) measure(t *testing.T, b job.Benchmark, largest int64) job.Result {
	t.Helper()
	n.bench(t, b, largest)
	status := n.as(t, 0, runBench+" || echo $?")
	var result job.Result
	if err := json.Unmarshal([]byte(containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/bench.out")), &result); err != nil {
		t.Fatalf("status %s, %v\n%s", status, err, containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/bench.err"))
	}
	return result
}

// killed kills the runner while ranks run on both nodes: their containers end by themselves.
func (n *nodes) killed(t *testing.T, c job.Container, client string) {
	t.Helper()
	n.bench(t, inside(c), 1<<22)
	n.as(t, 0, "(setsid sh -c "+quoted(runBench)+" </dev/null >/dev/null 2>&1 &)")
	for _, id := range n.ids {
		until(t, "ranks on "+id, func() bool {
			return strings.Contains(containertest.Run(t, n.lab, id, "pgrep all_reduce && "+client+" ps --quiet && pgrep 'orted|prted|mpirun|prterun' && echo together || :"), "together")
		})
	}
	containertest.Run(t, n.lab, n.ids[0], "kill -9 $(cat "+filepath.Join(home, "bench", "pid")+")")
	n.noContainers(t, client)
}

// noContainers waits until no container and no rank is left on any node.
func (n *nodes) noContainers(t *testing.T, client string) {
	t.Helper()
	for _, id := range n.ids {
		until(t, "the end of all containers on "+id, func() bool {
			return strings.TrimSpace(containertest.Run(t, n.lab, id, client+" ps --all --quiet; pgrep 'all_reduce|orted|prted|mpirun|prterun' || :")) == ""
		})
	}
}

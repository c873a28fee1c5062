// SPDX-License-Identifier: MPL-2.0

package container

import (
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func someRanks(change func(*Ranks)) Ranks {
	r := Ranks{Container: job.Container{Engine: job.Docker, Image: "r.example/nccl:1"}, Name: "ocihpc-0a", Runner: "/home/opc/.ocihpc/bin/runner", SocketDir: "/home/opc/.ocihpc/jobs/0a/rsh"}
	change(&r)
	return r
}

func TestRanksCommands(t *testing.T) {
	t.Parallel()
	const (
		mounts = "--volume /home/opc/.ocihpc/bin/runner:/ocihpc/ocihpc-runner:ro --volume /home/opc/.ocihpc/jobs/0a/rsh:/ocihpc/job"
		end    = "--user 0:0 --workdir / --entrypoint /ocihpc/ocihpc-runner r.example/nccl:1 container inside"
		begin  = " run --rm --interactive --name ocihpc-0a --network host --uts host "
	)
	for _, test := range []struct {
		ranks               Ranks
		start, enter, purge string
	}{
		{
			someRanks(func(*Ranks) {}),
			"docker" + begin + "--ipc host --ulimit memlock=-1:-1 --device /dev/infiniband/uverbs0 --device nvidia.com/gpu=all " + mounts + " " + end,
			"docker exec --interactive ocihpc-0a mpirun -np 2", "docker rm --force --volumes ocihpc-0a",
		},
		{
			someRanks(func(r *Ranks) {
				r.Engine, r.GPUs, r.ShmSizeBytes, r.SocketDir = job.Containerd, job.GPUsByOption, 1<<30, ""
				r.Ulimits, r.Devices, r.Mounts = map[string]int64{"nofile": 4096, "memlock": 1 << 30}, []string{"/dev/gdrdrv"}, []string{"/a:/b:ro"}
			}),
			"nerdctl run --rm --interactive --name ocihpc-0a --network host --shm-size 1073741824 --ulimit memlock=1073741824:1073741824 --ulimit nofile=4096:4096 --device /dev/infiniband/uverbs0 --device /dev/gdrdrv --gpus all " +
				"--volume /home/opc/.ocihpc/bin/runner:/ocihpc/ocihpc-runner:ro --volume /a:/b:ro " + end,
			"nerdctl exec --interactive ocihpc-0a mpirun -np 2", "nerdctl rm --force --volumes ocihpc-0a",
		},
		{
			someRanks(func(r *Ranks) { r.Engine, r.Mounts = job.Enroot, []string{"/a:/b"} }), "",
			"enroot start --root --rw --mount /home/opc/.ocihpc/bin/runner:/ocihpc/ocihpc-runner:rbind,ro,x-create=auto --mount /home/opc/.ocihpc/jobs/0a/rsh:/ocihpc/job:rbind,x-create=auto --mount /a:/b:rbind,x-create=auto ocihpc-0a mpirun -np 2",
			"enroot remove --force ocihpc-0a",
		},
	} {
		if got := strings.Join(test.ranks.start([]string{"/dev/infiniband/uverbs0"}, "container", "inside"), " "); test.start != "" && got != test.start {
			t.Errorf("got  %s\nwant %s", got, test.start)
		}
		if got := strings.Join(test.ranks.enter("mpirun", "-np", "2"), " "); got != test.enter {
			t.Errorf("got  %s\nwant %s", got, test.enter)
		}
		if got := strings.Join(test.ranks.remove(), " "); got != test.purge {
			t.Errorf("got  %s\nwant %s", got, test.purge)
		}
	}
	if got := strings.Join(someRanks(func(*Ranks) {}).start(nil), " "); strings.Contains(got, "ulimit") { // some nodes cannot lift it, and need not
		t.Errorf("without adapters: %s", got)
	}
	if got := enrootReference("nvcr.io/nvidia/pytorch:24.01-py3"); got != "nvcr.io#nvidia/pytorch:24.01-py3" {
		t.Errorf("%s", got)
	}
	if got := enrootReference("nvidia/cuda:12"); got != "nvidia/cuda:12" {
		t.Errorf("%s", got)
	}
}

// The engine of a user is asked in that user's session, also by a service, which has none.
func TestRanksEnvironment(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	rootful := someRanks(func(*Ranks) {}).environment()
	rootless := someRanks(func(r *Ranks) { r.Rootless = true }).environment()
	has := func(env []string, prefix string) bool {
		return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, prefix) })
	}
	if has(rootful, "DOCKER_HOST=unix:///run/user/") || !has(rootless, "DOCKER_HOST=unix:///run/user/") || !has(rootless, "XDG_RUNTIME_DIR=/run/user/") {
		t.Errorf("%q\n%q", rootful, rootless)
	}
}

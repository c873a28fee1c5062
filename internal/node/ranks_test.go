// SPDX-License-Identifier: MPL-2.0

package node

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestRankIn(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]int{
		"A=b\x00OMPI_COMM_WORLD_RANK=12\x00": 12, "SLURM_PROCID=0": 0, "PMIX_RANK=3\x00": 3,
		"": -1, "OMPI_COMM_WORLD_RANK=": -1, "XOMPI_COMM_WORLD_RANK=1": -1, "PMIX_RANK=-1": -1, "PMIX_RANK=x": -1,
	} {
		rank, ok := rankIn([]byte(environ))
		if ok != (want >= 0) || ok && rank != want {
			t.Errorf("%q: %d, %v", environ, rank, ok)
		}
	}
}

// A rank that waits is told from one that works.
func TestRanks(t *testing.T) { //nolint:paralleltest // it looks at processor time
	for rank, script := range map[string]string{"910001": "while :; do :; done", "910002": "exec sleep 60"} {
		process := exec.CommandContext(t.Context(), "sh", "-c", script)
		process.Env = []string{"PATH=/usr/bin:/bin", "OMPI_COMM_WORLD_RANK=" + rank}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = process.Process.Kill() // the context has done so
			_ = process.Wait()
		})
	}
	var found []Rank
	for range 10 { // until both have started, and the busy one has had its turn
		found = slices.DeleteFunc(Ranks(t.Context(), time.Second), func(r Rank) bool { return r.Rank < 910000 })
		if len(found) == 2 && found[0].Ticks > 0 && found[1].Ticks == 0 {
			return
		}
	}
	t.Errorf("%+v", found)
}

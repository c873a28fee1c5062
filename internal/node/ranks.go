// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rank is a process that a launcher started on this node as a rank.
type Rank struct {
	Rank int `json:"rank"`
	// Ticks of processor time that it took while it was looked at: 100 a second for each of its busy threads.
	Ticks int64 `json:"ticks"`
}

// rankVariables are what launchers tell a process its rank by.
var rankVariables = []string{"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "SLURM_PROCID="}

// Ranks looks for a time at the ranks on this node that belong to this user, lowest first.
func Ranks(ctx context.Context, during time.Duration) []Rank {
	before := rankTicks()
	select {
	case <-time.After(during):
	case <-ctx.Done():
	}
	ranks := []Rank{}
	after := rankTicks()
	for rank, ticks := range after {
		if earlier, ok := before[rank]; ok {
			ranks = append(ranks, Rank{Rank: rank, Ticks: ticks - earlier})
		}
	}
	slices.SortFunc(ranks, func(a, b Rank) int { return a.Rank - b.Rank })
	return ranks
}

// rankTicks adds up the processor time of each rank's processes.
func rankTicks() map[int]int64 {
	ticks := map[int]int64{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, environ := range environs {
		text, err := os.ReadFile(environ) // #nosec G304 -- below /proc
		if err != nil {
			continue // another user's, or gone
		}
		if rank, ok := rankIn(text); ok {
			ticks[rank] += ticksOf(filepath.Dir(environ))
		}
	}
	return ticks
}

// rankIn reads the rank from a process' environment.
func rankIn(environ []byte) (int, bool) {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		for _, name := range rankVariables {
			if value, found := strings.CutPrefix(string(variable), name); found {
				rank, err := strconv.Atoi(value)
				return rank, err == nil && rank >= 0
			}
		}
	}
	return 0, false
}

// ticksOf reads the processor time from /proc/PID/stat, whose second field, in parentheses, may hold anything.
func ticksOf(process string) int64 {
	text, err := os.ReadFile(filepath.Join(process, "stat")) // #nosec G304 -- below /proc
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	total := int64(0)
	for _, field := range fields[user : system+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		total += ticks
	}
	return total
}

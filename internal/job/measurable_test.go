// SPDX-License-Identifier: MPL-2.0

package job

import (
	"strings"
	"testing"
)

func TestWhatCanBeMeasured(t *testing.T) {
	t.Parallel()
	for _, collective := range Collectives {
		if err := CheckCollective(collective); err != nil {
			t.Error(err)
		}
	}
	for want, err := range map[string]error{
		"":                                        CheckDataType("f8e5m2"),
		`"all" measures one reduction after`:      CheckRedOp("all"),
		`"fp8" is no data type of nccl-tests`:     CheckDataType("fp8"),
		`"allreduce" is no collective`:            CheckCollective("allreduce"),
		"hypercube needs a power of two of ranks": CheckRanks("hypercube", 12),
	} {
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if CheckRanks("hypercube", 16) != nil || CheckRanks("all_reduce", 12) != nil {
		t.Error("ranks that can be measured are refused")
	}
}

// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// congestionControl is whether the adapter of one RDMA port regulates itself by round-trip times.
type congestionControl struct {
	port string
	on   bool
	err  error
}

// askCongestion reads the register for it of every port, at the same time. Source: oci-hpc 3.1's health checks.
func askCongestion(ctx context.Context, ports []hca) []congestionControl {
	answers := make([]congestionControl, len(ports))
	var group sync.WaitGroup
	for i, h := range ports {
		answers[i].port = h.Name
		group.Go(func() {
			text, err := answerAsRoot(ctx, "mlxreg", "-d", h.Name, "-y", "--get", "--reg_name=PPCC",
				"--indexes=local_port=1,pnat=0,lp_msb=0,algo_slot=0,algo_param_index=0")
			answers[i].on, answers[i].err = byRoundTrip(text), err
		})
	}
	group.Wait()
	return answers
}

// byRoundTrip reads mlxreg's table, whose lines are such as "value          | 0x00000001".
func byRoundTrip(table string) bool {
	for line := range strings.Lines(table) {
		field, value, _ := strings.Cut(line, "|")
		if strings.TrimSpace(field) == "value" && strings.TrimSpace(value) == "0x00000001" {
			return true
		}
	}
	return false
}

// regulates says whether the adapters of a shape know congestion control by round-trip times: from ConnectX-6 Dx on.
func regulates(name string) bool {
	s, known := shape.Lookup(name)
	return known && s.IsRDMA() && s.NICFamily.Usable() && !strings.HasPrefix(s.NICFamily.V, "ConnectX-5")
}

func checkCongestion(f findings) job.Check {
	const name = "rdma_congestion"
	parts := []part{}
	var silent error
	for _, c := range f.congestion {
		switch {
		case c.err != nil:
			silent = c.err
		case c.on:
			parts = append(parts, part{c.port, verdict{job.Warn, "congestion control by round-trip times is on", ""}})
		default:
			parts = append(parts, part{c.port, pass})
		}
	}
	if len(parts) == 0 && silent != nil {
		return check(name, job.CannotTell, fmt.Sprintf("the adapters could not be asked: %v", silent), "have NVIDIA's firmware tools (mft), and let the login user run mlxreg by sudo without a password")
	}
	return combine(name, "congestion control by round-trip times is off, as Oracle's network wants it", parts)
}

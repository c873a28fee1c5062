// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// rate is a flag in bits a second, with a unit.
type rate uint64

var rateUnits = []struct {
	name string
	bits uint64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

func (r *rate) String() string { return "" }
func (r *rate) Type() string   { return "RATE" }

func (r *rate) Set(text string) error {
	for _, unit := range rateUnits {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n == 0 || n*unit.bits < 8000 {
			break
		}
		*r = rate(n * unit.bits)
		return nil
	}
	return errors.New("a rate is a whole number of gbit, mbit or kbit a second, such as 5mbit, and at least 8kbit")
}

func newFault(dir *string) *cobra.Command {
	var f lab.Fault
	var slow rate
	wrong := -1
	var throttle time.Duration
	var ended bool
	cmd := &cobra.Command{
		Use: "fault HOST [flags]", Short: "Have something go wrong with a host that runs",
		Long: `fault has something go wrong with a host, known by its host name or OCID (see "status"), so that you can see
what a benchmark makes of it. Faults add up; --clear ends those of the host.

  --rate slows all that is sent to the host: TCP, ssh and MPI alike. With --to, it slows what goes
         between these two hosts alone. The kernel does it on the way to the host (HTB), until the host ends.
  --wrong, --hang, --throttle and --no-start are about the lab's GPUs: the lab's all_reduce_perf acts as with a GPU that
         corrupts results, a host whose ranks never get through to others, a host that is slower in every fifth
         iteration, as GPUs are whose clocks are throttled now and then, a driver that does not start.
         They are lines in /etc/ocihpc-lab-gpus on the host.`,
		Example: `  ocihpc-lab fault inst-ab3de-gpu --rate 5mbit
  ocihpc-lab fault inst-ab3de-gpu --rate 5mbit --to inst-fg4hi-gpu
  ocihpc-lab fault inst-ab3de-gpu --wrong 3
  ocihpc-lab fault inst-ab3de-gpu --clear`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.BitsPerSecond = uint64(slow)
			if cmd.Flags().Changed("wrong") {
				if wrong < 0 {
					return usageError{fmt.Errorf("--wrong is %d: the index of a GPU counts from 0", wrong)}
				}
				f.WrongGPU = &wrong
			}
			f.ThrottleMilliseconds = int(throttle.Milliseconds())
			asked := f.BitsPerSecond > 0 || f.WrongGPU != nil || f.Hang || f.ThrottleMilliseconds > 0 || f.NoStart
			switch {
			case asked == ended:
				return usageError{errors.New("name a fault, or --clear, but not both; see `ocihpc-lab fault --help`")}
			case f.To != "" && f.BitsPerSecond == 0:
				return usageError{errors.New("--to needs --rate")}
			}
			l, err := lab.Open(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			if ended {
				return l.ClearFaults(cmd.Context(), args[0])
			}
			return l.SetFault(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.Var(&slow, "rate", "bound on what is sent to the host a second, such as 5mbit")
	flags.StringVar(&f.To, "to", "", "the other end of the link that --rate slows, instead of all of the host's")
	flags.IntVar(&wrong, "wrong", -1, "index of a GPU that corrupts its results")
	flags.BoolVar(&f.Hang, "hang", false, "its ranks stand still as soon as they have to talk to another host")
	flags.DurationVar(&throttle, "throttle", 0, "time that every fifth iteration takes longer on it, such as 50ms")
	flags.BoolVar(&f.NoStart, "no-start", false, "no program can use its GPUs")
	flags.BoolVar(&ended, "clear", false, "end the host's faults")
	return cmd
}

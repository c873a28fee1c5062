// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func newClock(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "clock", Short: "Show or advance the clock that OCI's intervals run on",
		Long: `clock shows how much of OCI's time has passed in the region: boots, terminations, retries and
the time for which terminated resources stay readable run on this clock. Timestamps do not: they are
the wall clock's.`,
		Example: "  ocihpc-lab clock\n  ocihpc-lab clock advance 30m",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return turnClock(cmd, *dir, 0) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "advance DURATION", Short: "Let a time of OCI's pass at once",
		Long: `advance lets a time such as 90s, 30m or 12h pass at once: what would end within it ends now,
and what would begin after that begins and ends, too. Hosts take the time that they take.`,
		Example: "  ocihpc-lab clock advance 12h",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := time.ParseDuration(args[0])
			if err != nil || by <= 0 {
				return usageError{fmt.Errorf("%q is no duration above zero, such as 30m or 12h", args[0])}
			}
			return turnClock(cmd, *dir, by)
		},
	})
	return cmd
}

func turnClock(cmd *cobra.Command, dir string, by time.Duration) error {
	l, err := lab.Open(cmd.Context(), dir)
	if err != nil {
		return err
	}
	clock, err := l.Advance(cmd.Context(), by)
	if err != nil {
		return err
	}
	printClock(cmd.OutOrStdout(), clock)
	return nil
}

func printClock(w io.Writer, c ocisim.Clock) {
	_, _ = fmt.Fprintf(w, "%s since the region was made, %g times as fast as the wall clock\n", c.Elapsed.Round(time.Second), c.Scale)
}

// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// scenarioFile is a flag that names a scenario's file.
type scenarioFile ocisim.Scenario

func (s *scenarioFile) String() string { return "" }
func (s *scenarioFile) Type() string   { return "FILE" }

func (s *scenarioFile) Set(path string) error {
	c, err := readScenario(os.Stdin, path)
	*s = scenarioFile(c)
	return err
}

// readScenario reads a file, or stdin for "-".
func readScenario(stdin io.Reader, path string) (ocisim.Scenario, error) {
	text, err := os.ReadFile(path)
	if path == "-" {
		text, err = io.ReadAll(stdin)
	}
	if err != nil {
		return ocisim.Scenario{}, err
	}
	c, err := ocisim.ParseScenario(text)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func newScenario(dir *string) *cobra.Command {
	var ended bool
	cmd := &cobra.Command{
		Use: "scenario [FILE]", Short: "Say what is scarce and what goes wrong in the running region",
		Long: `scenario replaces the scenario of the running region by that of a YAML file ("-" reads
standard input), or ends it with --clear. What "up" was given for --capacity and --shortage stays
below it. Counts such as "times" begin anew.

  capacity: {BM.GPU4.8: 4}       hosts that there are of a shape
  shortage: runs-short           what pools do without: runs-short, terminates; by default they wait
  launch_shortage: work-request  LaunchInstance fails in its work request, not with status 500
  reservation_shortage: logs     where a cluster network says so: errors, logs; or unnoticed
  keep_vacancies: true           pools do not replace members that are terminated
  empty_pages: true              an empty page comes before each page of a list
  limits: {BM.GPU4.8: 16}        LimitExceeded above so many instances
  quotas: {BM.GPU4.8: 8}         QuotaExceeded above so many in a compartment
  tag_defaults: {Oracle-Tags: {CreatedBy: jo, CreatedOn: "${oci.datetime}"}}
  tag_namespaces: {Operations: [team]}
  stale_reads: {after_create: 3, after_change: 2}
  nodes:                         boot-fails, no-ssh, cloud-init-fails
    - {name: "inst-*", skip: 1, times: 1, effect: no-ssh}
  faults:                        requests that are delayed, refused, lost
    - {operation: LaunchInstance, times: 2, effect: throttle}
    - {operation: "Get*", every: 10, delay: 2s}
    - {operation: CreateClusterNetwork, times: 1, effect: reset-after}
    - {matching: ocid1.vcn., error: {status: 409, code: Conflict, message: busy}}`,
		Example: "  ocihpc-lab scenario throttled.yaml\n  echo 'capacity: {BM.GPU4.8: 0}' | ocihpc-lab scenario -\n  ocihpc-lab scenario --clear",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ended == (len(args) == 1) {
				return usageError{errors.New("either a FILE or --clear is needed")}
			}
			var c ocisim.Scenario
			if !ended {
				var err error
				if c, err = readScenario(cmd.InOrStdin(), args[0]); err != nil {
					return usageError{err}
				}
			}
			l, err := lab.Open(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			return l.SetScenario(cmd.Context(), c)
		},
	}
	cmd.Flags().BoolVar(&ended, "clear", false, "nothing goes wrong any more")
	return cmd
}

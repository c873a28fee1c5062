// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

// parsed is what `parse --output json` prints.
type parsed struct {
	Reports []job.Report   `json:"reports"`
	NCCL    *job.NCCLLog   `json:"nccl,omitempty"` // what NCCL itself logged
	Failure *parsedFailure `json:"failure"`
}

type parsedFailure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func newParseCommand() *cobra.Command {
	var exitStatus int
	out := &output{form: "table"}
	cmd := &cobra.Command{
		Use:   "parse FILE|-",
		Short: "Read the output of nccl-tests",
		Long: `Read the output of nccl-tests, text or -J report, of any version, with whatever NCCL, mpirun, srun or a log
collector put between the lines.

Exit status:
  0  a complete report, and nothing wrong in it
  1  there is a failure: the run did not end, could not start, or gave wrong values
  2  the file cannot be read
  64 wrong usage`,
		Example: `  ocihpc-runner parse nccl.log
  ocihpc-runner parse slurm-42.out --output json | jq .failure`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var status *int
			if cmd.Flags().Changed("exit-status") {
				status = &exitStatus
			}
			result, err := parseFile(cmd.InOrStdin(), args[0], status)
			if err != nil {
				return err
			}
			if err := printParsed(cmd.OutOrStdout(), result, out); err != nil {
				return fmt.Errorf("print the reports: %w", err)
			}
			if result.Failure != nil {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&exitStatus, "exit-status", 0, "`status` that the run ended with, if it is known")
	out.flag(cmd)
	return cmd
}

func parseFile(stdin io.Reader, name string, status *int) (nccl.Output, error) {
	if name == "-" {
		return nccl.Parse(stdin, status)
	}
	file, err := os.Open(name) // #nosec G304 -- the user names it
	if err != nil {
		return nccl.Output{}, fmt.Errorf("open nccl-tests output: %w", err)
	}
	defer func() { _ = file.Close() }()
	return nccl.Parse(file, status)
}

func printParsed(w io.Writer, result nccl.Output, out *output) error {
	document := parsed{Reports: result.Reports, NCCL: result.NCCL}
	if f := result.Failure; f != nil {
		document.Failure = &parsedFailure{Kind: f.Kind, Message: f.Message}
	}
	return out.print(w, document, func(w io.Writer) error { return report.Reports(w, result.Reports, result.Failure) })
}

// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
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
	Failure *parsedFailure `json:"failure"`
}

type parsedFailure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func newParseCommand() *cobra.Command {
	var exitStatus int
	var output string
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
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", output, "table", "json"); err != nil {
				return err
			}
			var status *int
			if cmd.Flags().Changed("exit-status") {
				status = &exitStatus
			}
			result, err := parseFile(cmd.InOrStdin(), args[0], status)
			if err != nil {
				return err
			}
			if err := printParsed(cmd.OutOrStdout(), result, output); err != nil {
				return fmt.Errorf("print the reports: %w", err)
			}
			if result.Failure != nil {
				cmd.SilenceUsage, cmd.SilenceErrors = true, true
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&exitStatus, "exit-status", 0, "`status` that the run ended with, if it is known")
	cmd.Flags().StringVar(&output, "output", "table", "`format`: table or json")
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

func printParsed(w io.Writer, result nccl.Output, output string) error {
	if output == "table" {
		return report.Reports(w, result.Reports, result.Failure)
	}
	document := parsed{Reports: result.Reports}
	if f := result.Failure; f != nil {
		document.Failure = &parsedFailure{Kind: f.Kind, Message: f.Message}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

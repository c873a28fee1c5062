// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

func newReportCommand() *cobra.Command {
	form, dir := reportForm(report.Forms[0].Name), ""
	cmd := &cobra.Command{
		Use:   "report RESULT.json|DIRECTORY|-",
		Short: "Show a result in another form",
		Long: `Show a result in another form. It is read from the file that "run --output json" printed, from a job's directory, or from
standard input. The forms:

` + formTable() + `
With --dir all forms are written there, and each picture as SVG and PNG.

Exit status:
  0   written
  2   it cannot be read or written
  64  wrong usage, or it is no result`,
		Example: `  ocihpc-runner report ~/.ocihpc/jobs/9f86d081884c7d65
  ocihpc-runner report result.json --output html > report.html
  ocihpc-runner report result.json --output markdown >> "$GITHUB_STEP_SUMMARY"
  ocihpc-runner report result.json --output prometheus > /var/lib/node_exporter/nccl.prom
  ocihpc-runner report result.json --dir reports`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" && cmd.Flags().Changed("output") {
				return usageError{errors.New("--dir writes all forms: leave out --output")}
			}
			result, err := readResult(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			if dir == "" {
				return form.write(cmd.OutOrStdout(), result)
			}
			names, err := report.Files(dir, result)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", dir, strings.Join(names, ", "))
			return err
		},
	}
	cmd.Flags().Var(&form, "output", "`form`: "+strings.Join(formNames(), ", "))
	cmd.Flags().StringVar(&dir, "dir", "", "write all forms into this `directory`")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

// reportForm is the flag --output: the name of a form.
type reportForm string

func (f *reportForm) String() string { return string(*f) }

// Set takes the flag's value.
func (f *reportForm) Set(value string) error {
	if !slices.Contains(formNames(), value) {
		return fmt.Errorf("it is one of %s", strings.Join(formNames(), ", "))
	}
	*f = reportForm(value)
	return nil
}

// Type is what the value is called.
func (f *reportForm) Type() string { return "form" }

func (f *reportForm) write(w io.Writer, r job.Result) error {
	i := slices.Index(formNames(), string(*f)) // Set has seen it
	return report.Forms[i].Write(w, r)
}

func formNames() []string {
	names := make([]string, len(report.Forms))
	for i, form := range report.Forms {
		names[i] = form.Name
	}
	return names
}

func formTable() string {
	var b strings.Builder
	for _, form := range report.Forms {
		fmt.Fprintf(&b, "  %-10s  %s\n", form.Name, form.Shows)
	}
	return b.String()
}

// readResult reads a result from a file, a job's directory, or standard input.
func readResult(stdin io.Reader, name string) (job.Result, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		if info, failed := os.Stat(name); failed == nil && info.IsDir() {
			name = filepath.FromSlash(job.Dir(name).Result())
		}
		text, err = os.ReadFile(name) // #nosec G304 -- the user names it
	}
	if err != nil {
		return job.Result{}, fmt.Errorf("read the result: %w", err)
	}
	var result job.Result
	if err := json.Unmarshal(text, &result); err != nil {
		return job.Result{}, usageError{fmt.Errorf("%s is no result: %w", name, err)}
	}
	if result.Version != job.Version || result.Outcome == "" {
		return job.Result{}, usageError{fmt.Errorf("%s is no result of version %d of ocihpc-runner's", name, job.Version)}
	}
	return result, nil
}

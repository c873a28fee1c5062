// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func newVersionCommand() *cobra.Command {
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: `  ocihpc-runner version --output json`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			document := struct {
				Version    string `json:"version"`
				GOOS       string `json:"goos"`
				GOARCH     string `json:"goarch"`
				JobVersion int    `json:"job_version"`
			}{version, runtime.GOOS, runtime.GOARCH, job.Version}
			return out.print(cmd.OutOrStdout(), document, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "ocihpc-runner %s (%s/%s, job version %d)\n", version, runtime.GOOS, runtime.GOARCH, job.Version)
				return err
			})
		},
	}
	out.flag(cmd)
	return cmd
}

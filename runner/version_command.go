// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: `  ocihpc-runner version --output json`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "text", "json"); err != nil {
				return err
			}
			if output == "text" {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "ocihpc-runner %s (%s/%s, job version %d)\n", version, runtime.GOOS, runtime.GOARCH, job.Version)
				return err
			}
			return printJSON(cmd.OutOrStdout(), struct {
				Version    string `json:"version"`
				GOOS       string `json:"goos"`
				GOARCH     string `json:"goarch"`
				JobVersion int    `json:"job_version"`
			}{version, runtime.GOOS, runtime.GOARCH, job.Version})
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "`format`: text or json")
	return cmd
}

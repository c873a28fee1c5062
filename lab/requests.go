// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func newRequests(dir *string) *cobra.Command {
	var follow, unknown bool
	var output string
	cmd := &cobra.Command{
		Use: "requests", Short: "Show the requests that the region has answered",
		Long: `requests shows every request since the region was made: when, how long it took, what was
answered, and what the scenario did to it. It works after the region's end, too. The same is in
requests.log in the state directory, one JSON object a line; it has no headers and no bodies.`,
		Example: "  ocihpc-lab requests --follow\n  ocihpc-lab requests --unknown\n  ocihpc-lab requests --output json | jq -r .operation | sort | uniq -c",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if output == "table" {
				printRecordHead(w)
			}
			for record, err := range lab.Requests(cmd.Context(), *dir, follow) {
				if err != nil {
					return err
				}
				if unknown && record.Status != 501 {
					continue
				}
				if output == "json" {
					err = json.NewEncoder(w).Encode(record)
				} else {
					err = printRecord(w, record)
				}
				if err != nil {
					return fmt.Errorf("print a request: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with new requests until interrupted")
	cmd.Flags().BoolVar(&unknown, "unknown", false, "only those that the region does not simulate (501)")
	cmd.Flags().StringVarP(&output, "output", "o", "table", `"table" or "json"`)
	return cmd
}

// recordFormat has columns of fixed width, because rows are shown as they come.
const recordFormat = "%-12s  %8s  %-6s  %-34s  %-25s  %s\n"

func printRecordHead(w io.Writer) {
	_, _ = fmt.Fprintf(w, recordFormat, "TIME", "MS", "STATUS", "OPERATION", "CODE, FAULT", "REQUEST")
}

func printRecord(w io.Writer, r ocisim.RequestRecord) error {
	status := strconv.Itoa(r.Status)
	if r.Status == 0 {
		status = "none"
	}
	remark := r.Code
	if r.Fault != "" {
		remark = strings.TrimPrefix(r.Code+", "+r.Fault, ", ")
	}
	_, err := fmt.Fprintf(w, recordFormat, r.Time.Local().Format("15:04:05.000"), strconv.FormatFloat(r.Milliseconds, 'f', 1, 64),
		status, cmp.Or(r.Operation, "(unknown)"), cmp.Or(remark, "-"), r.Method+" "+r.Path)
	return err
}

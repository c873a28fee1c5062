// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

func newRanksCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "ranks",
		Hidden: true,
		Short:  "Show the ranks on this node and whether they take processor time, for the runner itself",
		Long: `Print the processes of this user that mpirun or srun started on this node as ranks, and how much processor time
each takes within a second, as JSON. The runner on the head node calls it when a run is at its time limit.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(node.Ranks(cmd.Context(), time.Second))
		},
	}
}

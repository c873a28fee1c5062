// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

func newCheckCommand() *cobra.Command {
	var r node.Request
	var request string
	out := &output{form: "table"}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look at this node",
		Long: `Show what this node has, and check it against what is expected. What is not asked for is not checked.

Exit status:
  0   no check failed
  1   a check failed
  64  wrong usage`,
		Example: `  ocihpc-runner check
  ocihpc-runner check --shape BM.GPU4.8 --mount /mnt/localdisk --firewall-off
  ocihpc-runner check --cloud-init-wait 600 --collective all_reduce --mpi --output json`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request != "" {
				if err := job.DecodeStrict([]byte(request), &r); err != nil {
					return usageError{fmt.Errorf("--request: %w", err)}
				}
			}
			if err := r.Checks.Validate(); err != nil {
				return usageError{err}
			}
			found := node.Inspect(cmd.Context(), r)
			table := func(w io.Writer) error { return printFound(w, found) }
			if err := out.print(cmd.OutOrStdout(), found, table); err != nil {
				return fmt.Errorf("print what was found: %w", err)
			}
			for _, c := range found.Checks {
				if c.Outcome == job.Fail {
					return exitCode(1)
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Shape, "shape", "", "OCI `shape` that the node should be, such as BM.GPU4.8")
	flags.StringVar(&r.Checks.Timezone, "timezone", "", "expected time `zone`, such as Asia/Tokyo")
	flags.StringArrayVar(&r.Checks.Mounts, "mount", nil, "`path` where something must be mounted (may be repeated)")
	flags.BoolVar(&r.Checks.FirewallOff, "firewall-off", false, "expect no firewall on the node")
	flags.IntVar(&r.Checks.CloudInitWaitSeconds, "cloud-init-wait", 0, "wait this many `seconds` for cloud-init, and check how it ended")
	flags.IntVar(&r.GPUsPerNode, "gpus", 0, "expect at least this `number` of GPUs")
	flags.StringVar(&r.Collective, "collective", "", "expect nccl-tests for a `collective`, such as all_reduce")
	flags.StringVar(&r.NCCLTestsDir, "nccl-tests-dir", "", "`directory` of nccl-tests (default: the known places and PATH)")
	flags.BoolVar(&r.MPI, "mpi", false, "expect Open MPI")
	flags.StringVar(&r.Address, "address", "", "`address` by which other nodes reach this one; shows its network")
	flags.StringVar(&request, "request", "", "all of this as one `JSON` document, as a running job asks")
	out.flag(cmd)
	return cmd
}

func printFound(w io.Writer, found node.Report) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) } // Flush tells
	fact := func(label, name, value string) {
		if reason, unknown := found.Facts.Unknown[name]; unknown {
			value = "unknown: " + strings.ReplaceAll(reason, "\n", "; ")
		} else if value == "" {
			value = "none"
		}
		line(label, value)
	}
	f := found.Facts
	fact("Host name", "hostname", f.Hostname)
	fact("System", "os", f.OS)
	fact("Kernel", "kernel", f.Kernel+" "+f.Arch)
	fact("Time zone", "timezone", f.Timezone)
	fact("cloud-init", "cloud_init", f.CloudInit)
	fact("GPUs", "gpus", gpuList(f.GPUs))
	fact("NVIDIA driver", "gpus", f.DriverVersion)
	fact("Network", "network_cidr", f.NetworkCIDR)
	fact("Mounts", "mounts", strings.Join(f.Mounts, " "))
	fact("Open MPI", "open_mpi_version", f.OpenMPIVersion+" in "+f.OpenMPIBin)
	fact("nccl-tests", "nccl_tests_dir", f.NCCLTestsDir)
	if len(found.Checks) > 0 {
		line("")
	}
	for _, c := range found.Checks {
		line(c.Name, strings.ReplaceAll(string(c.Outcome), "_", " ")+": "+c.Message)
		if c.Advice != "" {
			line("", "→ "+c.Advice)
		}
	}
	return table.Flush()
}

// gpuList gives the models with their numbers, such as "8 × NVIDIA H200".
func gpuList(gpus []job.GPU) string {
	var models []string
	count := map[string]int{}
	for _, g := range gpus {
		if count[g.Name]++; count[g.Name] == 1 {
			models = append(models, g.Name)
		}
	}
	for i, model := range models {
		models[i] = fmt.Sprintf("%d × %s", count[model], model)
	}
	return strings.Join(models, ", ")
}

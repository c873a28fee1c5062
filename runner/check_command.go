// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

func newCheckCommand() *cobra.Command {
	r := node.Request{Health: true}
	var request string
	var list, listen bool
	var addresses []string
	out := &output{form: "table", junit: true}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look at this node",
		Long: `Show what this node has, and check its health: what would break or slow down work over all nodes. What depends on
the job, such as the time zone, is only checked when it is asked for. Limits are those of the OCI shape, which is
read from the instance metadata unless --shape names it; limits that are not sure never fail a node.

A check passes, warns, fails, or cannot tell, with what to do about it. None needs root, but some need sudo without
a password. --list shows all checks.

Exit status:
  0   no check failed
  1   a check failed
  64  wrong usage`,
		Example: `  ocihpc-runner check
  ocihpc-runner check --shape BM.GPU4.8 --mount /mnt/localdisk --firewall-off
  ocihpc-runner check --cloud-init-wait 600 --collective all_reduce --mpi --output json
  ocihpc-runner check --skip gpu_xid --output junit
  ocihpc-runner check --list`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return out.print(cmd.OutOrStdout(), job.CheckKinds, printKinds, noJUnit)
			}
			if listen {
				ctx, stop := untilSignal(cmd.Context())
				defer stop()
				return node.ListenForNodes(ctx, cmd.OutOrStdout())
			}
			if len(addresses) > 0 {
				tried := node.ConnectToNodes(cmd.Context(), addresses)
				return out.print(cmd.OutOrStdout(), tried, func(w io.Writer) error { return printTried(w, tried) }, noJUnit)
			}
			if request != "" {
				r = node.Request{}
				if err := job.DecodeStrict([]byte(request), &r); err != nil {
					return usageError{fmt.Errorf("--request: %w", err)}
				}
			}
			if err := r.Checks.Validate(); err != nil {
				return usageError{err}
			}
			found := node.Inspect(cmd.Context(), r)
			table := func(w io.Writer) error { return printFound(w, found) }
			junit := func(w io.Writer) error {
				return report.JUnit(w, job.Result{Nodes: []job.NodeResult{{Name: found.Facts.Hostname, Facts: &found.Facts, Checks: found.Checks}}})
			}
			if err := out.print(cmd.OutOrStdout(), found, table, junit); err != nil {
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
	flags.IntVar(&r.Checks.CloudInitWaitSeconds, "cloud-init-wait", 0, "wait this many `seconds` for cloud-init and RDMA's set-up, and check how they ended")
	flags.IntVar(&r.GPUsPerNode, "gpus", 0, "expect at least this `number` of GPUs")
	flags.StringVar(&r.Collective, "collective", "", "expect nccl-tests for a `collective`, such as all_reduce")
	flags.StringVar(&r.NCCLTestsDir, "nccl-tests-dir", "", "`directory` of nccl-tests (default: the known places and PATH)")
	flags.BoolVar(&r.MPI, "mpi", false, "expect Open MPI")
	flags.StringVar(&r.Address, "address", "", "`address` by which other nodes reach this one; shows its network")
	flags.StringSliceVar(&r.Checks.Skip, "skip", nil, "`checks` to leave out, such as gpu_xid,clock")
	flags.BoolVar(&list, "list", false, "show all checks, what they mean, and what to do")
	flags.BoolVar(&listen, "listen", false, "print a port, and take connections there until the program is ended")
	flags.StringSliceVar(&addresses, "connect", nil, "try connections to `addresses` with ports, where other nodes listen")
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
	fact("nccl-tests", "nccl_tests", f.NCCLTests)
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

func printKinds(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range job.CheckKinds {
		_, _ = fmt.Fprintf(table, "%s\tlooks at %s\n", k.Name, k.Looks) // Flush tells
		for _, row := range []struct{ label, text string }{{"warns when ", k.Warns}, {"fails when ", k.Fails}, {"→ ", k.Advice}} {
			if row.text != "" {
				_, _ = fmt.Fprintf(table, "\t%s%s\n", row.label, row.text)
			}
		}
	}
	return table.Flush()
}

func printTried(w io.Writer, tried []node.Connection) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range tried {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", c.Address, cmp.Or(c.Error, "connected")) // Flush tells
	}
	return table.Flush()
}

// noJUnit is for what has no outcomes.
func noJUnit(io.Writer) error {
	return usageError{errors.New("--list and --connect are shown as table or json")}
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

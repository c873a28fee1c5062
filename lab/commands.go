// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/manpage"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func newCommand() *cobra.Command {
	var dir string
	root := &cobra.Command{
		Use:   "ocihpc-lab",
		Short: "A local OCI region whose instances are Linux hosts on this machine",
		Long: `ocihpc-lab runs a local OCI region: the REST API with signatures, work requests and
failures, and instances that are real Linux hosts with sshd and cloud-init, reached through
a bastion. GPUs are simulated, and say so, unless this machine has NVIDIA GPUs.

Everything runs in namespaces of its own: whichever way the lab ends, no process, mount,
network or namespace is left. It runs as root, or as a plain user with subordinate IDs. Take the
plain user for hosts that run what you do not trust: root on a host of root's lab can mount disks.

Exit status:
  0  done
  1  failure
  2  wrong usage
  3  no lab is running
  4  one is running already
  5  this machine cannot run it; the message says what to do
These stay as they are. exec and run give the status of their command, or 128 and the number of
the signal that ended it.`,
		Example: `  ocihpc-lab up
  eval "$(ocihpc-lab env)"
  terraform apply
  ocihpc-lab exec bastion -- ping -c 1 10.0.64.2
  ocihpc-lab down`,
		Version: version, SilenceErrors: true, SilenceUsage: true,
		Args: arguments(cobra.NoArgs), // an unknown command
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.PersistentFlags().StringVar(&dir, "dir", lab.DefaultDir(), "state directory: keys, files for clients, logs, the region's state, the hosts' disks")
	root.PersistentFlags().Lookup("dir").DefValue = "ocihpc-lab in $XDG_STATE_HOME or ~/.local/state" // for everybody's manual page
	root.AddCommand(newUp(&dir), newDown(&dir), newStatus(&dir), newRequests(&dir), newScenario(&dir), newFault(&dir), newClock(&dir), newEnv(&dir), newExec(&dir), newRun(),
		manpage.Command("ocihpc-lab", arguments))
	return root
}

// arguments turns a mistake in the number of arguments into a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// configFlags lets the command line say what the region is like.
func configFlags(cmd *cobra.Command, cfg *lab.Config) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&cfg.Hosts), "hosts", "", `what an instance is: "linux" (the default), a Linux host, or "none", a record of the API`)
	flags.StringVar((*string)(&cfg.Init), "init", "", `what starts a host's services: "plain" (the default), sshd and cloud-init alone, or "systemd", as root`)
	flags.StringSliceVar(&cfg.Without, "without", nil, "Debian packages of this machine that hosts do not have, such as docker.io,podman")
	flags.IntVar(&cfg.GPUsPerHost, "gpus-per-host", 0, "how many of this machine's NVIDIA GPUs each host of a GPU shape has for itself; 0 (the default) gives all hosts all of them")
	flags.Float64Var(&cfg.TimeScale, "time-scale", 0, "by how much OCI's intervals are shortened; 1000 (the default) makes a minute 60 ms")
	flags.StringToIntVar(&cfg.Capacity, "capacity", nil, "hosts that the region has of a shape, such as BM.GPU4.8=4; other shapes have no limit")
	flags.StringVar((*string)(&cfg.Shortage), "shortage", string(ocisim.ShortageWaits), `what a pool without capacity does: wait (the default), "runs-short" or "terminates"`)
	flags.Var((*scenarioFile)(&cfg.Scenario), "scenario", "file that says what is scarce and what goes wrong; see ocihpc-lab scenario --help")
	flags.IntVar(&cfg.HTTPPort, "http-port", 0, "port of the API, and of the proxy, on 127.0.0.1; 0 takes a free one")
	flags.IntVar(&cfg.HTTPSPort, "https-port", 0, "port of the API over TLS on 127.0.0.1; 0 takes a free one")
	flags.IntVar(&cfg.BastionPort, "bastion-port", 0, "port of the bastion's sshd on 127.0.0.1; 0 takes a free one")
}

// startTimeout bounds the start; it takes about a second on an idle machine.
const startTimeout = 2 * time.Minute

func newUp(dir *string) *cobra.Command {
	cfg := lab.Config{Detached: true}
	cmd := &cobra.Command{
		Use: "up", Short: "Start the region and print what clients need",
		Long: `up starts the region, which runs until "down" (or the machine's end), and prints what
clients need. The same is in the state directory: info.json, env (for a shell), config (an OCI
configuration file), and the keys, all readable by you alone.

Where the state directory has a region that ended otherwise, by "down --keep", by being killed, or
with the machine, that region goes on: the same OCIDs, keys and, if they are free, ports. What was
being made is made, and running instances boot with their disks. Options that are not given stay as
they were. With --fresh a new region takes its place.`,
		Example: `  ocihpc-lab up
  ocihpc-lab up --capacity BM.GPU4.8=4 --time-scale 60`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), startTimeout)
			defer cancel()
			cfg.Dir = *dir
			l, err := lab.Start(ctx, cfg)
			if err != nil {
				return err
			}
			if l.Warning != "" {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), l.Warning)
			}
			if l.GoesOn {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "The region of this state directory goes on.")
			}
			printInfo(cmd.OutOrStdout(), l.Info)
			return nil
		},
	}
	configFlags(cmd, &cfg)
	cmd.Flags().BoolVar(&cfg.Fresh, "fresh", false, "discard the region that the state directory has, and start a new one")
	return cmd
}

func printInfo(w io.Writer, i lab.Info) {
	rows := [][2]string{
		{"Region", i.Region},
		{"API", i.Endpoint + "  " + i.HTTPSEndpoint},
		{"CA certificate", i.CAFile},
		{"OCI config file", i.ConfigFile},
		{"Tenancy", i.TenancyOCID},
		{"Compartment", i.CompartmentID},
		{"Availability domain", i.AvailabilityDomain},
		{"Private subnet", i.SubnetID},
		{"Public subnet", i.PublicSubnetID},
		{"Image", i.ImageID},
	}
	if i.BastionHost != "" {
		rows = append(rows, [2]string{"Bastion", fmt.Sprintf("ssh -i %s -p %d %s@%s", i.SSHPrivateKeyPath, i.BastionPort, i.BastionUser, i.BastionHost)})
	}
	for _, row := range rows {
		_, _ = fmt.Fprintf(w, "%-20s %s\n", row[0], row[1]) // A reader that is gone needs no text.
	}
	env := []string{"ocihpc-lab", "env"}
	if i.Dir != lab.DefaultDir() {
		env = append(env, "--dir", i.Dir)
	}
	_, _ = fmt.Fprintf(w, "\nUse it in this shell: eval \"$(%s)\"\n", shellescape.QuoteCommand(env))
}

func newDown(dir *string) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use: "down", Short: "Stop the region and its hosts; nothing is left but the logs",
		Long: `down stops the region and its hosts and removes its state: resources, keys, and the hosts'
disks. With --keep the state stays, and the next "up" goes on with it. Without, it also removes what a
region has left that was killed.`,
		Example: "  ocihpc-lab down\n  ocihpc-lab down --keep && ocihpc-lab up",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(cmd.Context(), *dir)
			switch {
			case errors.Is(err, lab.ErrNotRunning) && !keep:
				return lab.Remove(cmd.Context(), *dir)
			case err != nil:
				return err
			case keep:
				return l.Suspend()
			}
			return l.Close()
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the region's state for the next up")
	return cmd
}

func newStatus(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "status", Short: "Show what the region holds and what it was asked",
		Long:    "status shows what the region holds, and the requests it has seen, among them those that it does not simulate.",
		Example: "  ocihpc-lab status\n  ocihpc-lab status --output json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			l, err := lab.Open(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			status, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(struct {
					Info   lab.Info   `json:"info"`
					Status lab.Status `json:"status"`
				}{l.Info, status})
			}
			printStatus(cmd.OutOrStdout(), l.Info, status)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", `"table" or "json"`)
	return cmd
}

func checkOutput(format string) error {
	if format != "table" && format != "json" {
		return usageError{fmt.Errorf(`--output is %q, must be "table" or "json"`, format)}
	}
	return nil
}

func printStatus(w io.Writer, i lab.Info, s lab.Status) {
	_, _ = fmt.Fprintf(w, "running, process %d, API %s, state directory %s\n", i.PID, i.Endpoint, i.Dir)
	_, _ = fmt.Fprintf(w, "cluster networks %d, compute clusters %d, instance pools %d, instance configurations %d, instances %d, hosts %d\n",
		s.ClusterNetworks, s.ComputeClusters, s.InstancePools, s.InstanceConfigurations, s.Instances, len(s.Hosts))
	if len(s.InstanceList) > 0 {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "HOST NAME\tPRIVATE IP\tSHAPE\tSTATE\tOCID")
		for _, i := range s.InstanceList {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", i.Hostname, i.PrivateIP, i.Shape, i.State, i.ID)
		}
		_ = table.Flush()
	}
	if s.Unprotected != "" {
		_, _ = fmt.Fprintf(w, "security lists and groups have no effect on hosts: %s\n", s.Unprotected)
	}
	if s.NoContainers != "" {
		_, _ = fmt.Fprintf(w, "container engines run nothing on hosts: %s\n", s.NoContainers)
	}
	if s.NVMe.Less != "" {
		_, _ = fmt.Fprintf(w, "hosts have %d of the %d local NVMe devices of their shapes: %s\n", s.NVMe.Attached, s.NVMe.Expected, s.NVMe.Less)
	}
	_, _ = fmt.Fprintf(w, "requests %d, refused for their signature %d, faults of the scenario %d, not simulated %d\n",
		s.Requests, s.Refused, total(s.Faults), total(s.Unknown))
	for _, operation := range slices.Sorted(maps.Keys(s.Faults)) {
		_, _ = fmt.Fprintf(w, "  fault: %s (%d)\n", operation, s.Faults[operation])
	}
	for _, operation := range slices.Sorted(maps.Keys(s.Unknown)) {
		_, _ = fmt.Fprintf(w, "  not simulated: %s (%d)\n", operation, s.Unknown[operation])
	}
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func newEnv(dir *string) *cobra.Command {
	var official string
	var resource bool
	cmd := &cobra.Command{
		Use: "env", Short: "Print the environment for the provider and Terraform, for a shell",
		Long: `env prints the environment that makes this provider and Terraform use the region, for a shell.

With --official it is what OCI's official provider (oracle/oci) needs, too. "proxy" lets it reach
the region by the names of OCI's endpoints, over https and through a proxy in the region that never
reaches out of it; NO_PROXY has the hosts that Terraform needs itself. "http" uses plain http, which
the provider's client for work requests cannot.

With --resource-principal it is also what OCI gives its own resources, such as a function or a job of
Resource Manager, to sign with: the provider takes it with auth = "ResourcePrincipal".`,
		Example: `  eval "$(ocihpc-lab env)"
  eval "$(ocihpc-lab env --official)"
  eval "$(ocihpc-lab env --official=http)"`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			environ := l.Info.Environ()
			if official != "" {
				more, err := l.Info.OfficialEnviron(lab.Way(official), os.Getenv("NO_PROXY"))
				if err != nil {
					return usageError{err}
				}
				environ = append(environ, more...)
			}
			if resource {
				environ = append(environ, l.Info.ResourcePrincipalEnviron()...)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), lab.Exports(environ))
			return err
		},
	}
	cmd.Flags().StringVar(&official, "official", "", `what OCI's official provider needs, too: "proxy" or "http"`)
	cmd.Flags().Lookup("official").NoOptDefVal = string(lab.WayProxy)
	cmd.Flags().BoolVar(&resource, "resource-principal", false, "what a resource of OCI's signs with, too")
	return cmd
}

func newExec(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "exec HOST -- COMMAND [ARGUMENT...]", DisableFlagsInUseLine: true, Short: "Run a command as root on a host, without ssh",
		Long: `exec runs a command as root on a host, and ends with its exit status. HOST is an instance's
host name or OCID (see "status"), or "bastion".`,
		Example: "  ocihpc-lab exec bastion -- hostname\n  ocihpc-lab exec inst-ab3de-gpu -- cloud-init status --long",
		Args:    arguments(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			status, err := l.ExecFiles(cmd.Context(), args[0], args[1:], os.Stdin, os.Stdout, os.Stderr)
			return asStatus(status, err)
		},
	}
}

func asStatus(status int, err error) error {
	if err == nil && status != 0 {
		return statusError(status)
	}
	return err
}

func newRun() *cobra.Command {
	var cfg lab.Config
	cmd := &cobra.Command{
		Use: "run [FLAGS] -- COMMAND [ARGUMENT...]", DisableFlagsInUseLine: true, Short: "Run a command with a region of its own, which ends with it",
		Long: `run starts a region with a temporary state directory, runs a command in its environment
(see "env"), and stops the region. Ctrl-C ends both.`,
		Example: "  ocihpc-lab run -- make acceptance",
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), startTimeout)
			defer cancel()
			l, err := lab.Start(ctx, cfg)
			if err != nil {
				return err
			}
			return errors.Join(runCommand(cmd.Context(), l.Info, args), l.Close())
		},
	}
	configFlags(cmd, &cfg)
	return cmd
}

// runCommand runs a command in the lab's environment. An interrupt reaches it, too; it has the time to end.
// Its exit status is a shell's: 128 and the number of the signal that ended it.
func runCommand(ctx context.Context, info lab.Info, args []string) error {
	command := exec.CommandContext(ctx, args[0], args[1:]...) // #nosec G204 -- the user's own command
	command.Env = append(os.Environ(), info.Environ()...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			return statusError(128 + int(status.Signal()))
		}
		return statusError(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}

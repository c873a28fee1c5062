// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
)

// setupOptions is the command line of setup.
type setupOptions struct {
	setup    job.Setup
	runtime  job.ContainerRuntime
	versions []string

	nodes, key, dir          string
	registryAuth             string
	timeout, lockWait        time.Duration
	reconnect, connectWithin time.Duration
}

func newSetupCommand() *cobra.Command {
	var o setupOptions
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:   "setup [SETUP.json]",
		Short: "Set up this node, or all nodes of a job",
		Long: `Put this node, or all nodes of a job file, into a wanted state: files, directories, links, packages, services, downloads and
commands, and a container engine. Each step looks first, changes what differs, and looks again: a second run changes
nothing. Needs root, or sudo without a password. Progress goes to stderr, the result to stdout.

SETUP.json ("-" is stdin) holds the steps, and may hold the container_runtime that the flags ask for, too.
One set-up at a time works on a node; another waits for it as long as --lock-wait says.

A dry run tells what would be changed. How a file differs is shown only where every user of the node may read the present
and the wanted file; of others, which may hold secrets, only the sizes.

Exit status:
  0   all nodes are as they are wanted, or a dry run looked at all
  1   a step failed
  2   a node could not be reached, is worked on by another set-up, or the set-up was cancelled
  64  wrong usage`,
		Example: `  ocihpc-runner setup --engine containerd --rootless-user opc --dry-run
  ocihpc-runner setup node.json --nodes job.json --key ~/.ssh/id_ed25519

A small set-up:
  {"steps": [
    {"name": "limits", "file": {"path": "/etc/security/limits.d/90-memlock.conf", "mode": "0644", "content": "* - memlock unlimited\n"}},
    {"name": "scratch", "directory": {"path": "/mnt/localdisk/scratch", "mode": "1777"}},
    {"name": "data", "link": {"path": "/data", "target": "/mnt/localdisk/scratch"}},
    {"name": "tools", "packages": {"names": ["numactl"]}},
    {"name": "time", "service": {"unit": "chronyd.service"}},
    {"name": "swap", "command": {"argv": ["swapoff", "-a"], "unless": ["sh", "-c", "test $(wc -l </proc/swaps) -le 1"]}}]}`,
		Args:              arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := o.job(args, cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			result, err := o.work(cmd.Context(), j, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return printResult(cmd.OutOrStdout(), out, result)
		},
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&o.runtime.Engine), "engine", "", "have this container `engine`: containerd, docker or podman")
	flags.StringVar(&o.runtime.RootlessUser, "rootless-user", "", "have the engine for this `user`, too, without root")
	flags.StringArrayVar(&o.versions, "version", nil, "`component=version` of the engine's parts (may be repeated)")
	flags.StringVar(&o.runtime.Mirror, "mirror", "", "take downloads from this `URL or directory` instead of the vendors")
	flags.StringVar(&o.runtime.DataRoot, "data-root", "", "`directory` for images and containers")
	flags.StringArrayVar(&o.runtime.InsecureRegistries, "insecure-registry", nil, "speak to this registry, `host[:port]`, without a trusted certificate or over plain HTTP (may be repeated)")
	flags.StringArrayVar(&o.runtime.Images, "image", nil, "have this `image` on every node (may be repeated)")
	flags.StringVar(&o.runtime.ProofImage, "proof-image", "", "prove by this `image` that a container sees the GPUs (default: the first --image)")
	flags.BoolVar(&o.runtime.ShareImages, "share-images", false, "pull each image once, and pass it on from node to node")
	flags.BoolVar(&o.runtime.Remove, "remove", false, "take the engine away instead: what a set-up put there, and nothing else")
	flags.BoolVar(&o.setup.DryRun, "dry-run", false, "tell what would be changed, and change nothing")
	flags.IntVar(&o.setup.MaxSessions, "max-sessions", 0, "`number` of nodes to work on at a time (default 64)")
	flags.IntVar(&o.setup.MaxDownloads, "max-downloads", 0, "`number` of nodes that download from outside at a time (default 16)")
	flags.IntVar(&o.setup.MaxUploads, "max-uploads", 0, "`number` of nodes that get the runner from this one; the others get it from them (default 8)")
	flags.IntVar(&o.setup.MaxTransfers, "max-transfers", 0, "`number` of nodes that one node gives the runner, or an image, to at a time (default 2)")
	flags.DurationVar(&o.lockWait, "lock-wait", 10*time.Minute, "`time` to wait for another set-up of a node")
	flags.DurationVar(&o.reconnect, "reconnect-timeout", 15*time.Minute, "`time` to wait for a node that was lost, and may reboot")
	flags.DurationVar(&o.connectWithin, "connect-timeout", time.Minute, "`time` to wait for nodes that cannot be reached at once")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Hour, "`time` for all of it")
	flags.StringVar(&o.nodes, "nodes", "", "set up all nodes of this job `file`, of which the first is this one; nothing but its nodes, ssh and shape counts")
	flags.StringVar(&o.key, "key", "", "private key `file` that logs in to the other nodes (default: id_ed25519 in the job directory)")
	flags.StringVar(&o.registryAuth, "registry-auth", "", "`file` with credentials of registries, as ~/.docker/config.json; no node keeps it")
	flags.StringVar(&o.dir, "dir", "", "job `directory` (default ~/.ocihpc/jobs/KEY)")
	out.flag(cmd)
	return cmd
}

// job makes the job that the command line asks for.
func (o *setupOptions) job(args []string, stdin io.Reader) (job.Job, error) {
	setup, err := o.readSetup(args, stdin)
	if err != nil {
		return job.Job{}, err
	}
	j := job.Job{Version: job.Version, Setup: &setup, TimeoutSeconds: int(o.timeout.Seconds())}
	if o.nodes != "" {
		named, err := jobdir.ReadJob(o.nodes)
		if err != nil {
			return job.Job{}, err
		}
		j.Nodes, j.SSH, j.Shape = named.Nodes, named.SSH, named.Shape
		return j, j.Validate()
	}
	host, err := os.Hostname()
	if err != nil {
		return job.Job{}, fmt.Errorf("find the name of this node: %w", err)
	}
	self, err := user.Current()
	if err != nil {
		return job.Job{}, fmt.Errorf("find the user: %w", err)
	}
	j.Nodes, j.SSH = []job.Node{{Name: host, Address: "127.0.0.1"}}, job.SSH{User: self.Username, Port: 22}
	return j, j.Validate()
}

// readSetup puts the file and the flags together.
func (o *setupOptions) readSetup(args []string, stdin io.Reader) (job.Setup, error) {
	var setup job.Setup
	if len(args) > 0 {
		text, err := readFileOrStdin(args[0], stdin)
		if err != nil {
			return setup, err
		}
		if err := job.DecodeStrict(text, &setup); err != nil {
			return setup, fmt.Errorf("%s: %w", args[0], err)
		}
	}
	if err := o.applyRuntime(&setup); err != nil {
		return setup, err
	}
	setup.DryRun = setup.DryRun || o.setup.DryRun
	setup.MaxSessions = cmp.Or(o.setup.MaxSessions, setup.MaxSessions)
	setup.MaxDownloads = cmp.Or(o.setup.MaxDownloads, setup.MaxDownloads)
	setup.MaxUploads = cmp.Or(o.setup.MaxUploads, setup.MaxUploads)
	setup.MaxTransfers = cmp.Or(o.setup.MaxTransfers, setup.MaxTransfers)
	setup.LockWaitSeconds, setup.ReconnectSeconds = int(o.lockWait.Seconds()), int(o.reconnect.Seconds())
	return setup, nil
}

func (o *setupOptions) applyRuntime(setup *job.Setup) error {
	for _, pair := range o.versions {
		component, version, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("--version %q is not component=version", pair)
		}
		if o.runtime.Versions == nil {
			o.runtime.Versions = map[string]string{}
		}
		o.runtime.Versions[component] = version
	}
	switch r := o.runtime; {
	case r.Engine != "" && setup.ContainerRuntime != nil:
		return errors.New("the container runtime is in the file and on the command line: give it once")
	case r.Engine != "":
		setup.ContainerRuntime = &o.runtime
	case r.RootlessUser != "" || r.Mirror != "" || r.DataRoot != "" || r.ProofImage != "" || len(r.Images)+len(r.InsecureRegistries)+len(r.Versions) > 0 || r.ShareImages || r.Remove:
		return errors.New("name the engine, too: --engine containerd, docker or podman")
	}
	return nil
}

func readFileOrStdin(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name) // #nosec G304 -- the user's choice
}

func (o *setupOptions) work(ctx context.Context, j job.Job, stderr io.Writer) (job.Result, error) {
	dir, err := directoryOf(j, o.dir)
	if err != nil {
		return job.Result{}, err
	}
	// Copies: the job removes its secrets at its end.
	for from, to := range map[string]string{o.key: dir.Key(), o.registryAuth: dir.RegistryAuth()} {
		if from == "" {
			continue
		}
		secret, err := os.ReadFile(from)
		if err != nil {
			return job.Result{}, usageError{err}
		}
		if err := os.WriteFile(to, secret, 0o600); err != nil { // #nosec G703 -- in the job's directory
			return job.Result{}, fmt.Errorf("put it into the job directory: %w", err)
		}
	}
	return workOn(ctx, j, dir, o.connectWithin, stderr)
}

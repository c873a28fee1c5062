// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/container"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func newMirrorCommand() *cobra.Command {
	var engine, from string
	var o container.MirrorOptions
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:   "mirror DIR",
		Short: "Download what the set-up of container engines needs",
		Long: `mirror downloads the vendors' archives that the set-up of a container engine needs into a directory, verifies
them by SHA-256, and writes ` + container.ManifestName + ` beside them. The directory, or a web server on it, is then the mirror
of nodes that do not reach the internet.

It holds containerd, runc, the CNI plugins, nerdctl, rootlesskit, bypass4netns and the packages of NVIDIA's container
toolkit. Packages of the distribution and of Docker (Docker or Podman itself, slirp4netns, uidmap, iptables) come from
the package repositories of the nodes.`,
		Example: `  ocihpc-runner mirror /srv/mirror --engine containerd --arch amd64
  ocihpc-runner mirror /srv/mirror --version containerd=2.2.0 --packages rpm`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Engines, o.From, o.Output = []job.Engine{job.Engine(engine)}, from, cmd.ErrOrStderr()
			for component, version := range o.Versions {
				if err := job.CheckVersion(o.Engines[0], component, version); err != nil {
					return usageError{err}
				}
			}
			if job.Components(o.Engines[0]) == nil {
				return usageError{fmt.Errorf("engine %q is not containerd, docker or podman", engine)}
			}
			manifest, err := container.MakeMirror(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), manifest, func(w io.Writer) error {
				for _, file := range manifest.Files {
					if _, err := fmt.Fprintf(w, "%s  %s\n", file.SHA256, file.File); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&engine, "engine", string(job.Containerd), "containerd, docker or podman")
	cmd.Flags().StringSliceVar(&o.Archs, "arch", []string{"amd64"}, "architectures of the nodes: amd64, arm64")
	cmd.Flags().StringSliceVar(&o.Packages, "packages", []string{"rpm", "deb"}, "kinds of packages of the nodes: rpm (Oracle Linux), deb (Ubuntu, Debian)")
	cmd.Flags().StringToStringVar(&o.Versions, "version", nil, "COMPONENT=VERSION of another version than the pinned one")
	cmd.Flags().StringVar(&from, "from", "", "another mirror to copy from, instead of the vendors")
	out.flag(cmd)
	return cmd
}

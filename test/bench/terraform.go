// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const pluginPrefix = "terraform-provider-"

// Variables that tell [watchPlugin] what to start and where to note its peak memory.
const (
	pluginVariable = "OCIHPC_BENCH_PLUGIN"
	peaksVariable  = "OCIHPC_BENCH_PEAKS"
)

// watchPlugin runs a provider in this process's place, for the kernel's account of its memory.
func watchPlugin() int {
	plugin := exec.CommandContext(context.Background(), os.Getenv(pluginVariable), os.Args[1:]...) // #nosec G204 G702 -- the provider under measurement
	plugin.Stdin, plugin.Stdout, plugin.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := plugin.Run()
	if usage, ok := plugin.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peaks, openErr := os.OpenFile(os.Getenv(peaksVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G703 -- set by this program
		if openErr == nil {
			_, _ = fmt.Fprintln(peaks, usage.Maxrss)
			_ = peaks.Close()
		}
	}
	if err != nil {
		return 1
	}
	return 0
}

// project is a folder with one configuration and one provider.
type project struct {
	dir string
	env []string
}

// newProject writes a configuration that uses the provider binary under the given source address.
func newProject(source, binary, hcl string, env ...string) (*project, error) {
	dir, err := os.MkdirTemp("", "ocihpc-bench-")
	if err != nil {
		return nil, err
	}
	p := &project{dir: dir}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("find the provider: %w", err)
	}
	name := filepath.Base(source)
	if err := os.Symlink(self, filepath.Join(dir, pluginPrefix+name)); err != nil {
		return nil, err
	}
	rc := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", source, dir)
	hcl = fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %q }\n  }\n}\n", name, source) + hcl
	for file, text := range map[string]string{"terraform.rc": rc, "main.tf": hcl} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	p.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "terraform.rc"), "CHECKPOINT_DISABLE=1",
		pluginVariable+"="+binary, peaksVariable+"="+p.peaks())
	p.env = append(p.env, env...)
	return p, nil
}

func (p *project) peaks() string { return filepath.Join(p.dir, "peaks") }

func (p *project) remove() { _ = os.RemoveAll(p.dir) }

// sample is one run of a command.
type sample struct {
	seconds float64
	calls   int     // API requests
	memory  float64 // MiB, the provider's peak
}

// terraform runs a command and measures it.
func (p *project) terraform(ctx context.Context, arguments ...string) (sample, error) {
	_ = os.Remove(p.peaks())
	command := exec.CommandContext(ctx, "terraform", arguments...) // #nosec G204 -- this program's own
	command.Dir, command.Env = p.dir, p.env
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	begun := time.Now()
	err := command.Run()
	s := sample{seconds: time.Since(begun).Seconds()}
	if err != nil {
		return s, fmt.Errorf("terraform %s: %w\n%s", strings.Join(arguments, " "), err, output.String())
	}
	peaks, err := os.ReadFile(p.peaks())
	if err != nil {
		return s, fmt.Errorf("read the provider's memory: %w", err)
	}
	for line := range strings.FieldsSeq(string(peaks)) {
		kib, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return s, fmt.Errorf("read the provider's memory: %w", err)
		}
		s.memory = max(s.memory, kib/1024)
	}
	return s, nil
}

// median of each figure on its own.
func median(samples []sample) sample {
	return sample{
		seconds: middle(samples, func(s sample) float64 { return s.seconds }),
		calls:   int(middle(samples, func(s sample) float64 { return float64(s.calls) })),
		memory:  middle(samples, func(s sample) float64 { return s.memory }),
	}
}

// middle is the median of one figure of samples.
func middle[S any](samples []S, figure func(S) float64) float64 {
	var figures []float64
	for _, s := range samples {
		figures = append(figures, figure(s))
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}

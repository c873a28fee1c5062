// SPDX-License-Identifier: MPL-2.0

package job

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Foreign text that becomes part of file names, option values or command lines is held to these forms.
// None of them can start with a dash or hold white space, quotes or a separator of Open MPI's host lists.
var (
	namePattern     = form(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)
	addressPattern  = form(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$`)
	userPattern     = form(`^[a-z_][a-z0-9_-]{0,31}$`)
	hostKeyPattern  = form(`^[a-z0-9@.-]+ [A-Za-z0-9+/]+=*$`)
	variablePattern = form(`^[A-Za-z_][A-Za-z0-9_]*$`)
	timezonePattern = form(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)
	pathPattern     = form(`^/[A-Za-z0-9._/+@%:=-]*$`)
)

// Validate finds everything that is wrong with the job and joins it into one error; nil when it can be run.
func (j Job) Validate() error {
	var v problems
	if j.Version != Version {
		v.add("version is %d, not %d", j.Version, Version)
	}
	v.nodes(j.Nodes)
	if !userPattern.MatchString(j.SSH.User) {
		v.add("ssh.user %q is not a login name", j.SSH.User)
	}
	if j.SSH.Port < 1 || j.SSH.Port > 65535 {
		v.add("ssh.port %d is not between 1 and 65535", j.SSH.Port)
	}
	if j.TimeoutSeconds <= 0 {
		v.add("timeout_seconds must be more than 0")
	}
	v.list = append(v.list, j.Checks.problems()...)
	if j.Setup != nil {
		v.setup(*j.Setup)
		if j.Setup.DryRun && j.Benchmark != nil {
			v.add("setup.dry_run leaves the nodes as they are: leave the benchmark out of a dry run")
		}
	}
	if j.Benchmark != nil {
		v.benchmark(*j.Benchmark)
		v.launcher(j)
	}
	if len(v.list) > 0 {
		return fmt.Errorf("invalid job: %w", errors.Join(v.list...))
	}
	return nil
}

// Validate finds what is wrong with the checks.
func (c Checks) Validate() error { return errors.Join(c.problems()...) }

func (c Checks) problems() []error {
	var v problems
	if c.Timezone != "" && !timezonePattern.MatchString(c.Timezone) {
		v.add("checks.timezone %q is not an IANA name such as Asia/Tokyo", c.Timezone)
	}
	for _, mount := range c.Mounts {
		v.path("checks.mounts", mount)
	}
	if c.CloudInitWaitSeconds < 0 {
		v.add("checks.cloud_init_wait_seconds is negative")
	}
	for _, name := range c.Skip {
		if _, ok := CheckKindOf(name); !ok {
			v.add("checks.skip: there is no check %q; ocihpc-runner check --list shows all", name)
		}
	}
	return v.list
}

// problems collects what is wrong.
type problems struct{ list []error }

func (v *problems) add(format string, args ...any) {
	v.list = append(v.list, fmt.Errorf(format, args...))
}

func (v *problems) path(field, p string) {
	if !pathPattern.MatchString(p) || path.Clean(p) != p {
		v.add("%s: %q is not a clean absolute path of plain characters", field, p)
	}
}

func (v *problems) nodes(nodes []Node) {
	if len(nodes) == 0 {
		v.add("nodes is empty: name at least the head node")
	}
	names, addresses := map[string]bool{}, map[string]bool{}
	for i, n := range nodes {
		if !namePattern.MatchString(n.Name) {
			v.add("nodes[%d].name %q is not a plain host name", i, n.Name)
		}
		if !addressPattern.MatchString(n.Address) {
			v.add("nodes[%d].address %q is not an IPv4 address or DNS name", i, n.Address)
		}
		// The head node is the machine that the runner is on: nobody logs in to it.
		if (i > 0 || n.HostKey != "") && !hostKeyPattern.MatchString(n.HostKey) {
			v.add("nodes[%d].host_key of %s is not of the form \"ssh-ed25519 AAAA…\"", i, n.Name)
		}
		if names[n.Name] {
			v.add("nodes[%d].name %q is used twice", i, n.Name)
		}
		if addresses[n.Address] {
			v.add("nodes[%d].address %q is used twice", i, n.Address)
		}
		names[n.Name], addresses[n.Address] = true, true
	}
}

func (v *problems) benchmark(b Benchmark) {
	if b.Pattern != "" && !slices.Contains(Patterns, b.Pattern) {
		v.add("benchmark.pattern %q is not one of %v", b.Pattern, Patterns)
	}
	if b.MaxRuns < 0 {
		v.add("benchmark.max_runs is negative")
	}
	if err := CheckCollective(b.Collective); err != nil {
		v.add("benchmark.collective: %w", err)
	}
	if b.DataType != "" {
		if err := CheckDataType(b.DataType); err != nil {
			v.add("benchmark.data_type: %w", err)
		}
	}
	if b.RedOp != "" {
		if err := CheckRedOp(b.RedOp); err != nil {
			v.add("benchmark.redop: %w", err)
		}
	}
	if b.MinSizeBytes <= 0 || b.MaxSizeBytes < b.MinSizeBytes {
		v.add("benchmark sizes %d to %d bytes are no range", b.MinSizeBytes, b.MaxSizeBytes)
	}
	if b.StepFactor < 2 {
		v.add("benchmark.step_factor is %d, less than 2", b.StepFactor)
	}
	if b.Iterations < 1 || b.WarmupIterations < 0 {
		v.add("benchmark needs at least 1 iteration and no negative number of warm-up iterations")
	}
	if b.GPUsPerNode < 0 {
		v.add("benchmark.gpus_per_node is negative")
	}
	if b.NCCLTestsDir != "" {
		v.path("benchmark.nccl_tests_dir", b.NCCLTestsDir)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Environment)) {
		if !variablePattern.MatchString(name) {
			v.add("benchmark.environment: %q is not the name of a variable", name)
		}
		if strings.ContainsAny(b.Environment[name], "\x00\n") {
			v.add("benchmark.environment: the value of %s holds a line break or NUL", name)
		}
	}
	v.verdict(b)
	if b.TimeoutSeconds <= 0 {
		v.add("benchmark.timeout_seconds must be more than 0")
	}
}

func (v *problems) tuning(b Benchmark) {
	t := b.Tuning
	if t == nil {
		return
	}
	if t.MaxRuns < 0 || t.MinGainPercent < 0 {
		v.add("benchmark.tuning is negative")
	}
	if p := b.Pattern; p != "" && p != PatternAuto && p != PatternAll {
		v.add("benchmark.tuning needs a run over all nodes, which the pattern %s does not have", p)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
		if !variablePattern.MatchString(name) || len(t.Settings[name]) == 0 {
			v.add("benchmark.tuning.settings: %q is not the name of a variable with values", name)
		}
		for _, value := range t.Settings[name] {
			if strings.ContainsAny(value, "\x00\n;") {
				v.add("benchmark.tuning.settings: a value of %s holds a line break, semicolon or NUL", name)
			}
		}
	}
}

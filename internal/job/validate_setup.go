// SPDX-License-Identifier: MPL-2.0

package job

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

var (
	modePattern      = form(`^[0-7]{3,4}$`)
	ownerPattern     = form(`^[a-z_][a-z0-9_-]{0,31}(:[a-z_][a-z0-9_-]{0,31})?$`)
	packagePattern   = form(`^[A-Za-z0-9][A-Za-z0-9._+~:=-]{0,254}$`)
	unitPattern      = form(`^[A-Za-z0-9][A-Za-z0-9@:._\\-]{0,254}$`)
	digestPattern    = form(`^[0-9a-f]{64}$`)
	registryPattern  = form(`^([A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`)
	referencePattern = form(`^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,999}$`)
)

// Validate finds what is wrong with the set-up.
func (s Setup) Validate() error {
	var v problems
	v.setup(s)
	return errors.Join(v.list...)
}

func (v *problems) setup(s Setup) {
	if len(s.Steps) == 0 && s.ContainerRuntime == nil {
		v.add("setup asks for nothing: name steps or a container_runtime")
	}
	for _, limit := range []struct {
		field string
		value int
	}{
		{"max_sessions", s.MaxSessions}, {"max_downloads", s.MaxDownloads},
		{"max_uploads", s.MaxUploads}, {"max_transfers", s.MaxTransfers},
		{"lock_wait_seconds", s.LockWaitSeconds}, {"reconnect_seconds", s.ReconnectSeconds},
	} {
		if limit.value < 0 {
			v.add("setup.%s is negative", limit.field)
		}
	}
	names := map[string]bool{}
	for i, step := range s.Steps {
		if !namePattern.MatchString(step.Name) {
			v.add("setup.steps[%d].name %q is not a plain word", i, step.Name)
		}
		if names[step.Name] {
			v.add("setup.steps[%d].name %q is used twice", i, step.Name)
		}
		names[step.Name] = true
		v.step("setup.steps "+step.Name, step)
	}
	if s.ContainerRuntime != nil {
		v.containerRuntime(*s.ContainerRuntime)
	}
}

func (v *problems) step(field string, s Step) {
	kinds := 0
	is := func(present bool) bool {
		if present {
			kinds++
		}
		return present
	}
	if is(s.File != nil) {
		v.placed(field, s.File.Path, s.File.Mode, s.File.Owner)
	}
	if is(s.Directory != nil) {
		v.placed(field, s.Directory.Path, s.Directory.Mode, s.Directory.Owner)
	}
	if is(s.Link != nil) {
		v.path(field+": path", s.Link.Path)
		if s.Link.Target == "" || strings.ContainsRune(s.Link.Target, 0) {
			v.add("%s: target is empty", field)
		}
	}
	if is(s.Command != nil) {
		v.command(field, *s.Command)
	}
	if is(s.Packages != nil) {
		v.each(field+": names", s.Packages.Names, packagePattern, "the name of a package")
	}
	if is(s.Service != nil) {
		v.each(field+": unit", []string{s.Service.Unit}, unitPattern, "the name of a unit")
	}
	if is(s.Download != nil) {
		v.placed(field, s.Download.Path, s.Download.Mode, s.Download.Owner)
		v.url(field+": url", s.Download.URL)
		v.each(field+": sha256", []string{s.Download.SHA256}, digestPattern, "a SHA-256 in lower-case hex")
	}
	if kinds != 1 {
		v.add("%s: exactly one of file, directory, link, command, packages, service and download is needed; there are %d", field, kinds)
	}
}

// placed looks at what files and directories have in common.
func (v *problems) placed(field, p, mode, owner string) {
	v.path(field+": path", p)
	if !modePattern.MatchString(mode) {
		v.add("%s: mode %q is not octal such as 0644", field, mode)
	}
	if owner != "" && !ownerPattern.MatchString(owner) {
		v.add("%s: owner %q is not user or user:group", field, owner)
	}
}

func (v *problems) command(field string, c CommandStep) {
	for _, argv := range [][]string{c.Argv, c.Unless} {
		if slices.ContainsFunc(argv, func(word string) bool { return strings.ContainsRune(word, 0) }) {
			v.add("%s: a word of a command holds NUL", field)
		}
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" || len(c.Unless) > 0 && c.Unless[0] == "" {
		v.add("%s: the program of a command is empty", field)
	}
	if len(c.Unless) == 0 && c.Creates == "" {
		v.add("%s: unless or creates is needed: it tells whether the command has to be run, and whether it worked", field)
	}
	if c.Creates != "" {
		v.path(field+": creates", c.Creates)
	}
}

// each looks at words of one form, of which there must be one.
func (v *problems) each(field string, words []string, form pattern, what string) {
	if len(words) == 0 {
		v.add("%s is empty", field)
	}
	for _, word := range words {
		if !form.MatchString(word) {
			v.add("%s: %q is not %s", field, word, what)
		}
	}
}

func (v *problems) url(field, text string) {
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@") && (err != nil || u.User == nil):
		v.add("%s is not an http or https address", field) // what is before @ may be a secret
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.add("%s: %q is not an http or https address", field, text)
	case u.User != nil:
		v.add("%s: the address of %s holds credentials, which would be kept in job files", field, u.Host)
	}
}

// Validate finds what is wrong with the container runtime.
func (r ContainerRuntime) Validate() error {
	var v problems
	v.containerRuntime(r)
	return errors.Join(v.list...)
}

func (v *problems) containerRuntime(r ContainerRuntime) {
	const field = "setup.container_runtime."
	if !slices.Contains([]Engine{Containerd, Docker, Podman}, r.Engine) {
		v.add(field+"engine %q is not containerd, docker or podman", r.Engine)
	}
	if r.RootlessUser != "" && (!userPattern.MatchString(r.RootlessUser) || r.RootlessUser == "root") {
		v.add(field+"rootless_user %q is not a plain user", r.RootlessUser)
	}
	for _, component := range slices.Sorted(maps.Keys(r.Versions)) {
		if err := CheckVersion(r.Engine, component, r.Versions[component]); err != nil {
			v.add(field+"versions: %w", err)
		}
	}
	switch {
	case r.Mirror == "":
	case path.IsAbs(r.Mirror):
		v.path(field+"mirror", r.Mirror)
	default:
		v.url(field+"mirror", r.Mirror)
	}
	if r.DataRoot != "" {
		v.path(field+"data_root", r.DataRoot)
	}
	if len(r.InsecureRegistries) > 0 {
		v.each(field+"insecure_registries", r.InsecureRegistries, registryPattern, "a registry's host or host:port")
	}
	if len(r.Images) > 0 {
		v.each(field+"images", r.Images, referencePattern, "an image reference")
	}
	if r.ProofImage != "" {
		v.each(field+"proof_image", []string{r.ProofImage}, referencePattern, "an image reference")
	}
}

// SPDX-License-Identifier: MPL-2.0

package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NoComponent is the version that leaves an optional component out.
const NoComponent = "none"

// Forms of versions: of a vendor's release, and of a package, which a distribution words as it likes.
var (
	releasePattern = form(`^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)
	packageVersion = form(`^[0-9][0-9A-Za-z.+~:_-]{0,63}$`)
)

type componentKind struct {
	form     pattern
	example  string
	oldest   string // that has what the set-up relies on; empty is any
	why      string
	optional bool
}

// componentsOf are the components of each engine whose versions can be chosen.
var componentsOf = map[Engine]map[string]componentKind{
	Containerd: {
		"containerd":               {form: releasePattern, example: "2.2.7", oldest: "2.0.0", why: "earlier ones have CDI off and another form of settings"},
		"runc":                     {form: releasePattern, example: "1.3.6", oldest: "1.2.0", why: "containerd 2 needs it"},
		"cni_plugins":              {form: releasePattern, example: "1.9.1"},
		"nerdctl":                  {form: releasePattern, example: "2.3.0", oldest: "2.1.0", why: "earlier ones do not know CDI", optional: true},
		"rootlesskit":              {form: releasePattern, example: "2.3.6", oldest: "2.0.0", why: "nerdctl 2 needs it"},
		"bypass4netns":             {form: form(`^none$`), example: "", optional: true}, // nerdctl brings it
		"nvidia_container_toolkit": toolkitVersions,
	},
	Docker: {
		"docker":                   {form: packageVersion, example: "28.5.1"},
		"nvidia_container_toolkit": toolkitVersions,
	},
	Podman: {
		"podman":                   {form: packageVersion, example: "4:5.4.0-1.el9"},
		"nvidia_container_toolkit": toolkitVersions,
	},
}

var toolkitVersions = componentKind{form: releasePattern, example: "1.18.2", oldest: "1.14.0", why: "earlier ones do not describe all GPUs together"}

// Components gives the components of an engine whose versions can be chosen, sorted.
func Components(engine Engine) []string { return slices.Sorted(maps.Keys(componentsOf[engine])) }

// CheckVersion says what is wrong with a version of a component; nil when it has the right form. Whether the vendor
// has published it is not looked up.
func CheckVersion(engine Engine, component, version string) error {
	kind, found := componentsOf[engine][component]
	switch {
	case !found:
		return fmt.Errorf("%s has no component %q; those of %s are %s", engine, component, engine, strings.Join(Components(engine), ", "))
	case kind.optional && version == NoComponent:
		return nil
	case kind.example == "":
		return fmt.Errorf("%s comes with nerdctl's version; %q leaves it out, %q says nothing", component, NoComponent, version)
	case !kind.form.MatchString(version):
		return fmt.Errorf("version %q of %s is not of the form %s", version, component, kind.example)
	case kind.oldest != "" && older(version, kind.oldest):
		return fmt.Errorf("version %s of %s is older than %s: %s", version, component, kind.oldest, kind.why)
	}
	return nil
}

// older compares releases by their three numbers.
func older(version, than string) bool {
	var a, b [3]int
	_, errA := fmt.Sscanf(version, "%d.%d.%d", &a[0], &a[1], &a[2])
	_, errB := fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	return errA == nil && errB == nil && slices.Compare(a[:], b[:]) < 0
}

// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the same time zones are known on every machine
	"unicode/utf8"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// Problem is something in a [Config] that would not work on a node.
type Problem struct {
	// Path to the attribute: names as string, an index in a list as int, a key of a map as [Key].
	Path    []any
	Message string
}

// Key of a map in the path of a [Problem].
type Key string

// Attribute is Path as people write it, such as nvme.mount_point or runcmd[0].
func (p Problem) Attribute() string {
	var at strings.Builder
	for _, step := range p.Path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&at, "[%d]", step)
		case Key:
			fmt.Fprintf(&at, "[%q]", string(step))
		default:
			fmt.Fprintf(&at, ".%v", step)
		}
	}
	return strings.TrimPrefix(at.String(), ".")
}

func (p Problem) String() string { return p.Attribute() + ": " + p.Message }

var (
	timezoneForm = regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)
	packageForm  = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@+._:~=*/-]*$`)
	localeForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.@-]*$`)
)

// Validate finds what would not work on a node, in the order of the attributes. Empty fields are not looked at.
func Validate(c Config) []Problem {
	v := validator{config: c.withDefaults(), mounted: map[string]bool{}}
	v.shape()
	v.system()
	v.timezone()
	v.locale()
	v.users()
	v.firewall()
	v.nvme()
	v.rdma()
	v.limits()
	v.proxy()
	v.repositories()
	v.packages()
	v.engine()
	v.writeFiles()
	v.commands("bootcmd", c.Bootcmd)
	v.commands("runcmd", c.Runcmd)
	v.readyFile()
	v.parts()
	return v.problems
}

type validator struct {
	config   Config
	problems []Problem
	mounted  map[string]bool // mount points of the parts
}

func (v *validator) add(path []any, format string, args ...any) {
	v.problems = append(v.problems, Problem{path, fmt.Sprintf(format, args...)})
}

func (v *validator) shape() {
	name := v.config.Shape
	if name == "" || name == Generic {
		return
	}
	if _, ok := shape.Lookup(name); ok {
		return
	}
	meant := ""
	if nearest, ok := shape.Suggest(name); ok {
		meant = fmt.Sprintf("Did you mean %q? ", nearest)
	}
	v.add([]any{"shape"}, "%q is not a shape that is known here. %sFor any other shape write %q.", name, meant, Generic)
}

func (v *validator) system() {
	if name := v.config.OS; name != "" && !slices.Contains(Systems(), name) {
		v.add([]any{"os"}, "%q is not a system that is known here; those are %q.", name, Systems())
	}
}

func (v *validator) locale() {
	if name := v.config.Locale; name != "" && !localeForm.MatchString(name) {
		v.add([]any{"locale"}, "%q is not a locale such as en_US.UTF-8.", name)
	}
}

func (v *validator) timezone() {
	name := v.config.Timezone
	if name == "" {
		return
	}
	if _, err := time.LoadLocation(name); err != nil || !timezoneForm.MatchString(name) || name == "Local" {
		v.add([]any{"timezone"}, "%q is not a time zone in the IANA form, such as Asia/Tokyo or UTC.", name)
	}
}

func (v *validator) packages() {
	seen := map[string]bool{}
	for i, name := range v.config.Packages {
		switch {
		case !packageForm.MatchString(name):
			v.add([]any{"packages", i}, "%q is not the name of a package.", name)
		case seen[name]:
			v.add([]any{"packages", i}, "%q is there twice.", name)
		}
		seen[name] = true
	}
}

// insideAny says whether a clean path is one of the trees or inside one.
func insideAny(name string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return name == tree || strings.HasPrefix(name, tree+"/")
	})
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

var (
	userForm       = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)
	shellForm      = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)
	gecosForm      = regexp.MustCompile(`^[^:\n]*$`)
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	suiteForm      = regexp.MustCompile(`^[A-Za-z0-9$/][A-Za-z0-9$._/-]*$`)
	componentForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	limitForm      = regexp.MustCompile(`^(unlimited|[0-9]+)$`)
	hostForm       = regexp.MustCompile(`^[A-Za-z0-9*.:/_-]+$`)
	imageForm      = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)
	urlForm        = regexp.MustCompile(`^[!#-&(-;=?-_a-z{}~]+$`) // printable ASCII but quotes, backtick, blank, <, >, |
)

func (v *validator) users() {
	for _, name := range slices.Sorted(maps.Keys(v.config.Users)) {
		u, at := v.config.Users[name], []any{"users", Key(name)}
		switch {
		case !userForm.MatchString(name):
			v.add(at, "%q is not a user's name: small letters, digits, dashes and underscores, 32 at most.", name)
		case name == "root" || name == "default":
			v.add(at, "%q is a user that images have.", name)
		}
		if u.UID < 0 || u.UID > 1<<31 {
			v.add(append(at, "uid"), "%d is not a user's number.", u.UID)
		}
		if u.Shell != "" && !shellForm.MatchString(u.Shell) {
			v.add(append(at, "shell"), "%q is not the absolute path of a shell.", u.Shell)
		}
		if !isPrintable(u.Gecos) || !gecosForm.MatchString(u.Gecos) {
			v.add(append(at, "gecos"), "%q is not a comment for a user: colons and line breaks cannot be in it.", u.Gecos)
		}
		for i, group := range u.Groups {
			if !userForm.MatchString(group) {
				v.add(append(slices.Clone(at), "groups", i), "%q is not a group's name.", group)
			}
		}
		v.authorizedKeys(append(at, "ssh_authorized_keys"), u.AuthorizedKeys)
	}
	v.authorizedKeys([]any{"ssh_authorized_keys"}, v.config.AuthorizedKeys)
}

func (v *validator) authorizedKeys(at []any, lines []string) {
	for i, line := range lines {
		where := append(slices.Clone(at), i)
		if strings.HasPrefix(line, unknownText) {
			continue
		}
		if strings.Contains(line, "PRIVATE KEY") {
			v.add(where, "This is a private key. It is in your configuration, and in the state if it was applied: replace it.")
			continue
		}
		_, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil || strings.TrimSpace(string(rest)) != "" || strings.Contains(strings.TrimSpace(line), "\n") || !isPrintable(strings.TrimSpace(line)) {
			v.add(where, "This is not one line of authorized_keys, such as ssh-ed25519 AAAA… name.")
		}
	}
}

func (v *validator) firewall() {
	f := v.config.Firewall
	if f == nil {
		return
	}
	if !f.Enabled && len(f.AllowCIDRs) > 0 {
		v.add([]any{"firewall", "allow_cidrs"}, "Where the firewall is off, everything is let in. Leave allow_cidrs out, or set enabled to true.")
	}
	for i, cidr := range f.AllowCIDRs {
		if p, err := netip.ParsePrefix(cidr); !strings.HasPrefix(cidr, unknownText) && (err != nil || p.Masked() != p) {
			v.add([]any{"firewall", "allow_cidrs", i}, "%q is not a network in CIDR form, such as 10.0.0.0/16.", cidr)
		}
	}
}

func (v *validator) rdma() {
	r := v.config.RDMA
	if r == nil {
		return
	}
	s, known := shape.Lookup(v.config.Shape)
	if known && s.RDMAPorts.Usable() && !s.IsRDMA() {
		v.add([]any{"rdma"}, "%s has no RDMA ports. Leave rdma out.", s.Name)
	}
	if !slices.Contains(RDMAModes(), r.Mode) {
		v.add([]any{"rdma", "mode"}, "%q is not a mode; the modes are %q.", r.Mode, RDMAModes())
	}
	if r.Network != "" {
		v.rdmaNetwork(*r, s)
	}
	switch manual := r.Mode == RDMAManual; {
	case manual && r.Authentication == "":
		v.add([]any{"rdma", "authentication"}, "RDMA ports carry nothing until they have passed 802.1X, and manual gives them addresses only. "+
			"Say who authenticates them: \"image\" for an image with oci-cn-auth, \"agent\" for Oracle Cloud Agent's plugin.")
	case manual && r.Authentication != "image" && r.Authentication != "agent":
		v.add([]any{"rdma", "authentication"}, "%q is neither \"image\" nor \"agent\".", r.Authentication)
	case !manual && r.Authentication != "":
		v.add([]any{"rdma", "authentication"}, "In the mode %s, authentication is a part of it. Leave authentication out.", r.Mode)
	}
	if r.WaitSeconds < 0 || r.WaitSeconds > 86400 {
		v.add([]any{"rdma", "wait_seconds"}, "%d is not between 1 and 86400 seconds.", r.WaitSeconds)
	}
}

func (v *validator) rdmaNetwork(r RDMA, s shape.Shape) {
	at := []any{"rdma", "network"}
	p, err := netip.ParsePrefix(r.Network)
	switch {
	case err != nil || p.Masked() != p || !p.Addr().Is4():
		v.add(at, "%q is not an IPv4 network in CIDR form, such as %s.", r.Network, DefaultRDMANetwork)
		return
	case p.Contains(netip.MustParseAddr("169.254.169.254")) || p.Contains(netip.MustParseAddr("127.0.0.1")):
		v.add(at, "%q holds addresses that OCI or the system uses itself.", r.Network)
	}
	ports := 1
	for 1<<ports < len(s.HCAs.V) {
		ports++
	}
	if r.Mode == RDMAManual && len(s.HCAs.V) > 1 && p.Bits() > 24-ports {
		v.add(at, "%s is too small: %d ports with a subnet of 256 addresses each need /%d or wider.", r.Network, len(s.HCAs.V), 24-ports)
	}
}

func (v *validator) limits() {
	for _, name := range slices.Sorted(maps.Keys(v.config.Limits)) {
		at := []any{"limits", Key(name)}
		if _, known := limitNames[name]; !known {
			v.add(at, "%q is not a limit that is known here; those are %q.", name, slices.Sorted(maps.Keys(limitNames)))
		}
		if value := v.config.Limits[name]; !limitForm.MatchString(value) && !strings.HasPrefix(value, unknownText) {
			v.add(at, "%q is neither unlimited nor a number.", value)
		}
	}
}

func (v *validator) proxy() {
	p := v.config.Proxy
	if p == nil {
		return
	}
	for _, u := range []variable{{"http", p.HTTP}, {"https", p.HTTPS}} {
		if u.value != "" {
			v.url([]any{"proxy", u.name}, u.value, "http", "https")
		}
	}
	for i, host := range p.NoProxy {
		if !hostForm.MatchString(host) {
			v.add([]any{"proxy", "no_proxy", i}, "%q is neither a host, a domain nor a network.", host)
		}
	}
}

func (v *validator) url(at []any, text string, schemes ...string) {
	u, err := url.Parse(text)
	ok := err == nil && slices.Contains(schemes, u.Scheme) && (u.Host != "" || u.Scheme == "file") && urlForm.MatchString(text)
	if !ok {
		v.add(at, "%q is not a URL with %s.", text, strings.Join(schemes, ", "))
	}
}

func (v *validator) repositories() {
	for _, id := range slices.Sorted(maps.Keys(v.config.YumRepositories)) {
		r, at := v.config.YumRepositories[id], []any{"yum_repositories", Key(id)}
		v.repository(at, id, v.config.OS != "" && v.config.OS.usesApt(), "apt")
		if r.URL != "" {
			v.url(append(slices.Clone(at), "url"), r.URL, "http", "https", "file")
		}
		if r.GPGKey != "" {
			v.url(append(slices.Clone(at), "gpg_key"), r.GPGKey, "http", "https", "file")
		}
		if !isPrintable(r.Name) {
			v.add(append(slices.Clone(at), "name"), "%q is not one line of text.", r.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.config.AptRepositories)) {
		r, at := v.config.AptRepositories[id], []any{"apt_repositories", Key(id)}
		v.repository(at, id, v.config.OS != "" && !v.config.OS.usesApt(), "dnf")
		if r.URL != "" {
			v.url(append(slices.Clone(at), "url"), r.URL, "http", "https", "file")
		}
		if r.Suite != "" && !suiteForm.MatchString(r.Suite) {
			v.add(append(slices.Clone(at), "suite"), "%q is not a suite such as $RELEASE, stable or /.", r.Suite)
		}
		for i, component := range r.Components {
			if !componentForm.MatchString(component) {
				v.add(append(slices.Clone(at), "components", i), "%q is not a component such as main.", component)
			}
		}
		if r.Key != "" && !strings.Contains(r.Key, "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
			v.add(append(slices.Clone(at), "key"), "This is not a public key in the armored form, which begins with -----BEGIN PGP PUBLIC KEY BLOCK-----.")
		}
	}
}

func (v *validator) repository(at []any, id string, otherManager bool, manager string) {
	if !repositoryForm.MatchString(id) {
		v.add(at, "%q is not the ID of a repository: letters, digits, dashes and underscores.", id)
	}
	if otherManager {
		v.add(at, "%s has %s. Use %s_repositories.", v.config.OS, manager, map[string]string{"apt": "apt", "dnf": "yum"}[manager])
	}
}

func (v *validator) engine() {
	e := v.config.ContainerEngine
	if e == nil {
		return
	}
	if !slices.Contains(Engines(), e.Name) {
		v.add([]any{"container_engine", "name"}, "%q is not an engine; the engines are %q.", e.Name, Engines())
	}
	if s, ok := shape.Lookup(v.config.Shape); ok && e.NVIDIAToolkit != nil && *e.NVIDIAToolkit && s.GPUVendor != shape.NVIDIA {
		v.add([]any{"container_engine", "nvidia_toolkit"}, "%s has no NVIDIA GPUs.", s.Name)
	}
	seen := map[string]bool{}
	for i, image := range e.Images {
		at := []any{"container_engine", "images", i}
		switch {
		case !imageForm.MatchString(image):
			v.add(at, "%q is not the name of an image such as nvcr.io/nvidia/pytorch:25.02-py3.", image)
		case seen[image]:
			v.add(at, "%q is there twice.", image)
		}
		seen[image] = true
	}
}

// unknownText stands for a text that only an apply gives, in a list or map; see [Unknown].
const unknownText = "unknown-"

// Unknown stands for the text number i of a list, which is not known yet: nothing is found wrong with it.
func Unknown(i int) string { return fmt.Sprintf("%s%d", unknownText, i) }

// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Output is rendered user data in the forms that it is used in.
type Output struct {
	// Rendered is the user data itself: a cloud-config, or with parts of the user's own a MIME message.
	Rendered string
	// Base64 is what goes into an instance's user_data, or [Output.GzipBase64]: cloud-init reads both.
	Base64 string
	// SHA256 of Rendered, in hex.
	SHA256 string
	// sizes by their part of Rendered, for the message on too large a config.
	sizes []size
}

type size struct {
	name  string
	bytes int
}

// Render makes the user data of a node that [Validate] has nothing to say against. Lists keep their order;
// maps are sorted by their keys.
func Render(c Config) Output {
	c = c.withDefaults()
	var out Output
	rendered := out.cloudConfig(c, setupScript(c))
	if len(c.Parts) > 0 {
		rendered = out.multipart(rendered, c.Parts)
	}
	text := []byte(rendered)
	sum := sha256.Sum256(text)
	out.Rendered = rendered
	out.Base64 = base64.StdEncoding.EncodeToString(text)
	out.SHA256 = hex.EncodeToString(sum[:])
	return out
}

// cloudConfig is what the typed fields ask for, with the set-up script, if the node needs one.
func (o *Output) cloudConfig(c Config, script string) string {
	root := &yaml.Node{Kind: yaml.MappingNode}
	if c.Timezone != "" {
		add(root, "timezone", text(c.Timezone))
	}
	if c.Locale != "" {
		add(root, "locale", text(c.Locale))
	}
	addUsers(root, c)
	addRepositories(root, c)
	if len(c.Packages) > 0 {
		add(root, "packages", texts(c.Packages))
		o.note("packages", len(strings.Join(c.Packages, " ")))
	}
	addBootcmd(root, c)
	o.addFiles(root, c, script)

	return emit(root)
}

func (o *Output) note(name string, bytes int) { o.sizes = append(o.sizes, size{name, bytes}) }

func addUsers(root *yaml.Node, c Config) {
	if len(c.Users) > 0 {
		users := list(text("default"))
		for _, name := range slices.Sorted(maps.Keys(c.Users)) {
			users.Content = append(users.Content, userNode(name, c.Users[name]))
		}
		add(root, "users", users)
	}
	if len(c.AuthorizedKeys) > 0 {
		add(root, "ssh_authorized_keys", texts(trimmed(c.AuthorizedKeys)))
	}
}

func userNode(name string, u User) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(name))
	if u.Gecos != "" {
		add(n, "gecos", text(u.Gecos))
	}
	if u.UID != 0 {
		add(n, "uid", number(u.UID))
	}
	if u.Shell != "" {
		add(n, "shell", text(u.Shell))
	}
	if len(u.Groups) > 0 {
		add(n, "groups", texts(u.Groups))
	}
	if u.Sudo {
		add(n, "sudo", text("ALL=(ALL) NOPASSWD:ALL"))
	}
	add(n, "lock_passwd", truth(true))
	if len(u.AuthorizedKeys) > 0 {
		add(n, "ssh_authorized_keys", texts(trimmed(u.AuthorizedKeys)))
	}
	return n
}

func addRepositories(root *yaml.Node, c Config) {
	if len(c.AptRepositories) > 0 {
		sources := &yaml.Node{Kind: yaml.MappingNode}
		for _, id := range slices.Sorted(maps.Keys(c.AptRepositories)) {
			add(sources, id, aptNode(c.AptRepositories[id]))
		}
		apt := &yaml.Node{Kind: yaml.MappingNode}
		add(apt, "sources", sources)
		add(root, "apt", apt)
	}
	if len(c.YumRepositories) > 0 {
		repositories := &yaml.Node{Kind: yaml.MappingNode}
		for _, id := range slices.Sorted(maps.Keys(c.YumRepositories)) {
			add(repositories, id, yumNode(id, c.YumRepositories[id]))
		}
		add(root, "yum_repos", repositories)
	}
	if c.PackageUpgrade {
		add(root, "package_update", truth(true))
		add(root, "package_upgrade", truth(true))
	}
}

func aptNode(r AptRepository) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	signed := ""
	if r.Key != "" {
		signed = "[signed-by=$KEY_FILE] "
	}
	source := "deb " + signed + strings.Join(append([]string{r.URL, r.Suite}, r.Components...), " ")
	add(n, "source", text(source))
	if r.Key != "" {
		add(n, "key", text(r.Key))
	}
	return n
}

func yumNode(id string, r YumRepository) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	name := id
	if r.Name != "" {
		name = r.Name
	}
	add(n, "name", text(name))
	add(n, "baseurl", text(r.URL))
	add(n, "enabled", truth(r.Enabled == nil || *r.Enabled))
	add(n, "gpgcheck", truth(r.GPGCheck == nil || *r.GPGCheck))
	if r.GPGKey != "" {
		add(n, "gpgkey", text(r.GPGKey))
	}
	return n
}

func addBootcmd(root *yaml.Node, c Config) {
	var commands []*yaml.Node
	shell := func(script string) {
		commands = append(commands, list(text("sh"), text("-c"), text(script)))
	}
	if c.Proxy != nil && !c.OS.usesApt() {
		shell(c.Proxy.yumCommand())
	}
	if script := bootScript(c); script != "" {
		shell(script)
	}
	if len(commands) > 0 {
		add(root, "bootcmd", list(commands...))
	}
}

// addFiles adds the user's files, those that typed fields stand for, and the set-up script.
func (o *Output) addFiles(root *yaml.Node, c Config, script string) {
	own := ownFiles(c)
	files := list()
	for _, path := range slices.Sorted(maps.Keys(own)) {
		files.Content = append(files.Content, fileNode(path, own[path]))
	}
	for _, path := range slices.Sorted(maps.Keys(c.WriteFiles)) {
		f := c.WriteFiles[path]
		files.Content = append(files.Content, fileNode(path, f))
		o.note(fmt.Sprintf("write_files[%q]", path), len(path)+len(f.Content))
	}
	if script != "" {
		files.Content = append(files.Content, fileNode(ScriptPath, File{Content: script, Permissions: "0700"}))
		rest := len(script)
		for i, command := range c.Runcmd {
			o.note(fmt.Sprintf("runcmd[%d]", i), len(command))
			rest -= len(command)
		}
		o.note("set-up script", rest)
	}
	if len(files.Content) > 0 {
		add(root, "write_files", files)
	}
}

// ownFiles are written for typed fields, by path.
func ownFiles(c Config) map[string]File {
	files := map[string]File{}
	if c.Proxy != nil {
		files = c.Proxy.files(c.OS)
	}
	if len(c.Limits) > 0 {
		maps.Copy(files, limitFiles(c.Limits))
	}
	return files
}

func fileNode(path string, f File) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "path", text(path))
	if f.Permissions == "" {
		f.Permissions = DefaultPermissions
	}
	add(n, "permissions", text(f.Permissions))
	if f.Owner != "" {
		add(n, "owner", text(f.Owner))
		add(n, "defer", truth(true)) // users and groups are made later
	}
	add(n, "content", text(f.Content))
	return n
}

// GzipBase64 compresses Rendered, in base64. It costs more than all the rest, and is done anew at each call.
func (o Output) GzipBase64() string {
	return base64.StdEncoding.EncodeToString(pack([]byte(o.Rendered)))
}

// packLevel is three times as fast as gzip's own default, and a twelfth larger.
const packLevel = 3

// packers are reused: a compressor has much to set up.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, packLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// pack compresses without a time stamp, so that the same text gives the same bytes.
func pack(b []byte) []byte {
	var packed bytes.Buffer
	packed.Grow(len(b) / 2)
	w, _ := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFo0Y0ZRQ1JvVnJwN1V2c0RGSkE0bTd1Zk5jQ2p0c2tK someone@example.com"

// armored is no key, but has the form of one.
const armored = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBFWzvmUBCADXb3M=\n-----END PGP PUBLIC KEY BLOCK-----\n"

// everything has each field set.
func everything() Config {
	return Config{
		Shape: "BM.GPU4.8", OS: "ol8", Timezone: "America/Argentina/Buenos_Aires", Locale: "ja_JP.UTF-8",
		Users: map[string]User{
			"alice": {Gecos: "Alice, Room 1", Shell: "/bin/bash", UID: 2001, Groups: []string{"wheel", "docker"}, Sudo: true, AuthorizedKeys: []string{publicKey}},
			"bob":   {},
		},
		AuthorizedKeys: []string{publicKey + "\n"},
		GrowRoot:       true,
		Firewall:       &Firewall{Enabled: true, AllowCIDRs: []string{"10.0.0.0/16", "fd00::/64"}},
		NVMe:           nvme(func(n *NVMe) { n.ContainerStorage = true }),
		RDMA:           &RDMA{Mode: RDMAManual, Network: "10.224.0.0/12", Authentication: "image", WaitSeconds: 900},
		Limits:         map[string]string{"memlock": "unlimited", "nofile": "1048576", "stack": "65536"},
		Proxy:          &Proxy{HTTP: "http://user:p%40ss@proxy.example.com:3128", HTTPS: "http://proxy.example.com:3128/", NoProxy: []string{".example.com", "10.0.0.0/8"}},
		YumRepositories: map[string]YumRepository{
			"ol8_developer": {Name: "Oracle Linux 8 # 'x': y", URL: "https://yum$ociregion.$ocidomain/repo/$basearch/", GPGKey: "file:///etc/pki/key", Enabled: pointer(false), GPGCheck: pointer(false)},
		},
		PackageUpgrade:  true,
		Packages:        []string{"git", "@development", "kernel-headers-5.15.0", "libc6:amd64=2.36-9+deb12u4"},
		ContainerEngine: &ContainerEngine{Name: Containerd, Images: []string{"nvcr.io/nvidia/pytorch:25.02-py3", "ubuntu"}},
		WriteFiles: map[string]File{
			"/etc/ocihpc.conf":     {Content: "key: value # 'x'\n", Permissions: "0600", Owner: "alice:alice"},
			"/usr/local/bin/hello": {Content: "#!/bin/sh\necho \"$@\"\n", Permissions: "0755"},
			"/etc/empty":           {Permissions: "644"},
		},
		Bootcmd:   []string{"echo a: b", "true"},
		Runcmd:    []string{"echo a: b", "echo 'it''s' > /tmp/x\nexit 0\n", "日本"},
		ReadyFile: "/var/lib/ocihpc/ready",
		Parts: []Part{
			{Content: "packages: [tmux]\nwrite_files:\n- {path: /etc/part, content: x}\n"},
			{Content: "#!/bin/sh\necho hello\n", ContentType: ShellScript},
			{Content: "#cloud-config\nruncmd:\n- [echo, 'ü']\n", MergeType: "list(prepend)+dict(replace)"},
		},
	}
}

// optionSets cover every kind of content, and every field alone.
func optionSets() map[string]func(*Config) {
	all := everything()
	sets := map[string]func(*Config){
		"nothing":        func(*Config) {},
		"timezone":       func(c *Config) { c.Timezone = "UTC" },
		"locale":         func(c *Config) { c.Locale = all.Locale },
		"users":          func(c *Config) { c.Users = all.Users },
		"keys":           func(c *Config) { c.AuthorizedKeys = all.AuthorizedKeys },
		"grow root":      func(c *Config) { c.GrowRoot = true },
		"firewall off":   func(c *Config) { c.Firewall = &Firewall{} },
		"firewall rules": func(c *Config) { c.Firewall = all.Firewall },
		"rdma agent":     func(c *Config) { c.RDMA = &RDMA{} },
		"rdma rpm":       func(c *Config) { c.RDMA = &RDMA{Mode: RDMARPM, Network: "172.16.0.0/12"} },
		"rdma manual":    func(c *Config) { c.RDMA = all.RDMA },
		"limits":         func(c *Config) { c.Limits = all.Limits },
		"proxy":          func(c *Config) { c.Proxy = all.Proxy },
		"packages":       func(c *Config) { c.Packages, c.PackageUpgrade = all.Packages, true },
		"repositories":   func(c *Config) { c.YumRepositories, c.AptRepositories = all.YumRepositories, aptRepositories() },
		"docker":         func(c *Config) { c.ContainerEngine = &ContainerEngine{Images: []string{"horovod/horovod:latest"}} },
		"containerd":     func(c *Config) { c.ContainerEngine = all.ContainerEngine },
		"files":          func(c *Config) { c.WriteFiles = all.WriteFiles },
		"bootcmd":        func(c *Config) { c.Bootcmd = all.Bootcmd },
		"runcmd":         func(c *Config) { c.Runcmd = nasty[:10] },
		"parts":          func(c *Config) { c.Parts = all.Parts },
		"everything": func(c *Config) {
			name, system := c.Shape, c.OS
			*c = everything()
			c.Shape, c.OS, c.AptRepositories = name, system, aptRepositories()
		},
	}
	for _, layout := range Layouts() {
		for _, fs := range FileSystems() {
			sets["nvme "+string(layout)+" "+fs] = func(c *Config) {
				c.NVMe = &NVMe{Layout: layout, FileSystem: fs, ContainerStorage: fs == "xfs"}
			}
		}
	}
	return sets
}

func aptRepositories() map[string]AptRepository {
	return map[string]AptRepository{
		"docker": {URL: "https://download.docker.com/linux/ubuntu", Suite: "$RELEASE", Components: []string{"stable"}, Key: armored},
		"local":  {URL: "file:///srv/apt", Suite: "/"},
	}
}

// fit leaves out what a shape or system does not have: that it is refused is tested elsewhere.
func fit(c *Config) {
	s, known := shape.Lookup(c.Shape)
	if known && s.NVMeDevices.Usable() && s.NVMeDevices.V == 0 {
		c.NVMe = nil
	}
	if known && c.NVMe != nil && s.NVMeDevices.V == 1 && c.NVMe.Layout == RAID10 {
		c.NVMe.Layout = RAID0
	}
	if known && s.RDMAPorts.Usable() && !s.IsRDMA() {
		c.RDMA = nil
	}
	if c.OS != "" && c.OS.usesApt() {
		c.YumRepositories = nil
	} else if c.OS != "" {
		c.AptRepositories = nil
	}
}

// matrix is every shape with every system and set of options, by name.
func matrix() map[string]Config {
	configs := map[string]Config{}
	for _, name := range append(shape.Names(), Generic) {
		for _, system := range append(Systems(), "") {
			for set, change := range optionSets() {
				c := Config{Shape: name, OS: system}
				change(&c)
				fit(&c)
				configs[strings.Join([]string{name, string(system), set}, " ")] = c
			}
		}
	}
	return configs
}

// askCloudInit has a Python program, which has cloud-init's own modules at hand, look at texts by name, all
// in one process: cloud-init starts slowly. It gives what is wrong, by name.
func askCloudInit(t *testing.T, program string, texts map[string]string) map[string]string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import cloudinit").CombinedOutput(); err != nil {
		t.Skipf("cloud-init is not installed: %v: %s", err, out)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/"+program)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", program, err, stderr.String())
	}
	wrong := map[string]string{}
	if err := json.Unmarshal(output, &wrong); err != nil {
		t.Fatalf("%s: %v: %s", program, err, output)
	}
	return wrong
}

// TestCloudInitSchema asks the real cloud-init about every text that the matrix gives.
func TestCloudInitSchema(t *testing.T) {
	t.Parallel()
	names := map[string]string{} // by text
	count := 0
	for name, config := range matrix() {
		if problems := Validate(config); len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		var o Output
		config = config.withDefaults()
		count++
		names[o.cloudConfig(config, setupScript(config))] = name
	}
	texts := map[string]string{}
	for text, name := range names {
		texts[name] = text
	}
	for name, config := range tutorials() {
		texts[name] = render(t, config).Rendered
	}
	for name, part := range everything().Parts {
		if part.isCloudConfig() {
			texts[string(rune('0'+name))] = part.Normal()
		}
	}
	t.Logf("%d configs, %d texts", count, len(texts))
	texts["wrong"] = "#cloud-config\npackages: 3\n"
	wrong := askCloudInit(t, "schema.py", texts)
	if wrong["wrong"] == "" {
		t.Error("cloud-init finds nothing wrong in a wrong config")
	}
	delete(wrong, "wrong")
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s: %s\n%s", name, wrong[name], texts[name])
	}
	if len(texts) < 180 || count < 5000 {
		t.Errorf("only %d configs, %d texts", count, len(texts))
	}
}

// TestCloudInitCommand asks the command itself, once.
func TestCloudInitCommand(t *testing.T) {
	t.Parallel()
	cloudInit, err := exec.LookPath("cloud-init")
	if err != nil {
		t.Skipf("cloud-init is not installed: %v", err)
	}
	config := everything()
	config.Parts = nil
	file := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(file, []byte(render(t, config).Rendered), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), cloudInit, "schema", "--config-file", file).CombinedOutput()
	if err != nil || strings.Contains(strings.ToLower(string(output)), "deprecat") {
		t.Errorf("%v: %s", err, output)
	}
}

// TestPartsMerge has the real cloud-init read and merge a MIME message.
func TestPartsMerge(t *testing.T) {
	t.Parallel()
	merged := askCloudInit(t, "merge.py", map[string]string{"everything": render(t, everything()).Base64})
	var got struct {
		Packages   []string
		WriteFiles []documentFile `json:"write_files"`
		Runcmd     [][]string
		Timezone   string
		Scripts    []string
	}
	if err := json.Unmarshal([]byte(merged["everything"]), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Packages, append(everything().Packages, "tmux")) {
		t.Errorf("packages %q", got.Packages)
	}
	var paths []string
	for _, f := range got.WriteFiles {
		paths = append(paths, f.Path)
	}
	for _, path := range []string{ScriptPath, "/etc/part", "/etc/ocihpc.conf"} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not among the merged files %q", path, paths)
		}
	}
	if len(got.Runcmd) != 1 || !slices.Equal(got.Runcmd[0], []string{"echo", "ü"}) || got.Timezone != everything().Timezone {
		t.Errorf("runcmd %q, time zone %q", got.Runcmd, got.Timezone)
	}
	if len(got.Scripts) != 1 || got.Scripts[0] != "#!/bin/sh\necho hello\n" {
		t.Errorf("scripts %q", got.Scripts)
	}
}

func BenchmarkRender(b *testing.B) {
	configs := tutorials()
	configs["everything"] = everything()
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Render(configs[name])
			}
		})
	}
}

// BenchmarkRender1000 renders the config of the cluster in Oracle Japan's tutorials for 1,000 nodes that differ,
// as text and base64, and in all forms.
func BenchmarkRender1000(b *testing.B) {
	config := tutorials()["a100_cluster"]
	for name, use := range map[string]func(Output){
		"base64":    func(Output) {},
		"all forms": func(o Output) { o.GzipBase64() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for n := range 1000 {
					config.Runcmd = []string{"echo node " + strconv.Itoa(n)}
					use(Render(config))
				}
			}
		})
	}
}

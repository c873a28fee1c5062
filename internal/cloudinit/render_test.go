// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write the golden files anew")

// document is a cloud-config as cloud-init reads it, as far as tests look into it.
type document struct {
	Timezone   string         `yaml:"timezone"   json:"timezone"`
	Packages   []string       `yaml:"packages"   json:"packages"`
	Bootcmd    [][]string     `yaml:"bootcmd" json:"bootcmd"`
	WriteFiles []documentFile `yaml:"write_files" json:"write_files"`
}

type documentFile struct {
	Path        string `yaml:"path"        json:"path"`
	Permissions string `yaml:"permissions" json:"permissions"`
	Content     string `yaml:"content"     json:"content"`
}

func render(t testing.TB, c Config) Output {
	t.Helper()
	if problems := Validate(c); len(problems) > 0 {
		t.Fatalf("the config is not valid: %v", problems)
	}
	return Render(c)
}

func parse(t testing.TB, rendered string) document {
	t.Helper()
	var d document
	if err := yaml.Unmarshal([]byte(rendered), &d); err != nil {
		t.Fatalf("%v in:\n%s", err, rendered)
	}
	return d
}

func pointer[T any](v T) *T { return &v }

func nvme(change func(*NVMe)) *NVMe {
	n := DefaultNVMe()
	change(&n)
	return &n
}

func linear(n *NVMe) { n.Layout = LVM }

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// tutorials are what Oracle Japan's tutorials set up with hand-written cloud-configs.
func tutorials() map[string]Config {
	off := &Firewall{}
	nvidia := func(branch string) YumRepository {
		return YumRepository{
			URL:    "https://nvidia.github.io/libnvidia-container/" + branch + "/centos7/$basearch",
			GPGKey: "https://nvidia.github.io/libnvidia-container/gpgkey",
		}
	}
	return map[string]Config{
		"v100_node": {Shape: "BM.GPU3.8", Timezone: "Asia/Tokyo", GrowRoot: true, Firewall: off},
		"a100_node": {Shape: "BM.GPU4.8", Timezone: "Asia/Tokyo", GrowRoot: true, Firewall: off, NVMe: nvme(linear)},
		"a100_cluster": {
			Shape: "BM.GPU4.8", OS: "ol7", Firewall: off, NVMe: nvme(linear),
			YumRepositories: map[string]YumRepository{
				"ol7_developer": {
					Name:   "Oracle Linux $releasever Development Packages ($basearch)",
					URL:    "https://yum$ociregion.$ocidomain/repo/OracleLinux/OL7/developer/$basearch/",
					GPGKey: "file:///etc/pki/rpm-gpg/RPM-GPG-KEY-oracle",
				},
				"docker-ce-stable": {
					Name: "Docker CE Stable - $basearch", URL: "https://download.docker.com/linux/centos/$releasever/$basearch/stable",
					GPGKey: "https://download.docker.com/linux/centos/gpg",
				},
				"libnvidia-container":              nvidia("stable"),
				"libnvidia-container-experimental": nvidia("experimental"),
			},
			Packages:        []string{"docker-ce", "nvidia-container-toolkit"},
			RDMA:            &RDMA{Mode: RDMAManual, Authentication: "image"},
			ContainerEngine: &ContainerEngine{Name: Docker, Images: []string{"horovod/horovod:latest"}},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, config := range tutorials() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := render(t, config).Rendered
			file := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := readFile(t, file); got != want {
				t.Errorf("%s differs from what is rendered now:\n%s\n(go test -update writes it anew)", file, got)
			}
		})
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	config := tutorials()["a100_cluster"]
	out := render(t, config)

	plain, err := base64.StdEncoding.DecodeString(out.Base64)
	if err != nil || string(plain) != out.Rendered {
		t.Errorf("base64 holds %q, %v", plain, err)
	}
	packed, err := base64.StdEncoding.DecodeString(out.GzipBase64())
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked, err := io.ReadAll(r); err != nil || string(unpacked) != out.Rendered {
		t.Errorf("gzip_base64 holds %q, %v", unpacked, err)
	}
	if !r.ModTime.IsZero() {
		t.Error("a time stamp would make the same config differ")
	}
	if sum := sha256.Sum256([]byte(out.Rendered)); out.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("SHA256 = %s", out.SHA256)
	}
	for range 20 { // maps have no order of their own
		if again := render(t, config); again.Rendered != out.Rendered || again.GzipBase64() != out.GzipBase64() {
			t.Fatal("the same config was rendered in another way")
		}
	}
}

func TestNothingAskedNothingDone(t *testing.T) {
	t.Parallel()
	if got, want := render(t, Config{Shape: Generic}).Rendered, "#cloud-config\n{}\n"; got != want {
		t.Errorf("rendered %q, want %q", got, want)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	with := func(content string) Output {
		return render(t, Config{GrowRoot: true, WriteFiles: map[string]File{
			"/etc/large": {Content: content, Permissions: "0644"},
			"/etc/small": {Content: "small", Permissions: "0644"},
		}, Runcmd: []string{strings.Repeat("x", 5000)}})
	}
	var noise strings.Builder
	for i := range 1200 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		noise.WriteString(hex.EncodeToString(sum[:]))
	}
	if out := with("x"); out.CheckSize() != nil || out.FitsOnlyPacked() {
		t.Errorf("a small config is too large: %v", out.CheckSize())
	}
	if out := with(strings.Repeat("line\n", 8000)); out.CheckSize() != nil || !out.FitsOnlyPacked() {
		t.Errorf("40 kB of the same fit when compressed, got %d bytes, %v", len(out.GzipBase64()), out.CheckSize())
	}
	out := with(noise.String())
	err := out.CheckSize()
	if err == nil {
		t.Fatalf("%d bytes are not too large", len(out.GzipBase64()))
	}
	for _, want := range []string{
		strconv.Itoa(len(out.Base64)), strconv.Itoa(len(out.GzipBase64())), "32000",
		`Biggest parts: write_files["/etc/large"] (76810 bytes), runcmd[0] (5000 bytes), set-up script (`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// nasty are texts that quoting tends to get wrong, in YAML or in the shell.
var nasty = []string{
	"plain", "two words", " leading", "trailing ", "\ttab", "tab\tinside", "a: b", "- a", "# comment", "a # b", "'", `"`, `\`, `\n`,
	`'"'"'`, "$(touch /tmp/x)", "`id`", "${HOME}", "$HOME", "!!python/object", "&anchor", "*alias", "%TAG", "@at", "|", ">", "|-\n a",
	"?", "? key", "[a, b]", "{a: b}", "yes", "no", "on", "null", "~", "true", "1", "1_000", "0o17", "017", "1:20", "1e3", "=", "<<", ".nan",
	"2001-01-01", "---", "...", "--- a", "a\nb", "a\nb\n", "\na", "\n", "\n\n", "a\n\n\n", " a\n  b\n", "a\n b\n\tc\n", "a \nb \n", "\r", "a\r\nb\r\n",
	"\x01", "\x7f", "\u0085", "a\u0085b\nc", "a\u2028b\nc", "a\u2029b", "\ufeffbom", "\ufeff\nbom", "日本語\nです\n", "😀", "😀\n😀", "e\u0301", "\u200b", "\ufffd\ufffe",
	"EOF", "a\nEOF\nb", "x\n...\ny\n", "x\n---\ny\n", "--", "-n", "; reboot", "&& reboot", "| sh", "> /etc/passwd", "a\\\nb", "\ttab\nx\n", "x\n\ty\n", "#a\nb", "'\n'", "\"\n\"", "{{ v1.instance_id }}",
	"## template: jinja\n", strings.Repeat("long ", 500), strings.Repeat("word", 2000), "a\n" + strings.Repeat("long ", 50) + "\n",
}

// withText is a config with a foreign text in each place that takes one.
func withText(s string) Config {
	return Config{
		Shape: Generic,
		WriteFiles: map[string]File{
			"/etc/one":                            {Content: s, Permissions: "0644"},
			"/etc/" + strings.Trim(s, "/") + ".x": {Content: "content\n", Permissions: "0600"},
		},
		Runcmd: []string{s, "true", s},
	}
}

func TestForeignTextsArrive(t *testing.T) {
	t.Parallel()
	for _, s := range nasty {
		checkArrives(t, withText(s))
	}
}

// checkArrives reads a config back from YAML and shell, unless it is refused.
func checkArrives(t testing.TB, c Config) {
	t.Helper()
	for _, p := range Validate(c) { // drop what is refused, keep the rest
		switch p.Path[0] {
		case "write_files":
			delete(c.WriteFiles, string(p.Path[1].(Key)))
		case "runcmd":
			c.Runcmd = nil
		default:
			return
		}
	}
	out := render(t, c)
	d := parse(t, out.Rendered)
	if d.Timezone != c.Timezone || !slices.Equal(d.Packages, c.Packages) {
		t.Errorf("time zone %q, packages %q came back as %q, %q", c.Timezone, c.Packages, d.Timezone, d.Packages)
	}
	script := ""
	if setupScript(c) != "" {
		last := len(d.WriteFiles) - 1
		script = d.WriteFiles[last].Content
		d.WriteFiles = d.WriteFiles[:last]
	}
	if script != setupScript(c) {
		t.Errorf("the script came back as %q", script)
	}
	if len(d.WriteFiles) != len(c.WriteFiles) {
		t.Errorf("%d files came back as %d", len(c.WriteFiles), len(d.WriteFiles))
	}
	for _, f := range d.WriteFiles {
		if want := c.WriteFiles[f.Path]; f.Content != want.Content || f.Permissions != want.Permissions {
			t.Errorf("file %q %q came back as %q %q", f.Path, want, f.Permissions, f.Content)
		}
	}
	checkCommands(t, script, c.Runcmd)
}

// checkCommands lets a shell read the calls at the end of a script.
func checkCommands(t testing.TB, script string, want []string) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	_, calls, found := strings.Cut(script, "\nrun_once ")
	if !found {
		t.Fatalf("no command in:\n%s", script)
	}
	reader := "run() { :; }\nrun_once() { printf '%s\\0' \"$2\"; }\nrun_once "
	cmd := exec.CommandContext(t.Context(), "sh", "-eu")
	cmd.Stdin = strings.NewReader(reader + calls)
	got, err := cmd.Output()
	if err != nil || string(got) != strings.Join(want, "\x00")+"\x00" {
		t.Errorf("commands %q came back as %q, %v", want, got, err)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range nasty {
		f.Add("Asia/Tokyo", "git", "/etc/x", s, s, "localscratch", "/mnt/localdisk", "noatime")
		f.Add(s, s, s, s, s, s, s, s)
	}
	f.Fuzz(func(t *testing.T, timezone, pkg, path, content, command, label, mount, options string) {
		checkArrives(t, Config{
			Shape: Generic, Timezone: timezone, GrowRoot: true, Firewall: &Firewall{Enabled: true},
			NVMe:       &NVMe{Layout: LVMStriped, MountPoint: mount, Label: label, MountOptions: options},
			Packages:   []string{pkg},
			WriteFiles: map[string]File{path: {Content: content, Permissions: "0644"}},
			Runcmd:     []string{command, "true"},
		})
		checkArrives(t, Config{WriteFiles: map[string]File{path: {Content: content, Permissions: "0644"}}, Runcmd: []string{command, "true"}})
	})
}

// TestPythonReadsTheSame asks the YAML library that cloud-init uses, which reads YAML 1.1.
func TestPythonReadsTheSame(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import yaml").CombinedOutput(); err != nil {
		t.Skipf("python3 with PyYAML is not installed: %v: %s", err, out)
	}
	var texts []string
	for _, s := range nasty {
		c := withText(s)
		for _, p := range Validate(c) {
			if p.Path[0] == "write_files" {
				delete(c.WriteFiles, string(p.Path[1].(Key)))
			} else {
				c.Runcmd = nil
			}
		}
		texts = append(texts, render(t, c).Rendered)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c",
		"import json, sys, yaml; print(json.dumps([yaml.safe_load(text) for text in json.load(sys.stdin)]))")
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("PyYAML: %v", err)
	}
	var read []document
	if err := json.Unmarshal(output, &read); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if want := parse(t, text); fmt.Sprintf("%q", read[i]) != fmt.Sprintf("%q", want) {
			t.Errorf("PyYAML reads %q,\nGo reads %q", read[i], want)
		}
	}
}

func TestShellCheck(t *testing.T) {
	t.Parallel()
	shellCheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skipf("shellcheck is not installed: %v", err)
	}
	for name, change := range optionSets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var config Config
			change(&config)
			config.Shape = "BM.GPU4.8"
			script := setupScript(config)
			if name == "bootcmd" {
				script = bootScript(config)
			}
			if script == "" {
				t.Skip("this set needs no script")
			}
			cmd := exec.CommandContext(t.Context(), shellCheck, "--shell", "sh", "-")
			cmd.Stdin = strings.NewReader(script)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, output)
			}
		})
	}
}

// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Release is a file of a mirror of releases, as its manifest has it.
type Release struct {
	Component string `json:"component"` // such as containerd
	Version   string `json:"version"`   // without a v
	OS        string `json:"os"`
	Arch      string `json:"arch"`               // by Go's name
	Packages  string `json:"packages,omitempty"` // deb for an archive of packages
	File      string `json:"file"`
	SHA256    string `json:"sha256"` // in hex
}

// machine is this machine's architecture by the kernel's name.
var machine = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]

// built are the components that tools/setup.sh builds, with the vendors' names of their archives and the folder
// in them.
var built = map[string]struct{ file, dir string }{
	"containerd":   {"containerd-{version}-linux-{arch}.tar.gz", "bin"},
	"runc":         {"runc.{arch}", ""},
	"cni_plugins":  {"cni-plugins-linux-{arch}-v{version}.tgz", "."},
	"rootlesskit":  {"rootlesskit-{machine}.tar.gz", "."},
	"bypass4netns": {"bypass4netns-{version}-linux-{arch}.tar.gz", "bin"},
}

// ToolkitVersion is that of the stand-in for the NVIDIA Container Toolkit.
const ToolkitVersion = "1.18.2"

// Releases makes a mirror of releases, a directory with manifest.json, and gives it with what it has: containerd,
// runc, CNI plugins, rootlesskit and bypass4netns, built from their source; the lab's stand-in for the NVIDIA
// Container Toolkit, as packages; and nerdctl with the scripts beside it (containerd-rootless.sh), where
// NERDCTL_BINARY names one. The test is skipped where
// tools/setup.sh has not built them.
func Releases(t testing.TB) (dir string, files []Release) {
	t.Helper()
	dir = t.TempDir()
	add := func(component, version, file, packages string) {
		files = append(files, Release{component, version, "linux", runtime.GOARCH, packages, file, digest(t, filepath.Join(dir, file))})
	}
	for component, b := range built {
		programs := programsOf(t, component)
		version := strings.TrimPrefix(filepath.Base(programs), component+"-")
		file := strings.NewReplacer("{version}", version, "{arch}", runtime.GOARCH, "{machine}", machine).Replace(b.file)
		if b.dir == "" { // the program itself
			copyProgram(t, filepath.Join(programs, component), filepath.Join(dir, file))
		} else {
			pack(t, filepath.Join(dir, file), b.dir, programs)
		}
		add(component, version, file, "")
	}
	add("nvidia_container_toolkit", ToolkitVersion, toolkit(t, dir), "deb")
	if nerdctl := os.Getenv("NERDCTL_BINARY"); nerdctl != "" {
		version := nerdctlVersion(t, nerdctl)
		programs := t.TempDir()
		copyProgram(t, nerdctl, filepath.Join(programs, "nerdctl"))
		scripts, err := filepath.Glob(filepath.Join(filepath.Dir(nerdctl), "containerd-rootless*.sh"))
		if err != nil || len(scripts) == 0 {
			t.Fatalf("there is no containerd-rootless.sh beside %s, where nerdctl's releases have it (error: %v)", nerdctl, err)
		}
		for _, script := range scripts {
			copyProgram(t, script, filepath.Join(programs, filepath.Base(script)))
		}
		file := fmt.Sprintf("nerdctl-%s-linux-%s.tar.gz", version, runtime.GOARCH)
		pack(t, filepath.Join(dir, file), ".", programs)
		add("nerdctl", version, file, "")
	}
	writeManifest(t, dir, files)
	return dir, files
}

func writeManifest(t testing.TB, dir string, files []Release) {
	t.Helper()
	manifest, err := json.MarshalIndent(map[string][]Release{"files": files}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
}

// AddVersion adds to a mirror a component that was built here under another version of the same length, which its
// programs tell, too: they are the same else.
func AddVersion(t testing.TB, mirror, component, version string) {
	t.Helper()
	programs := programsOf(t, component)
	own := strings.TrimPrefix(filepath.Base(programs), component+"-")
	if len(own) != len(version) {
		t.Fatalf("%s is not as long as %s", version, own)
	}
	renamed := t.TempDir()
	entries, err := os.ReadDir(programs)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(programs, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(renamed, entry.Name()), bytes.ReplaceAll(content, []byte(own), []byte(version)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var manifest struct {
		Files []Release `json:"files"`
	}
	text, err := os.ReadFile(filepath.Join(mirror, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("%s-%s.tar.gz", component, version)
	pack(t, filepath.Join(mirror, file), built[component].dir, renamed)
	writeManifest(t, mirror, append(manifest.Files, Release{component, version, "linux", runtime.GOARCH, "", file, digest(t, filepath.Join(mirror, file))}))
}

// programsOf is the directory with the programs of a component.
func programsOf(t testing.TB, component string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(toolsDir(t), "releases", component+"-[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range found {
		if !strings.HasSuffix(dir, ".new") {
			return dir
		}
	}
	t.Skipf("there is no %s: run `tools/setup.sh test`", component)
	return ""
}

func nerdctlVersion(t testing.TB, nerdctl string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), nerdctl, "--version").Output() // nerdctl version 2.2.2
	fields := strings.Fields(string(said))
	if err != nil || len(fields) == 0 {
		t.Fatalf("NERDCTL_BINARY=%s does not tell its version: %v", nerdctl, err)
	}
	return strings.TrimPrefix(fields[len(fields)-1], "v")
}

// pack makes a compressed archive of a directory's files, in a folder.
func pack(t testing.TB, archive, folder, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	writer := tar.NewWriter(compressed)
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.Join(folder, entry.Name()), Mode: 0o755, Size: int64(len(content))}
		if folder == "." {
			header.Name = "./" + entry.Name() // as the vendors have it
		}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyProgram(t testing.TB, source, target string) {
	t.Helper()
	content, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, content, 0o700); err != nil {
		t.Fatal(err)
	}
}

func digest(t testing.TB, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

//go:embed nvidia-ctk.sh
var nvidiaCTK string

// toolkit makes an archive of packages as NVIDIA's, with the lab's nvidia-ctk, and gives its name.
func toolkit(t testing.TB, dir string) string {
	t.Helper()
	packages := t.TempDir()
	for name, depends := range map[string]string{
		"libnvidia-container1": "", "libnvidia-container-tools": "libnvidia-container1", "nvidia-container-toolkit-base": "",
		"nvidia-container-toolkit": "nvidia-container-toolkit-base, libnvidia-container-tools",
	} {
		tree := t.TempDir()
		control := fmt.Sprintf("Package: %s\nVersion: %s-1\nArchitecture: %s\nMaintainer: lab\nDescription: the lab's stand-in\n", name, ToolkitVersion, runtime.GOARCH)
		if depends != "" {
			control += "Depends: " + depends + "\n"
		}
		files := map[string]string{"DEBIAN/control": control}
		if name == "nvidia-container-toolkit-base" {
			files["usr/bin/nvidia-ctk"] = strings.ReplaceAll(nvidiaCTK, "@VERSION@", ToolkitVersion)
		}
		for path, text := range files {
			full := filepath.Join(tree, path)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		deb := filepath.Join(packages, fmt.Sprintf("%s_%s-1_%s.deb", name, ToolkitVersion, runtime.GOARCH))
		if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "--build", tree, deb).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	file := fmt.Sprintf("nvidia-container-toolkit_%s_deb_%s.tar.gz", ToolkitVersion, runtime.GOARCH)
	pack(t, filepath.Join(dir, file), fmt.Sprintf("release-v%s-stable/packages/ubuntu18.04/%s", ToolkitVersion, runtime.GOARCH), packages)
	return file
}

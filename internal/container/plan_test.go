// SPDX-License-Identifier: MPL-2.0

package container

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	oracle9  = Platform{ID: "ol", Version: "9.6", Arch: "amd64", Packages: "rpm"}
	oracle8  = Platform{ID: "ol", Version: "8.10", Arch: "amd64", Packages: "rpm"}
	ubuntu22 = Platform{ID: "ubuntu", Version: "22.04", Codename: "jammy", Arch: "amd64", Packages: "deb"}
	ubuntu24 = Platform{ID: "ubuntu", Version: "24.04", Codename: "noble", Arch: "arm64", Packages: "deb"}
	debian12 = Platform{ID: "debian", Version: "12", Codename: "bookworm", Arch: "amd64", Packages: "deb"}
)

// TestPlans shows every plan as people read it. The golden files are to be read when they change.
func TestPlans(t *testing.T) {
	t.Parallel()
	for name, platform := range map[string]Platform{"ol8": oracle8, "ol9": oracle9, "ubuntu22": ubuntu22, "ubuntu24": ubuntu24, "debian12": debian12} {
		for _, want := range []job.ContainerRuntime{
			{Engine: job.Containerd, Images: []string{"nvcr.io/nvidia/base/ubuntu:22.04_20240212"}},
			{Engine: job.Containerd, RootlessUser: "nobody", DataRoot: "/mnt/localdisk/containers"},
			{Engine: job.Docker, DataRoot: "/mnt/localdisk/containers"},
			{Engine: job.Docker, RootlessUser: "nobody"},
			{Engine: job.Podman, RootlessUser: "nobody", DataRoot: "/mnt/localdisk/containers"},
		} {
			file := fmt.Sprintf("%s-%s", want.Engine, name)
			if want.RootlessUser != "" {
				file = fmt.Sprintf("%s-rootless-%s", want.Engine, name)
			}
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				steps, err := Plan(t.Context(), want, Options{Shape: "BM.GPU4.8", Platform: platform})
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", file+".txt"), show(steps))
			})
		}
	}
}

// show prints the steps, and what they write.
func show(steps []setup.Step) string {
	var text strings.Builder
	names := map[string]bool{}
	for _, step := range steps {
		if names[step.Name()] {
			fmt.Fprintf(&text, "TWICE: ")
		}
		names[step.Name()] = true
		fmt.Fprintf(&text, "%s: %s\n", step.Name(), step.Title())
		if t, is := step.(tracked); is {
			step = t.Step
		}
		switch s := step.(type) {
		case setup.File:
			text.WriteString("\t" + strings.ReplaceAll(strings.TrimSpace(string(s.Content)), "\n", "\n\t") + "\n")
		case component:
			fmt.Fprintf(&text, "\t%s\n", s.archive.origin())
		case jsonFile:
			fmt.Fprintf(&text, "\t%v, unless set %v\n", s.set, s.unlessSet)
		}
	}
	return text.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the plan differs from %s (go test -update writes it):\n%s", path, got)
	}
}

func TestPlanRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		want  job.ContainerRuntime
		shape string
		is    error
		says  string
	}{
		{"AMD", job.ContainerRuntime{Engine: job.Docker}, "BM.GPU.MI300X.8", ErrUnsupported, "AMD GPUs of BM.GPU.MI300X.8"},
		{"no such user", job.ContainerRuntime{Engine: job.Podman, RootlessUser: "who"}, "", nil, "find the user who"},
		{"rootless without nerdctl", job.ContainerRuntime{Engine: job.Containerd, RootlessUser: "nobody", Versions: map[string]string{"nerdctl": "none"}}, "", ErrUnsupported, "without nerdctl"},
		{"no mirror there", job.ContainerRuntime{Engine: job.Containerd, Mirror: "/nowhere"}, "", os.ErrNotExist, "read the manifest of mirror /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Plan(t.Context(), c.want, Options{Shape: c.shape, Platform: debian12})
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestPlatformOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Platform{
		"ID=\"ol\"\nVERSION_ID=\"9.6\"\nID_LIKE=\"fedora\"\n":                                         oracle9,
		"ID=ubuntu\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy\nID_LIKE=debian\n":                   ubuntu22,
		"# os-release\nPRETTY_NAME=\"Debian\"\nID=debian\nVERSION_ID='12'\nVERSION_CODENAME=bookworm": debian12,
	} {
		if got, err := platformOf(text, "amd64"); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for text, arch := range map[string]string{"ID=alpine\n": "amd64", "ID=debian\n": "s390x", "": "amd64"} {
		if _, err := platformOf(text, arch); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%q on %s: %v", text, arch, err)
		}
	}
}

// TestReleases holds the pinned versions to the table of digests.
func TestReleases(t *testing.T) {
	t.Parallel()
	for name, r := range releases {
		for _, arch := range Architectures {
			sum, found := digest(name, r.version, arch)
			if !found && name != compToolkit { // NVIDIA's is read from what it publishes
				t.Errorf("%s %s has no digest for %s", name, r.version, arch)
			}
			if found && len(sum) != 64 {
				t.Errorf("digest of %s %s for %s is %q", name, r.version, arch, sum)
			}
		}
		if engine := job.Containerd; name != compBypass4netns {
			if err := job.CheckVersion(engine, name, r.version); err != nil {
				t.Errorf("the pinned version is refused: %v", err)
			}
		}
	}
	seen := map[string]string{}
	for key, pair := range digests {
		for _, sum := range pair {
			if other, twice := seen[sum]; twice {
				t.Errorf("%s and %s have the same digest", key, other)
			}
			seen[sum] = key
		}
	}
	got, err := Address(compToolkit, "1.18.0", "arm64", "rpm")
	want := "https://github.com/NVIDIA/nvidia-container-toolkit/releases/download/v1.18.0/nvidia-container-toolkit_1.18.0_rpm_aarch64.tar.gz"
	if err != nil || got != want {
		t.Errorf("address is %s, %v", got, err)
	}
}

// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// toolkitPackages is what the toolkit consists of, in the order in which its parts need each other.
var toolkitPackages = []string{"libnvidia-container1", "libnvidia-container-tools", "nvidia-container-toolkit-base", "nvidia-container-toolkit"}

// packageFile matches the files of these packages in the vendor's archive, and none of the debug and devel ones.
var packageFile = regexp.MustCompile(`^(libnvidia-container1|libnvidia-container-tools|nvidia-container-toolkit-base|nvidia-container-toolkit)[_-][0-9][^/]*\.(deb|rpm)$`)

// toolkitArchive is a step: the toolkit from the vendor's archive of packages.
type toolkitArchive struct {
	archive  archive
	packages string
}

// Name tells the step.
func (t toolkitArchive) Name() string { return "install-nvidia-container-toolkit" }

// Title says what the step does.
func (t toolkitArchive) Title() string {
	return "Install NVIDIA Container Toolkit " + t.archive.version
}

// Downloads says whether the archive comes from outside.
func (t toolkitArchive) Downloads() bool { return isAddress(t.archive.address) }

// Check asks the package manager.
func (t toolkitArchive) Check(ctx context.Context) (setup.State, error) {
	have := packageVersion(ctx, t.packages, "nvidia-container-toolkit")
	switch {
	case have == "":
		return setup.State{Detail: "from " + t.archive.origin()}, nil
	case upstream(have) != t.archive.version:
		return setup.State{Detail: fmt.Sprintf("%s is installed; from %s", have, t.archive.origin())}, nil
	}
	return setup.State{Done: true, Detail: have + " is installed"}, nil
}

// Apply has the package manager install the archive's packages.
func (t toolkitArchive) Apply(ctx context.Context, output io.Writer) error {
	file, _, err := t.archive.download(ctx, filepath.Join(downloadDir, filepath.Base(t.archive.address)), 0o600, output)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()
	dir, err := os.MkdirTemp(downloadDir, "toolkit-")
	if err != nil {
		return fmt.Errorf("make a folder for the toolkit's packages: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var files []string
	only := func(name string) bool {
		if !packageFile.MatchString(path.Base(name)) {
			return false
		}
		files = append(files, filepath.Join(dir, name))
		return true
	}
	if err := (setup.Unpack{Archive: file, Dir: dir, Only: only}).Apply(ctx, output); err != nil {
		return fmt.Errorf("unpack the toolkit's packages: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no package of the toolkit", t.archive.address)
	}
	argv := []string{"dnf", "install", "--assumeyes"}
	if t.packages == "deb" {
		argv = []string{"apt-get", "--option=DPkg::Lock::Timeout=120", "install", "--yes", "--no-install-recommends", "--allow-downgrades", "--option=Dpkg::Options::=--force-confold"}
	}
	if err := setup.WaitForPackages(ctx, output); err != nil {
		return err //nolint:wrapcheck // it names who keeps it waiting
	}
	return run(ctx, output, append(argv, files...)...)
}

// cdiUnit makes the CDI specification at boot; the path unit of the same name starts it when the driver or the
// toolkit was changed.
const cdiUnit = "ocihpc-cdi.service"

const cdiService = `# Written by ocihpc-runner: how containers get at the GPUs is described anew at each boot, and when the driver
# or the toolkit was changed.
[Unit]
Description=CDI specification of the NVIDIA GPUs
ConditionPathExists=/usr/bin/nvidia-ctk
After=nvidia-persistenced.service nvidia-fabricmanager.service

[Service]
Type=oneshot
ExecStart=/usr/bin/nvidia-ctk cdi generate --output=` + cdiSpec + `

[Install]
WantedBy=multi-user.target
`

const cdiPath = `# Written by ocihpc-runner.
[Unit]
Description=Changes of the NVIDIA driver and container toolkit

[Path]
PathChanged=/lib/modules/%v/modules.dep
PathChanged=/usr/bin/nvidia-ctk
Unit=` + cdiUnit + `

[Install]
WantedBy=multi-user.target
`

// cdi is a step: a CDI specification that names every GPU.
type cdi struct{ record *Record }

// Name tells the step.
func (cdi) Name() string { return "cdi-specification" }

// Title says what the step does.
func (cdi) Title() string { return "Describe the GPUs to containers in " + cdiSpec }

// Check compares the specification with the GPUs that the driver shows.
func (cdi) Check(ctx context.Context) (setup.State, error) {
	text, err := os.ReadFile(cdiSpec)
	if err != nil {
		return setup.State{Detail: "there is none"}, nil //nolint:nilerr // Apply makes it
	}
	shown, err := answer(ctx, "nvidia-smi", "-L")
	if err != nil {
		return setup.State{}, fmt.Errorf("count the GPUs: %w", err)
	}
	count := strings.Count("\n"+shown, "\nGPU ")
	if cdiNames(string(text), fmt.Sprint(count)) {
		return setup.State{Detail: fmt.Sprintf("it names GPU %d, which the driver does not show any more", count)}, nil
	}
	for i := range count {
		if !cdiNames(string(text), fmt.Sprint(i)) {
			return setup.State{Detail: fmt.Sprintf("it does not name GPU %d", i)}, nil
		}
	}
	if !cdiNames(string(text), "all") {
		return setup.State{Detail: "it does not name all GPUs together"}, nil
	}
	return setup.State{Done: true}, nil
}

// Apply has the unit write it.
func (c cdi) Apply(ctx context.Context, output io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(cdiSpec), 0o755); err != nil { // #nosec G301 -- all users read it
		return fmt.Errorf("make the folder of CDI specifications: %w", err)
	}
	if err := run(ctx, output, "systemctl", "restart", cdiUnit); err != nil {
		_ = run(ctx, output, "journalctl", "--no-pager", "--lines=20", "--unit="+cdiUnit) // to see why
		return setup.Advise(err, "run `nvidia-ctk cdi generate` on the node to see what it misses")
	}
	return c.record.put(Placed{Kind: KindFile, Name: cdiSpec})
}

// cdiNames says whether a CDI specification has a device of this name. nvidia-ctk writes YAML with the name as the
// first or the last key of a device, quoted where it is a number.
func cdiNames(spec, device string) bool {
	return regexp.MustCompile(`(?m)^\s*(- )?"?name"?:\s*["']?` + regexp.QuoteMeta(device) + `["']?,?\s*$`).MatchString(spec)
}

// toolkit plans the NVIDIA Container Toolkit and the CDI specification: from NVIDIA's repository; with a mirror from
// the mirror's archive, or else from the repositories that the node has.
func (p *plan) toolkit() error {
	version := p.want.Versions[compToolkit]
	if p.source.manifest != nil && p.source.manifest.has(compToolkit, p.platform) {
		a, err := p.source.of(compToolkit, version)
		if err != nil {
			return err
		}
		p.add(p.packageStep(toolkitArchive{archive: a, packages: p.platform.Packages}))
	} else {
		p.repository(toolkitRepository(p.platform))
		if version == "" && p.want.Mirror == "" {
			version = releases[compToolkit].version
		}
		p.add(p.packageStep(setup.Packages{
			Ident: setup.Ident{ID: "install-nvidia-container-toolkit", Label: strings.TrimSpace("Install NVIDIA Container Toolkit " + version)},
			Names: toolkitNames(p.platform, version),
		}))
	}
	service, path := unitDir+"/"+cdiUnit, unitDir+"/"+strings.TrimSuffix(cdiUnit, ".service")+".path"
	p.add(p.file("cdi-unit", "", service, cdiService), p.file("cdi-path-unit", "", path, cdiPath),
		cdi{p.record}, p.enabled(cdiUnit), p.service(strings.TrimSuffix(cdiUnit, ".service")+".path", nil, path))
	return nil
}

// toolkitNames are the toolkit's packages at one version, which is the packages' own: else an older part is kept.
func toolkitNames(p Platform, version string) []string {
	if version == "" {
		return []string{"nvidia-container-toolkit"}
	}
	names := make([]string, len(toolkitPackages))
	for i, name := range toolkitPackages {
		names[i] = name + "-" + version
		if p.Packages == "deb" {
			names[i] = name + "=" + version + "-1"
		}
	}
	return names
}

// enabled is a unit that starts at boot, and ends by itself.
func (p *plan) enabled(unit string) setup.Step {
	step := setup.Command{
		Ident:   setup.Ident{ID: "enable-" + strings.TrimSuffix(unit, ".service"), Label: "Have " + unit + " start at boot"},
		Program: setup.Program{Argv: []string{"systemctl", "enable", unit}},
		Unless:  []string{"systemctl", "is-enabled", "--quiet", unit},
	}
	return tracked{Step: step, note: func(context.Context) error { return p.record.put(Placed{Kind: KindService, Name: unit}) }}
}

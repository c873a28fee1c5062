// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// repository is a vendor's repository of packages.
type repository struct {
	name string
	text string // of the file for dnf, or for apt with %s for the file of the key
	key  string // that signs it
	// keySHA256 is empty where none is known: the key is then what the vendor gives over https.
	keySHA256 string
}

// dockerRepository is Docker's; Oracle Linux takes the one for CentOS.
func dockerRepository(p Platform) repository {
	const base = "https://download.docker.com/linux/"
	if p.Packages == "rpm" {
		return repository{name: "docker-ce", text: fmt.Sprintf(`# Written by ocihpc-runner.
[docker-ce-stable]
name=Docker CE Stable
baseurl=%scentos/%s/$basearch/stable
enabled=1
gpgcheck=1
gpgkey=%scentos/gpg
`, base, p.major(), base)}
	}
	return repository{
		name: "docker-ce",
		text: fmt.Sprintf("# Written by ocihpc-runner.\ndeb [arch=%s signed-by=%%s] %s%s %s stable\n", p.Arch, base, p.ID, p.Codename),
		key:  base + p.ID + "/gpg",
		// The same for Ubuntu and Debian: 9DC8 5822 9FC7 DD38 854A E2D8 8D81 803C 0EBF CD88.
		keySHA256: "1500c1f56fa9e26b9b8f42452a553675796ade0807cdce11975eb98170b3a570",
	}
}

// toolkitRepository is NVIDIA's.
func toolkitRepository(p Platform) repository {
	const base = "https://nvidia.github.io/libnvidia-container/"
	if p.Packages == "rpm" {
		return repository{name: "nvidia-container-toolkit", text: fmt.Sprintf(`# Written by ocihpc-runner.
[nvidia-container-toolkit]
name=NVIDIA Container Toolkit
baseurl=%sstable/rpm/$basearch
enabled=1
repo_gpgcheck=1
gpgcheck=0
gpgkey=%sgpgkey
sslverify=1
`, base, base)}
	}
	return repository{
		name: "nvidia-container-toolkit",
		text: fmt.Sprintf("# Written by ocihpc-runner.\ndeb [signed-by=%%s] %sstable/deb/%s /\n", base, p.Arch),
		key:  base + "gpgkey",
	}
}

// vendorKey is a step: the key that signs a repository.
type vendorKey struct{ name, address, sha256, path string }

// Name tells the step.
func (k vendorKey) Name() string { return k.name + "-key" }

// Title says what the step does.
func (k vendorKey) Title() string { return "Get the key of the repository " + k.name }

// Check looks for the key, and compares it with the digest where there is one.
func (k vendorKey) Check(context.Context) (setup.State, error) {
	text, err := os.ReadFile(k.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return setup.State{Detail: "from " + k.address}, nil
	case err != nil:
		return setup.State{}, fmt.Errorf("read the key: %w", err)
	}
	if err := k.verify(text); err != nil {
		return setup.State{Detail: err.Error()}, nil //nolint:nilerr // Apply gets another
	}
	return setup.State{Done: true, Detail: k.path}, nil
}

// Apply gets the key over https.
func (k vendorKey) Apply(ctx context.Context, output io.Writer) error {
	text, err := get(ctx, k.address, 1<<20)
	if err != nil {
		return err
	}
	if err := k.verify(text); err != nil {
		return setup.Advise(err, "either the vendor has a new key, or somebody is on the way: compare with the vendor's documentation")
	}
	return setup.File{Place: setup.Place{Path: k.path, Mode: 0o644}, Content: text}.Apply(ctx, output) //nolint:wrapcheck // it names the file
}

func (k vendorKey) verify(text []byte) error {
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); k.sha256 != "" && got != k.sha256 {
		return fmt.Errorf("%w: %s has %s, and %s was expected", setup.ErrDigest, k.address, got, k.sha256)
	}
	return nil
}

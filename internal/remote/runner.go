// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Runners gives the ocihpc-runner for an architecture in Go's words (amd64, arm64), and its SHA-256 in hex.
type Runners func(goarch string) (content []byte, sha256 string, err error)

// goarch by the kernel's word for the machine.
var goarch = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// EnsureRunner sees to it that the host has this very runner, and gives its path, relative to the home of the
// login user. One that is there is used when its content is right.
func EnsureRunner(ctx context.Context, c *Client, runners Runners) (string, error) {
	dir := path.Join(job.Root, "bin")
	out, err := c.Output(ctx, "cd && uname -m && { sha256sum "+shellescape.Quote(dir)+"/ocihpc-runner-* 2>/dev/null || :; }")
	if err != nil {
		return "", fmt.Errorf("look for the runner: %w", err)
	}
	machine, present, _ := strings.Cut(string(out), "\n")
	arch, ok := goarch[machine]
	if !ok {
		return "", fmt.Errorf("%s is a %q machine; the runner exists for x86_64 and aarch64", c.name, machine)
	}
	binary, sum, err := runners(arch)
	if err != nil {
		return "", fmt.Errorf("runner for %s: %w", c.name, err)
	}
	if len(sum) < 16 {
		return "", fmt.Errorf("runner for %s: %q is no SHA-256", c.name, sum)
	}
	file := path.Join(dir, "ocihpc-runner-"+sum[:16])
	for line := range strings.Lines(present) {
		if strings.TrimSuffix(line, "\n") == sum+"  "+file {
			return file, nil
		}
	}
	return file, c.Upload(ctx, file, 0o700, int64(len(binary)), sum, bytes.NewReader(binary))
}

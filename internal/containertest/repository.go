// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// toolsDir is where tools/setup.sh puts what tests need.
func toolsDir(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "ocihpc-tools")
}

// repositoryDir is an apt repository of the container engines. The test is skipped where there is none.
func repositoryDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(toolsDir(t), "engines")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		t.Skip("there is no repository of container engines: run `tools/setup.sh test`")
	}
	return dir
}

// Packages are the names of what the repository of container engines has. Hosts do not have them until they
// are installed there: see [lab.Config.Without].
func Packages(t testing.TB) []string {
	t.Helper()
	file, err := os.Open(filepath.Join(repositoryDir(t), "Packages"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var names []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "Package: "); found {
			names = append(names, name)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// AddRepository serves the repository of container engines to a lab's hosts, and makes it known to apt on
// these: `apt-get install docker.io` then works there as on the internet.
func AddRepository(t testing.TB, l *lab.Lab, hosts ...string) {
	t.Helper()
	source := fmt.Sprintf("deb [trusted=yes] %s/ ./\n", ServeDir(t, l, repositoryDir(t)))
	for _, host := range hosts {
		Run(t, l, host, "printf %s "+"'"+source+"' >/etc/apt/sources.list.d/engines.list && apt-get update -qq && rm -f /var/lib/man-db/auto-update") // the index of manuals takes longer than an engine
	}
}

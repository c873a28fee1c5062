// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// Secrets are looked for in everything that a run leaves behind, and in the processes while it goes on: on this
// machine, and on the lab's hosts, whose processes are this machine's, too.
type Secrets struct {
	t        testing.TB
	began    time.Time
	patterns [][]byte
	logins   atomic.Pointer[string] // what the environment of each login has
	stop     context.CancelFunc
	ended    chan struct{}
	seen     map[string]bool // what processes had in their arguments and environment
	decoy    *exec.Cmd
}

// decoy is a secret that is told on purpose: a search that does not find it would find no other one.
const decoy = "decoy-that-has-to-be-found"

// WatchSecrets looks at all processes, again and again, until [Secrets.InProcesses] is asked. Each secret is looked for
// as it is and, as clients of registries and metadata services keep it, in base64.
func WatchSecrets(t testing.TB, secrets ...string) *Secrets {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &Secrets{t: t, began: time.Now(), patterns: [][]byte{[]byte(decoy)}, stop: stop, ended: make(chan struct{}), seen: map[string]bool{}}
	for _, secret := range secrets {
		for before, letters := range []int{0, 2, 3} { // what comes before and after it changes letters at its ends
			coded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
			s.patterns = append(s.patterns, []byte(coded[letters:len(coded)-2]))
		}
		s.patterns = append(s.patterns, []byte(secret))
	}
	s.decoy = exec.CommandContext(ctx, "sleep", "600")
	s.decoy.Args[0] = decoy
	if err := s.decoy.Start(); err != nil {
		t.Fatal(err)
	}
	go s.watch(ctx)
	t.Cleanup(func() {
		stop()
		<-s.ended
	})
	return s
}

// InLogins says that the environment of each login has this secret by nature, as that of a proxy which nodes have from
// /etc/environment: it is looked for everywhere else.
func (s *Secrets) InLogins(secret string) *Secrets {
	s.logins.Store(&secret)
	return s
}

// KeyLine is a part of a private key that appears wherever the key does.
func KeyLine(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) // #nosec G304 -- a key of the test's
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-2] // the secret part of an OpenSSH key is at its end
}

func (s *Secrets) watch(ctx context.Context) {
	defer close(s.ended)
	defer s.decoy.Wait() //nolint:errcheck // it is ended
	for {
		began := time.Now()
		for _, pattern := range []string{"/proc/[0-9]*/cmdline", "/proc/[0-9]*/environ"} {
			files, _ := filepath.Glob(pattern) // the pattern is right
			for _, file := range files {
				text, err := os.ReadFile(file) // #nosec G304 -- below /proc
				if logins := s.logins.Load(); logins != nil && filepath.Base(file) == "environ" {
					text = bytes.ReplaceAll(text, []byte(*logins), nil)
				}
				if err == nil && s.in(text) != "" {
					s.seen[fmt.Sprintf("%s has %s: %s", filepath.Base(file), s.in(text), bytes.ReplaceAll(text, []byte{0}, []byte(" ")))] = true
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(4 * time.Since(began)): // the watch must not slow down what it looks at
		}
	}
}

// in gives the secret that a text holds; empty when there is none.
func (s *Secrets) in(text []byte) string {
	for _, pattern := range s.patterns {
		if bytes.Contains(text, pattern) {
			return string(pattern)
		}
	}
	return ""
}

// InProcesses ends the watch, and fails the test where a process had a secret in its arguments or environment.
func (s *Secrets) InProcesses() {
	s.t.Helper()
	s.stop()
	<-s.ended
	found := 0
	for line := range s.seen {
		if strings.Contains(line, decoy) {
			found++
			continue
		}
		s.t.Errorf("a process told a secret: %s", line)
	}
	if found == 0 {
		s.t.Error("the watch did not see the decoy")
	}
}

// InFiles fails the test where a file below a directory of this machine holds a secret, but for those whose base names
// are the inputs'.
func (s *Secrets) InFiles(dir string, inputs ...string) {
	s.t.Helper()
	planted := filepath.Join(dir, "decoy")
	if err := os.WriteFile(planted, []byte(decoy), 0o600); err != nil {
		s.t.Fatal(err)
	}
	defer os.Remove(planted) //nolint:errcheck // it is in a directory of the test's
	searched, found := 0, 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || slices.Contains(inputs, entry.Name()) {
			return err
		}
		text, err := os.ReadFile(path) // #nosec G122 G304 -- below a directory of the test's
		if bytes.HasPrefix(text, []byte("PK")) {
			text = planOf(text)
		}
		searched++
		switch secret := s.in(text); {
		case path == planted && secret == decoy:
			found++
		case secret != "":
			at := bytes.Index(text, []byte(secret))
			s.t.Errorf("%s holds %s: …%q…", path, secret, text[max(0, at-200):min(len(text), at+60)])
		}
		return err
	})
	if err != nil || found == 0 {
		s.t.Errorf("the search of %s saw %d files and the decoy %d times: %v", dir, searched, found, err)
	}
}

// planOf unpacks a plan that Terraform has written, but for the configuration that is an input itself.
func planOf(archive []byte) []byte {
	var all []byte
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return archive
	}
	for _, file := range files.File {
		if content, err := file.Open(); err == nil && !strings.HasPrefix(file.Name, "tfconfig/") {
			text, _ := io.ReadAll(content) // as much as there is
			all = append(all, text...)
		}
	}
	return all
}

// search looks at all files of a host that have changed since $1, in memory and on disk, and at its journal. It plants
// $2 in both. $3 are names of files that are left out.
const search = `
umask 077
cat >/run/ocihpc-patterns
echo "$2" >/var/tmp/decoy
if [ -d /run/systemd/system ]; then
	echo "$2" | systemd-cat -t decoy
	journalctl --sync
	journalctl --no-pager --boot --output=export | grep -aF -f /run/ocihpc-patterns | sed "s/^/journal: /"
else
	echo "journal: there is none, nor a $2"
fi
find /etc /home /opt /root /run /tmp /usr/local /var -xdev \( -path /root/.cache -o -path /root/go -o -path /run/log -o -path /var/log/journal \) -prune -o \
	-type f -newerct "@$1" ! -path /run/ocihpc-patterns -print0 2>/dev/null >/run/ocihpc-files || true # files come and go
find /run /tmp /dev/shm -xdev -type f ! -path /run/ocihpc-patterns ! -path '/run/log/*' -print0 2>/dev/null >>/run/ocihpc-files || true
find /run/user -mindepth 2 -type f -print0 2>/dev/null >>/run/ocihpc-files || true
xargs -0 -r grep -slaF -f /run/ocihpc-patterns </run/ocihpc-files | sort -u | grep -vE "/($3)\$" || true
rm -f /run/ocihpc-patterns /run/ocihpc-files /var/tmp/decoy`

// OnHost fails the test where a file or the journal of a lab's host holds a secret. Inputs are the base names of files
// that hold one by nature.
func (s *Secrets) OnHost(l *lab.Lab, host string, inputs ...string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "patterns")
	if err := os.WriteFile(file, append(bytes.Join(s.patterns, []byte("\n")), '\n'), 0o600); err != nil {
		s.t.Fatal(err)
	}
	stdin, err := os.Open(file) // #nosec G304 -- just written
	if err != nil {
		s.t.Fatal(err)
	}
	defer stdin.Close() //nolint:errcheck // nothing was written
	stdout, err := os.Create(filepath.Join(s.t.TempDir(), "found"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer stdout.Close() //nolint:errcheck // it is read below
	argv := []string{"bash", "-ec", search, "search", strconv.FormatInt(s.began.Unix(), 10), decoy, strings.Join(append(inputs, "ocihpc-files"), "|")}
	status, err := l.ExecFiles(s.t.Context(), host, argv, stdin, stdout, os.Stderr)
	if err != nil || status != 0 {
		s.t.Fatalf("search %s: status %d, %v", host, status, err)
	}
	text, err := os.ReadFile(stdout.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	decoys := 0
	for line := range strings.Lines(string(text)) {
		if line == "/var/tmp/decoy\n" || strings.HasPrefix(line, "journal: ") && strings.Contains(line, decoy) {
			decoys++
			continue
		}
		s.t.Errorf("%s holds a secret: %s", host, line)
	}
	if decoys < 2 {
		s.t.Errorf("the search of %s found %d decoys of 2", host, decoys)
	}
}

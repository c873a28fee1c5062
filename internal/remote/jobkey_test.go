// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

var anyone = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fd00::1")}

func TestRewriteKeys(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("JST", 9*3600))
	signer, _ := sshdtest.NewKey(t)
	line := func(jobKey string, until time.Time) string {
		return authorizedLine(signer.PublicKey(), jobKey, anyone, until)
	}
	mine, other := line("aa", now.Add(time.Hour)), line("bb", now.Add(time.Hour))
	expired := line("cc", now.Add(-expiryMargin))
	const theirs = "# ours\n\nssh-ed25519 AAAA me@home\nrestrict ssh-ed25519 AAAA ocihpc-job-dd\n"
	for name, tt := range map[string]struct{ text, line, want string }{
		"empty":            {"", mine, mine},
		"beside others":    {theirs, mine, theirs + mine},
		"no last newline":  {"ssh-ed25519 AAAA", mine, "ssh-ed25519 AAAA\n" + mine},
		"twice":            {theirs + mine, mine, theirs + mine},
		"renewed":          {line("aa", now) + theirs, mine, theirs + mine},
		"other job":        {other, mine, other + mine},
		"expired":          {expired + theirs, mine, theirs + mine},
		"removed":          {theirs + mine + other, "", theirs + other},
		"removed, expired": {mine + expired, "", ""},
		"nothing to do":    {"ssh-ed25519 AAAA\r\nx", "", "ssh-ed25519 AAAA\r\nx"},
		"of ours, cut off": {theirs + strings.TrimSuffix(mine, "\n"), "", theirs},
	} {
		if got := rewriteKeys(tt.text, "aa", tt.line, now); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func FuzzRewriteKeys(f *testing.F) {
	signer, _ := sshdtest.NewKey(f)
	now := time.Now()
	line := authorizedLine(signer.PublicKey(), "aa", anyone, now)
	f.Add("ssh-ed25519 AAAA me@home\n# x\n\n")
	f.Add(line + "ssh-rsa AAAA")
	f.Add(authorizedLine(signer.PublicKey(), "bb", anyone, now.Add(-48*time.Hour)) + "\x00\xff\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		with := rewriteKeys(text, "aa", line, now)
		if again := rewriteKeys(with, "aa", line, now); again != with {
			t.Errorf("not idempotent: %q, %q", with, again)
		}
		if strings.Count(with, line) != 1 || !strings.HasSuffix(with, line) {
			t.Errorf("not there, or not once: %q", with)
		}
		without := rewriteKeys(with, "aa", "", now)
		if strings.TrimSuffix(without, "\n") != strings.TrimSuffix(rewriteKeys(text, "aa", "", now), "\n") {
			t.Errorf("installing and removing left a trace: %q", without)
		}
		var foreign []string
		for present := range strings.Lines(text) {
			if !strings.Contains(present, "ocihpc-job-") {
				foreign = append(foreign, present)
			}
		}
		rest := without
		for _, present := range foreign { // in order, byte for byte
			_, after, found := strings.Cut(rest, present)
			if !found {
				t.Fatalf("%q is gone from %q", present, without)
			}
			rest = after
		}
	})
}

// sshd itself says what a job's line allows.
func TestJobKeyAtSSHD(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)
	jobKey, _ := sshdtest.NewKey(t)
	own, err := netip.ParseAddr("127.0.0.1") // where connections to loopback addresses come from
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	for name, tt := range map[string]struct {
		from  []netip.Addr
		until time.Time
		ok    bool
	}{
		"valid":        {[]netip.Addr{netip.MustParseAddr("192.0.2.1"), own}, later, true},
		"expired":      {[]netip.Addr{own}, time.Now().Add(-expiryMargin - 25*time.Hour), false},
		"from another": {[]netip.Addr{netip.MustParseAddr("192.0.2.1")}, later, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sshdtest.Start(t, []ssh.PublicKey{signer.PublicKey()})
			// Written past authorize, which would sweep the expired one.
			file, err := os.OpenFile(h.AuthorizedKeys(), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteString(authorizedLine(jobKey.PublicKey(), "aa", tt.from, tt.until)); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			c, err := Dial(t.Context(), target(h, "gpu-1", jobKey), nil)
			if (err == nil) != tt.ok {
				t.Fatalf("login: %v\n%s", err, h.Log())
			}
			if !tt.ok {
				return
			}
			defer c.Close() //nolint:errcheck // always nil
			if out, err := c.Output(t.Context(), "echo ran"); err != nil || string(out) != "ran\n" {
				t.Errorf("command: %q, %v", out, err)
			}
			if _, err := Dial(t.Context(), target(h, "gpu-2", signer), c); !isHopeless(err) {
				t.Errorf("forwarding is not refused: %v", err)
			}
			session, err := c.ssh.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close() //nolint:errcheck // a test's
			if session.RequestPty("xterm", 24, 80, ssh.TerminalModes{}) == nil {
				t.Error("a terminal is not refused")
			}
		})
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	c := mustDial(t, to, nil)
	before := readFile(t, h.AuthorizedKeys())
	line := authorizedLine(to.Signers[0].PublicKey(), "aa", anyone, time.Now())
	for range 2 {
		if err := authorize(t.Context(), c, "aa", line); err != nil {
			t.Fatal(err)
		}
	}
	if got := readFile(t, h.AuthorizedKeys()); got != before+line {
		t.Errorf("after installing twice: %q", got)
	}
	checkMode(t, h.AuthorizedKeys(), 0o600)
	for range 2 {
		if err := authorize(t.Context(), c, "aa", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := readFile(t, h.AuthorizedKeys()); got != before {
		t.Errorf("after removing: %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(h.AuthorizedKeys()))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Jobs that install their keys at the same time do not lose each other's.
func TestAuthorizeConcurrently(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	var wait sync.WaitGroup
	for i := range 8 {
		c := mustDial(t, to, nil)
		wait.Go(func() {
			jobKey := strconv.Itoa(i)
			if err := authorize(t.Context(), c, jobKey, authorizedLine(to.Signers[0].PublicKey(), jobKey, anyone, time.Now())); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := readFile(t, h.AuthorizedKeys()); strings.Count(got, "ocihpc-job-") != 8 {
		t.Errorf("keys were lost: %q", got)
	}
}

// A linked file stays a link, and a missing one is made.
func TestAuthorizeOddFiles(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	c := mustDial(t, to, nil)
	elsewhere := filepath.Join(h.Home, "keys")
	if err := os.Rename(h.AuthorizedKeys(), elsewhere); err != nil {
		t.Fatal(err)
	}
	line := authorizedLine(to.Signers[0].PublicKey(), "aa", anyone, time.Now())
	if err := authorize(t.Context(), c, "aa", line); err != nil || readFile(t, h.AuthorizedKeys()) != line {
		t.Errorf("missing file: %v", err)
	}
	if err := os.Remove(h.AuthorizedKeys()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, h.AuthorizedKeys()); err != nil {
		t.Fatal(err)
	}
	if err := authorize(t.Context(), c, "aa", line); err != nil || !strings.HasSuffix(readFile(t, elsewhere), line) {
		t.Errorf("link: %v", err)
	}
	if target, err := os.Readlink(h.AuthorizedKeys()); err != nil || target != elsewhere {
		t.Errorf("the link became %q, %v", target, err)
	}
}

func TestEnsureKeyPair(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	c := mustDial(t, to, nil)
	dir := job.DirOf("0123456789abcdef")
	public, fresh, err := ensureKeyPair(t.Context(), c, dir)
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	private := filepath.Join(h.Home, dir.Key())
	checkMode(t, private, 0o600)
	checkMode(t, filepath.Dir(private), 0o700)
	checkMode(t, filepath.Join(h.Home, job.Root), 0o700)
	signer, err := ssh.ParsePrivateKey([]byte(readFile(t, private)))
	if err != nil || marshalKey(signer.PublicKey()) != marshalKey(public) {
		t.Errorf("the files are no pair: %v", err)
	}
	derived, err := exec.CommandContext(t.Context(), "ssh-keygen", "-y", "-f", private).Output()
	if err != nil || !strings.HasPrefix(string(derived), marshalKey(public)) {
		t.Errorf("OpenSSH reads %q: %v", derived, err)
	}
	again, fresh, err := ensureKeyPair(t.Context(), c, dir)
	if err != nil || fresh || marshalKey(again) != marshalKey(public) {
		t.Errorf("a second time: fresh %t, %v", fresh, err)
	}
}

func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	addresses, err := ownAddresses(t.Context(), mustDial(t, to, nil))
	if err != nil || addresses[0].String() != h.Address {
		t.Errorf("%v, %v", addresses, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := ownAddresses(ctx, mustDial(t, to, nil)); err == nil {
		t.Errorf("after the end of the context: %v", got)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %s", path, fmt.Sprintf("%#o, want %#o", got, want))
	}
}

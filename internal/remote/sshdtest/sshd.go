// SPDX-License-Identifier: MPL-2.0

// Package sshdtest runs real sshd on loopback addresses for tests. Every host has an address, a host key and
// a home directory of its own, and logs in the user who runs the tests.
package sshdtest

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Host is one sshd.
type Host struct {
	Address string
	Port    int // the same for all hosts of a test program
	User    string
	Home    string

	t       testing.TB
	dir     string
	options []string
	running *exec.Cmd
	alive   io.Closer
}

// port is free on this machine's loopback.
var port = sync.OnceValues(func() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // it served its purpose
	return l.Addr().(*net.TCPAddr).Port, nil
})

// Addresses are 127.x.y.1 and on, with x and y by chance, so that test programs do not meet.
var (
	network = fmt.Sprintf("127.%d.%d.", 1+rand.N(254), rand.N(256)) //nolint:gosec // no secret
	hosts   atomic.Int32
)

// New makes a host that lets in the given keys, without starting it. Options are further lines of its
// sshd_config; where it has a keyword already, OpenSSH goes by the first.
func New(t testing.TB, keys []ssh.PublicKey, options ...string) *Host {
	t.Helper()
	self, err := user.Current()
	check(t, err)
	p, err := port()
	check(t, err)
	n := hosts.Add(1)
	if n > 254 {
		t.Fatal("no loopback addresses left")
	}
	h := &Host{Address: network + strconv.Itoa(int(n)), Port: p, User: self.Username, t: t, dir: t.TempDir(), options: options}
	h.Home = filepath.Join(h.dir, "home")
	check(t, os.MkdirAll(filepath.Join(h.Home, ".ssh"), 0o700))
	var authorized strings.Builder
	for _, key := range keys {
		authorized.Write(ssh.MarshalAuthorizedKey(key))
	}
	check(t, os.WriteFile(h.AuthorizedKeys(), []byte(authorized.String()), 0o600))
	h.NewHostKey("ed25519")
	t.Cleanup(func() {
		h.Stop()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(h.dir, "log"))
			t.Logf("sshd on %s:\n%s", h.Address, log)
		}
	})
	return h
}

// Start makes a host and starts it.
func Start(t testing.TB, keys []ssh.PublicKey, options ...string) *Host {
	t.Helper()
	h := New(t, keys, options...)
	h.Start()
	return h
}

// AuthorizedKeys is the path of the file.
func (h *Host) AuthorizedKeys() string { return filepath.Join(h.Home, ".ssh", "authorized_keys") }

// NewHostKey replaces the host's keys by one of a type in ssh-keygen's words. It counts from the next Start.
func (h *Host) NewHostKey(kind string) {
	h.t.Helper()
	file := filepath.Join(h.dir, "host_key")
	_ = os.Remove(file)
	out, err := exec.CommandContext(h.t.Context(), "ssh-keygen", "-q", "-t", kind, "-N", "", "-f", file).CombinedOutput()
	if err != nil {
		h.t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

// HostKey gives the host's key as in known_hosts.
func (h *Host) HostKey() string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "host_key.pub"))
	check(h.t, err)
	return strings.Join(strings.Fields(string(text))[:2], " ")
}

// Start starts sshd and waits until it answers.
func (h *Host) Start() {
	h.t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		h.t.Fatalf("these tests need OpenSSH's server (package openssh-server): %v", err)
	}
	if os.Getuid() == 0 {
		check(h.t, os.MkdirAll("/run/sshd", 0o755)) //nolint:gosec // as the packages make it: sshd's chroot
	}
	config := append([]string{
		"ListenAddress " + h.Address, "Port " + strconv.Itoa(h.Port), "PidFile none",
		"HostKey " + filepath.Join(h.dir, "host_key"), "AuthorizedKeysFile " + h.AuthorizedKeys(),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
		"MaxStartups 200", "SetEnv HOME=" + h.Home, "LogLevel VERBOSE",
	}, h.options...)
	file := filepath.Join(h.dir, "sshd_config")
	check(h.t, os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600))
	// The shell ends sshd when its stdin ends, which it does however this program ends.
	cmd := exec.Command("sh", "-c", `"$@" & read -r _; kill $!; wait $!`, "sh", //nolint:noctx // ended by Stop
		sshd, "-D", "-f", file, "-E", filepath.Join(h.dir, "log"))
	h.alive, err = cmd.StdinPipe()
	check(h.t, err)
	check(h.t, cmd.Start())
	h.running = cmd
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port))) //nolint:noctx // loopback
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("sshd does not start: %v", err)
		}
	}
}

// Stop stops the listener; sessions go on.
func (h *Host) Stop() {
	if h.running == nil {
		return
	}
	_ = h.alive.Close()
	_ = h.running.Wait() // its status is that of being ended
	h.running = nil
}

// Log is what sshd wrote.
func (h *Host) Log() string {
	text, err := os.ReadFile(filepath.Join(h.dir, "log"))
	check(h.t, err)
	return string(text)
}

// NewKey makes a key pair: a signer, and the private key as a file's content.
func NewKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	check(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	check(t, err)
	block, err := ssh.MarshalPrivateKey(private, "test")
	check(t, err)
	return signer, pem.EncodeToMemory(block)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

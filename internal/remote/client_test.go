// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

// target is how to log in to a host.
func target(h *sshdtest.Host, name string, signer ssh.Signer) Target {
	return Target{
		Name: name, Address: h.Address, Port: h.Port, User: h.User, Signers: []ssh.Signer{signer},
		KeepAlive: time.Minute,
	}
}

// startHost starts a host and gives the way to log in to it.
func startHost(t *testing.T, options ...string) (*sshdtest.Host, Target) {
	t.Helper()
	signer, _ := sshdtest.NewKey(t)
	h := sshdtest.Start(t, []ssh.PublicKey{signer.PublicKey()}, options...)
	return h, target(h, "gpu-1", signer)
}

func mustDial(t *testing.T, to Target, via *Client) *Client {
	t.Helper()
	c, err := Dial(t.Context(), to, via)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)

	first := mustDial(t, to, nil)
	if first.HostKey() != h.HostKey() {
		t.Fatalf("first contact recorded %q, the host's key is %q", first.HostKey(), h.HostKey())
	}
	to.HostKey = first.HostKey()
	mustDial(t, to, nil)

	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} { // same type as known, then others
		h.Stop()
		h.NewHostKey(kind)
		h.Start()
		_, err := DialRetry(t.Context(), to, nil) // returns at once, or the test hangs
		var changed *HostKeyError
		if !errors.As(err, &changed) {
			t.Fatalf("%s: a changed host key gave %v", kind, err)
		}
		if changed.Name != "gpu-1" || changed.Want != to.HostKey || (changed.Got != h.HostKey()) != (kind != "ed25519") {
			t.Errorf("%s: %+v", kind, changed)
		}
		known, _, _, _, _ := ssh.ParseAuthorizedKey([]byte(to.HostKey))
		if text := err.Error(); !strings.Contains(text, "gpu-1") || !strings.Contains(text, ssh.FingerprintSHA256(known)) {
			t.Errorf("%s: message %q", kind, text)
		}
		current := to
		current.HostKey = h.HostKey()
		mustDial(t, current, nil) // every type works when it is known
	}
}

// A host with several keys shows the known one, and the best one on first contact.
func TestHostKeyOfSeveral(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)
	other := sshdtest.New(t, nil)
	other.NewHostKey("rsa")
	rsaFile := filepath.Join(filepath.Dir(other.Home), "host_key")
	h := sshdtest.Start(t, []ssh.PublicKey{signer.PublicKey()}, "HostKey "+rsaFile)
	to := target(h, "gpu-1", signer)
	if got := mustDial(t, to, nil).HostKey(); got != h.HostKey() {
		t.Errorf("first contact: %q", got)
	}
	to.HostKey = other.HostKey()
	if got := mustDial(t, to, nil).HostKey(); got != other.HostKey() {
		t.Errorf("known key: %q", got)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	stranger, _ := sshdtest.NewKey(t)
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })

	for name, tt := range map[string]struct {
		change func(*Target)
		check  func(error) bool
		says   string
	}{
		"auth": {
			func(t *Target) { t.Signers = []ssh.Signer{stranger} },
			func(err error) bool { return errors.Is(err, ErrAuth) && !isHopeless(err) },
			ssh.FingerprintSHA256(stranger.PublicKey()),
		},
		"too many keys": {
			func(t *Target) { t.Signers = slices.Repeat([]ssh.Signer{stranger}, 8) },
			func(err error) bool { return errors.Is(err, ErrAuth) && !isHopeless(err) }, h.User,
		},
		"refused": {
			func(t *Target) { t.Port = 1 },
			func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) && !isHopeless(err) }, h.Address + ":1",
		},
		"no key": {func(t *Target) { t.Signers = nil }, isHopeless, "no private key"},
		"bad host key": {
			func(t *Target) { t.HostKey = "ssh-ed25519 nonsense" }, isHopeless, "known host key",
		},
		"deadline": {
			func(t *Target) { t.Address, t.Port = "127.0.0.1", silent.Addr().(*net.TCPAddr).Port },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "gpu-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if name == "deadline" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			to := to
			tt.change(&to)
			_, err := Dial(ctx, to, nil)
			var failure *DialError
			if !errors.As(err, &failure) || !tt.check(err) || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestBastion(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)
	keys := []ssh.PublicKey{signer.PublicKey()}
	bastion, node := sshdtest.Start(t, keys), sshdtest.Start(t, keys)
	toBastion, toNode := target(bastion, "bastion", signer), target(node, "gpu-1", signer)
	toBastion.HostKey, toNode.HostKey = bastion.HostKey(), node.HostKey()

	via := mustDial(t, toBastion, nil)
	c := mustDial(t, toNode, via)
	out, err := c.Output(t.Context(), "echo $SSH_CONNECTION")
	if err != nil || !strings.Contains(string(out), node.Address) {
		t.Errorf("output %q, %v", out, err)
	}

	wrong := toNode
	wrong.HostKey = bastion.HostKey()
	var changed *HostKeyError
	if _, err := Dial(t.Context(), wrong, via); !errors.As(err, &changed) || changed.Got != node.HostKey() {
		t.Errorf("second hop: %v", err)
	}
	wrong = toBastion
	wrong.HostKey = node.HostKey()
	if _, err := Dial(t.Context(), wrong, nil); !errors.As(err, &changed) || changed.Got != bastion.HostKey() {
		t.Errorf("first hop: %v", err)
	}

	down := toNode
	down.Port = 1
	var failure *DialError
	if _, err := Dial(t.Context(), down, via); !errors.As(err, &failure) || failure.Via != "bastion" || isHopeless(err) {
		t.Errorf("refused behind the bastion: %v", err)
	}
	_ = via.Close()
	if _, err := DialRetry(t.Context(), toNode, via); !errors.Is(err, ErrTransportLost) {
		t.Errorf("through a lost bastion: %v", err)
	}
	if err := c.Run(t.Context(), Command{Line: "true"}); !errors.Is(err, ErrTransportLost) {
		t.Errorf("command after the bastion was lost: %v", err)
	}
}

func TestBastionWithoutForwarding(t *testing.T) {
	t.Parallel()
	_, to := startHost(t, "AllowTcpForwarding no")
	via := mustDial(t, to, nil)
	_, err := DialRetry(t.Context(), to, via) // returns at once, or the test hangs
	if !isHopeless(err) || !strings.Contains(fmt.Sprint(err), "AllowTcpForwarding") {
		t.Errorf("error = %v", err)
	}
}

func TestDialRetry(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)

	t.Run("sshd starts late", func(t *testing.T) {
		t.Parallel()
		h := sshdtest.New(t, nil)
		dialled := make(chan error, 1)
		go func() {
			c, err := DialRetry(t.Context(), target(h, "gpu-1", signer), nil)
			if err == nil {
				_ = c.Close()
			}
			dialled <- err
		}()
		h.Start()
		eventually(t, "a login that is refused", func() bool { return strings.Contains(h.Log(), "Connection closed by") })
		if err := os.WriteFile(h.AuthorizedKeys(), ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := <-dialled; err != nil {
			t.Error(err)
		}
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := DialRetry(ctx, target(sshdtest.New(t, nil), "gpu-1", signer), nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	_, to := startHost(t)
	c := mustDial(t, to, nil)

	var stdout, stderr bytes.Buffer
	err := c.Run(t.Context(), Command{Line: "cat; echo err >&2", Stdin: strings.NewReader("in"), Stdout: &stdout, Stderr: &stderr})
	if err != nil || stdout.String() != "in" || stderr.String() != "err\n" {
		t.Errorf("%q, %q, %v", &stdout, &stderr, err)
	}
	var both bytes.Buffer
	if err := c.Run(t.Context(), Command{Line: "echo a; echo b >&2", Stdout: &both, Stderr: &both}); err != nil || both.Len() != 4 {
		t.Errorf("one writer for both: %q, %v", &both, err)
	}

	var exit *ExitError
	err = c.Run(t.Context(), Command{Line: "seq 100000 >&2; echo 'no such GPU' >&2; exit 7"})
	if !errors.As(err, &exit) || exit.Status != 7 || exit.Signal != "" || !strings.HasSuffix(exit.Stderr, "\nno such GPU\n") || len(exit.Stderr) != stderrTail {
		t.Errorf("exit status: %.200v", err)
	}
	err = c.Run(t.Context(), Command{Line: "kill -KILL $$"})
	if !errors.As(err, &exit) || exit.Status != -1 || exit.Signal != "KILL" {
		t.Errorf("signal: %v", err)
	}
	full := errors.New("disk full")
	err = c.Run(t.Context(), Command{Line: "yes", Stdout: writerFunc(func([]byte) (int, error) { return 0, full })})
	if !errors.Is(err, full) {
		t.Errorf("failing writer: %v", err)
	}
	if _, err := c.Output(t.Context(), "yes"); err == nil || !strings.Contains(err.Error(), "bytes of output") {
		t.Errorf("endless output: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRunCancelled(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"signal": "trap 'echo > ended; exit' TERM; cd; echo ready; while :; do sleep 0.01; done",
		"stdin":  "trap '' TERM; cd; echo ready; cat; echo > ended",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "signal" && os.Getuid() == 0 {
				t.Skip("sshd signals no session of root: it has no unprivileged half there")
			}
			h, to := startHost(t)
			c := mustDial(t, to, nil)
			ctx, cancel := context.WithCancel(t.Context())
			started := make(chan struct{})
			result := make(chan error, 1)
			go func() {
				result <- c.Run(ctx, Command{Line: line, Stdin: blocked{t.Context()}, Stdout: writerFunc(func(p []byte) (int, error) {
					close(started)
					return len(p), nil
				})})
			}()
			<-started
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) || errors.Is(err, ErrTransportLost) {
				t.Errorf("error = %v", err)
			}
			eventually(t, "the end of the command", func() bool {
				_, err := os.Stat(filepath.Join(h.Home, "ended"))
				return err == nil
			})
			if out, err := c.Output(t.Context(), "echo still here"); err != nil || string(out) != "still here\n" {
				t.Errorf("the connection after a cancelled command: %q, %v", out, err)
			}
		})
	}
}

func TestTransportLost(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cut", "frozen", "frozen behind the bastion"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h, to := startHost(t)
			proxy := sshdtest.NewProxy(t, h)
			to.Address = proxy.Address
			var via *Client
			if how == "frozen behind the bastion" {
				_, toBastion := startHost(t)
				via = mustDial(t, toBastion, nil)
			}
			to.KeepAlive = 300 * time.Millisecond
			c := mustDial(t, to, via)
			ready := make(chan struct{})
			var once sync.Once
			result := make(chan error, 1)
			go func() {
				result <- c.Run(t.Context(), Command{Line: "echo ready; cat", Stdin: blocked{t.Context()}, Stdout: writerFunc(func(p []byte) (int, error) {
					once.Do(func() { close(ready) })
					return len(p), nil
				})})
			}()
			select {
			case <-ready:
			case err := <-result:
				t.Fatalf("the command never ran: %v", err)
			}
			if how == "cut" {
				proxy.Cut()
			} else {
				proxy.Freeze()
			}
			if err := <-result; !errors.Is(err, ErrTransportLost) {
				t.Errorf("error = %v", err)
			}
			if c.alive() {
				t.Error("the client thinks that it is alive")
			}
		})
	}
}

// blocked is an input that never comes.
type blocked struct{ ctx context.Context } //nolint:containedctx // it is what it waits for

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, io.EOF
}

// A silent but healthy connection is not given up.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	_, to := startHost(t)
	to.KeepAlive = 500 * time.Millisecond
	c := mustDial(t, to, nil)
	if err := c.Run(t.Context(), Command{Line: "sleep 2"}); err != nil {
		t.Error(err)
	}
}

// A machine that was held up has heard nothing for long, and has asked nothing either: its host is not lost.
func TestKeepAliveAfterStall(t *testing.T) {
	t.Parallel()
	_, to := startHost(t)
	to.KeepAlive = 500 * time.Millisecond
	c := mustDial(t, to, nil)
	eventually(t, "the end of sshd's greetings", func() bool { return c.link.silence() > to.KeepAlive/2 })
	for stall := range asksAllowed + 2 { // each of them answered
		c.link.received.Store(-int64(time.Hour) - int64(stall))
		eventually(t, "an answer after the stall", func() bool { return c.link.received.Load() > 0 || !c.alive() })
	}
	if !c.alive() {
		t.Error(c.cause)
	}
}

// A server that closes the session without a status leaves the connection standing.
func TestNoExitStatus(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // a test's
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			return
		}
		config := &ssh.ServerConfig{NoClientAuth: true}
		config.AddHostKey(signer)
		_, channels, requests, err := ssh.NewServerConn(raw, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for open := range channels {
			channel, requests, err := open.Accept()
			if err != nil {
				return
			}
			for request := range requests {
				_ = request.Reply(true, nil)
				_ = channel.Close()
			}
		}
	}()
	address := listener.Addr().(*net.TCPAddr)
	c := mustDial(t, Target{Name: "odd", Address: address.IP.String(), Port: address.Port, User: "opc", Signers: []ssh.Signer{signer}}, nil)
	if err := c.Run(t.Context(), Command{Line: "true"}); !errors.Is(err, ErrNoExitStatus) || errors.Is(err, ErrTransportLost) {
		t.Errorf("error = %v", err)
	}
}

func TestParallelThroughBastion(t *testing.T) {
	t.Parallel()
	signer, _ := sshdtest.NewKey(t)
	keys := []ssh.PublicKey{signer.PublicKey()}
	via := mustDial(t, target(sshdtest.Start(t, keys), "bastion", signer), nil)
	node := target(sshdtest.Start(t, keys), "gpu-1", signer)
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			c, err := Dial(t.Context(), node, via)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close() //nolint:errcheck // always nil
			out, err := c.Output(t.Context(), fmt.Sprintf("echo %d", i))
			if err != nil || string(out) != fmt.Sprintf("%d\n", i) {
				t.Errorf("%d: %q, %v", i, out, err)
			}
		})
	}
	wait.Wait()
}

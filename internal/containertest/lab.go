// SPDX-License-Identifier: MPL-2.0

// Package containertest has what tests of container engines share: labs whose hosts lack the engines of this
// machine, and, for these hosts, an apt repository, a registry with images, and a mirror of releases. All of
// it is real: packages of Debian, programs built from their source, images that run.
package containertest

import (
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// StartLab starts a lab whose hosts can install and run container engines and have none yet; it ends with the
// test. The test is skipped where this is impossible, as for a plain user.
func StartLab(t testing.TB, cfg lab.Config) *lab.Lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("hosts that run container engines need a lab of root's")
	}
	cfg.Without = append(cfg.Without, Packages(t)...)
	l, err := lab.Start(t.Context(), cfg)
	if errors.Is(err, lab.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	status, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.NoContainers != "" {
		t.Skip(status.NoContainers)
	}
	return l
}

// Serve serves HTTP to a lab's hosts until the test ends, and gives the address and port.
func Serve(t testing.TB, l *lab.Lab, handler http.Handler) string {
	t.Helper()
	listener, err := l.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // It ends by being closed.
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// ServeDir serves a directory to a lab's hosts until the test ends, and gives its URL, without a slash at its
// end.
func ServeDir(t testing.TB, l *lab.Lab, dir string) string {
	t.Helper()
	return "http://" + Serve(t, l, http.FileServer(http.Dir(dir)))
}

// Run runs a line of bash as root on a host of a lab, and gives its output. A failure fails the test.
func Run(t testing.TB, l *lab.Lab, host, line string) string {
	t.Helper()
	out, err := l.Exec(t.Context(), host, "bash", "-ec", line)
	if err != nil {
		t.Fatalf("%s on %s: %v\n%s", line, host, err, out)
	}
	return string(out)
}

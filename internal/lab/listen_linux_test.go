// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
)

// TestListen serves a host from this process, at a port of the lab's network.
func TestListen(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{})
	listener, err := l.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from the test") })}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	url := "http://" + listener.Addr().String()
	if got := mustExec(t, l, "bastion", "curl", "-sS", "--max-time", "20", url); got != "from the test" {
		t.Errorf("got %q", got)
	}
	if _, err := l.Listen(t.Context(), 80); err == nil {
		t.Error("the metadata service's port was given away")
	}
	none := start(t, lab.Config{Hosts: lab.HostsNone})
	if _, err := none.Listen(t.Context(), 0); !errors.Is(err, labhost.ErrNoHost) {
		t.Errorf("a lab without hosts: %v", err)
	}
}

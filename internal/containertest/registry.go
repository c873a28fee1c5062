// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// Registry is an OCI image registry that a lab's hosts reach over plain HTTP: engines must be told that it is
// insecure.
type Registry struct {
	// Address and port of the registry, as hosts know it.
	Address string
	store   http.Handler
	sent    atomic.Int64
}

// Credentials of a registry; the zero value lets everybody in.
type Credentials struct{ User, Password string }

// StartRegistry starts a registry, in memory, that ends with the test.
func StartRegistry(t testing.TB, l *lab.Lab, credentials Credentials) *Registry {
	t.Helper()
	r := &Registry{store: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r.Address = Serve(t, l, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		user, password, _ := request.BasicAuth()
		if credentials != (Credentials{}) && (!equal(user, credentials.User) || !equal(password, credentials.Password)) {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/") {
			r.sent.Add(1)
		}
		r.store.ServeHTTP(w, request)
	}))
	return r
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Push stores an image under a name such as "team/busybox:1" and gives its reference, as hosts pull it.
func (r *Registry) Push(t testing.TB, repositoryTag string, image v1.Image) string {
	t.Helper()
	server := httptest.NewServer(r.store) // This process does not reach the lab's network.
	defer server.Close()
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/"+repositoryTag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	return r.Address + "/" + repositoryTag
}

// BlobsSent counts the blobs (layers and configurations of images) that hosts have asked for.
func (r *Registry) BlobsSent() int64 { return r.sent.Load() }

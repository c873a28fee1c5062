// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// lagging answers reads of a cluster network as a region does whose replicas lag behind: 404 for a while
// after its creation, and the old record for a while after each change.
type lagging struct {
	next common.HTTPRequestDispatcher

	mu     sync.Mutex
	record []byte // the last true answer
	stale  int    // so many answers are still to be wrong
	wrong  int    // so many were
}

func (l *lagging) Do(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, id, one := strings.Cut(r.URL.Path, "/clusterNetworks/")
	one = one && !strings.Contains(id, "/")
	if one && r.Method == http.MethodGet && l.stale > 0 {
		l.stale--
		l.wrong++
		return l.old(r)
	}
	response, err := l.next.Do(r)
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return response, err
	}
	switch {
	case one && r.Method == http.MethodGet:
		l.record, err = io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(l.record))
	case one || strings.HasSuffix(r.URL.Path, "/clusterNetworks") && r.Method == http.MethodPost:
		l.stale = 3
	}
	return response, err
}

func (l *lagging) old(r *http.Request) (*http.Response, error) {
	if l.record == nil {
		return fault(http.StatusNotFound, "NotAuthorizedOrNotFound")(r, nil)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(l.record)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	lag := &lagging{}
	s := clusters(t, region, nil)
	s.Grace = time.Minute // The answers are wrong by count, not by time.
	lag.next = s.ComputeManagement.HTTPClient
	s.ComputeManagement.HTTPClient = lag

	c := create(t, s, spec(2))
	expectNodes(t, s, c, 2)
	want := spec(3)
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
	if err != nil {
		t.Fatal(err)
	}
	expectNodes(t, s, wait(t, operation), 3)
	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
	if lag.wrong != 9 {
		t.Errorf("%d stale answers, want 9: 3 each after create, update and delete", lag.wrong)
	}
}

// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// releases records which nodes are taken out of a cluster, and calls back before each.
type releases struct {
	mu     sync.Mutex
	ids    []string
	before func(nth int)
}

func (l *releases) between(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
	return dispatch(func(r *http.Request) (*http.Response, error) {
		id, err := released(r)
		if err != nil || id == "" {
			return next.Do(r)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.before != nil {
			l.before(len(l.ids))
		}
		response, err := next.Do(r)
		if err == nil && response.StatusCode/100 == 2 {
			l.ids = append(l.ids, id)
		}
		return response, err
	})
}

// released gives the OCID of the node that a request takes out of a pool or, as a single one, terminates.
func released(r *http.Request) (string, error) {
	if _, id, single := strings.Cut(r.URL.Path, "/instances/"); single && r.Method == http.MethodDelete {
		return id, nil
	}
	if !strings.HasSuffix(r.URL.Path, "/detachInstance") {
		return "", nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var detach struct{ InstanceID string }
	err = json.Unmarshal(body, &detach)
	return detach.InstanceID, err
}

func relaunched(size int) oci.Spec {
	want := spec(size)
	want.Launch.ImageID = acctest.OtherImageID
	return want
}

func TestRoll(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			var seen releases
			s := clusters(t, region, seen.between)
			first := spec(5)
			first.Interconnect = interconnect
			c := create(t, s, first)
			s.Grace = time.Minute // A busy machine finds addresses late.
			before := ids(t, s, c)
			seen.before = func(int) {
				running := slices.DeleteFunc(region.Instances(), func(i ocisim.InstanceState) bool { return i.State != "RUNNING" })
				if len(running) < 4 {
					t.Errorf("a node is taken out while %d of 5 run", len(running))
				}
			}
			want := relaunched(5)
			operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Relaunch: true, MaxUnavailable: 2})
			if err != nil {
				t.Fatal(err)
			}
			var told []oci.Progress
			if c, err = operation.Wait(t.Context(), func(p oci.Progress) { told = append(told, p) }); err != nil {
				t.Fatal(err)
			}
			expectNodes(t, s, c, 5)
			if !slices.Equal(seen.ids, before) {
				t.Errorf("replaced %v, not the nodes from before, the oldest first: %v", seen.ids, before)
			}
			nodes, err := s.Nodes(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				if n.Stale || n.ConfigurationID != c.ConfigurationID {
					t.Errorf("stale: %+v", n)
				}
			}
			if last := told[len(told)-1]; last.Replaced < 3 || last.Replaced+last.Stale != 5 {
				t.Errorf("last progress: %d replaced, %d stale", last.Replaced, last.Stale)
			}
		})
	}
}

// Without a roll, the nodes from before stay, and are known as stale.
func TestStaleNodesAreKnown(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(2))
	before := ids(t, s, c)
	c = update(t, s, c, oci.Change{Want: relaunched(3), Relaunch: true})
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil || len(nodes) != 3 {
		t.Fatalf("%d nodes, error %v", len(nodes), err)
	}
	for _, n := range nodes {
		if n.Stale != slices.Contains(before, n.ID) {
			t.Errorf("stale is %v of %s; from before are %v", n.Stale, n.ID, before)
		}
	}
	// Launched as before again, those are up to date; the third is not.
	c = update(t, s, c, oci.Change{Want: spec(3), Relaunch: true})
	if nodes, err = s.Nodes(t.Context(), c); err != nil || nodes[0].Stale || nodes[1].Stale || !nodes[2].Stale {
		t.Errorf("%+v, error %v", nodes, err)
	}
}

// A batch that gets no hosts stops the roll. The next update goes on with it.
func TestRollStopsWithoutCapacity(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			var seen releases
			seen.before = func(nth int) {
				if nth == 1 {
					region.SetCapacity(acctest.Shape, 0)
				}
			}
			s := clusters(t, region, seen.between)
			s.Grace = 5 * time.Second // as above; the end of hope waits for it
			first := spec(4)
			first.Interconnect = interconnect
			c := create(t, s, first)
			operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: relaunched(4), Relaunch: true, MaxUnavailable: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = operation.Wait(t.Context(), nil)
			var failure *oci.FailureError
			if !errors.As(err, &failure) || oci.KindOf(err) != oci.Capacity {
				t.Fatalf("error is %v", err)
			}
			text := oci.Explain(err).String()
			for _, part := range []string{"has 3 of 4 nodes", "Replaced so far: 1 of its nodes. Still launched as before, and running: 2.", "Out of host capacity"} {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in:\n%s", part, text)
				}
			}
			if len(seen.ids) != 2 {
				t.Errorf("%d nodes were taken out", len(seen.ids))
			}
			region.SetCapacity(acctest.Shape, 4)
			c = update(t, s, c, oci.Change{Want: relaunched(4), MaxUnavailable: 1})
			expectNodes(t, s, c, 4)
			if len(seen.ids) != 4 {
				t.Errorf("%d nodes were taken out", len(seen.ids))
			}
		})
	}
}

func TestInterruptedRollIsContinued(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var seen releases
	seen.before = func(nth int) {
		if nth == 1 {
			cancel()
		}
	}
	s := clusters(t, region, seen.between)
	c := create(t, s, spec(3))
	before := ids(t, s, c)
	change := oci.Change{Want: relaunched(3), Relaunch: true, MaxUnavailable: 1}
	operation, err := s.Update(ctx, c.ID, change)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = operation.Wait(ctx, nil); oci.KindOf(err) != oci.Interrupted || !strings.Contains(err.Error(), "Still launched as before") {
		t.Fatalf("error is %v", err)
	}
	change.Relaunch = false // It is in the state already.
	c = update(t, s, c, change)
	expectNodes(t, s, c, 3)
	if !slices.Equal(seen.ids, before) {
		t.Errorf("replaced %v; from before are %v", seen.ids, before)
	}
}

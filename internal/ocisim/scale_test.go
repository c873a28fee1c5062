// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// large is a region with a pool of so many instances without hosts, and a database.
func large(t testing.TB, size int) (*region, *string) {
	t.Helper()
	r := newRegion(t, func(c *ocisim.Config) {
		c.TimeScale, c.Store = 1e6, t.TempDir()+"/region.db"
		c.VCN.CIDR = netip.MustParsePrefix("10.0.0.0/16")
		c.Subnets = []ocisim.Subnet{{ID: subnetID, CIDR: netip.MustParsePrefix("10.0.128.0/17"), DisplayName: "private"}}
	})
	began := time.Now()
	p := r.createPool(t, size)
	got := r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "current size", *got.CurrentSize, size)
	t.Logf("%d instances in %s", size, time.Since(began).Round(time.Millisecond))
	return r, p.Id
}

// TestHundreds makes, lists and ends more instances than a page has.
func TestHundreds(t *testing.T) {
	t.Parallel()
	const size = 300
	r, pool := large(t, size)
	ids := map[string]bool{}
	q := core.ListInstancePoolInstancesRequest{InstancePoolId: pool, CompartmentId: common.String(compartmentID), Limit: common.Int(100)}
	for pages := 1; ; pages++ {
		resp, err := r.management.ListInstancePoolInstances(t.Context(), q)
		must(t, err)
		for _, i := range resp.Items {
			ids[*i.Id] = true
		}
		if q.Page = resp.OpcNextPage; q.Page == nil {
			wantEqual(t, "pages", pages, 3)
			break
		}
	}
	wantEqual(t, "instances", len(ids), size)
	_, err := r.management.TerminateInstancePool(t.Context(), core.TerminateInstancePoolRequest{InstancePoolId: pool})
	must(t, err)
	r.awaitPool(t, pool, core.InstancePoolLifecycleStateTerminated)
	wantEqual(t, "instances", r.Stats().Instances, 0)
}

// TestThousandsAreAccepted asks for as many instances as the largest clusters have, which BenchmarkThousands
// launches.
func TestThousandsAreAccepted(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = newRecorder() })
	p := r.createPool(t, 4000)
	wantEqual(t, "size", *p.Size, 4000)
	_, err := r.management.TerminateInstancePool(t.Context(), core.TerminateInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateTerminated)
}

// BenchmarkThousands serves a region of 4,000 instances: requests a second, and memory.
func BenchmarkThousands(b *testing.B) {
	r, pool := large(b, 4000)
	for name, path := range map[string]string{
		"GetInstancePool":           "/20160918/instancePools/" + *pool,
		"ListInstancePoolInstances": "/20160918/instancePools/" + *pool + "/instances?limit=1000&compartmentId=" + compartmentID,
	} {
		b.Run(name, func(b *testing.B) {
			q := httptest.NewRequestWithContext(b.Context(), http.MethodGet, r.url+path, http.NoBody)
			q.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
			must(b, common.DefaultRequestSigner(provider(b, apiKey())).Sign(q))
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				r.ServeHTTP(w, q)
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("heap in use: %d MiB", m.HeapInuse>>20)
}

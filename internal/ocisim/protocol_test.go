// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

func (r *region) createConfiguration(t *testing.T, name string, token *string) (core.CreateInstanceConfigurationResponse, error) {
	t.Helper()
	launch := launchDetails(gpuShape)
	return r.management.CreateInstanceConfiguration(t.Context(), core.CreateInstanceConfigurationRequest{OpcRetryToken: token,
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{CompartmentId: common.String(compartmentID), DisplayName: &name,
			InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: &launch}}})
}

func TestInstanceConfigurationLife(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	id := r.configure(t, launchDetails(gpuShape))
	got, err := r.management.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{InstanceConfigurationId: &id})
	must(t, err)
	launch := got.InstanceDetails.(core.ComputeInstanceDetails).LaunchDetails
	wantEqual(t, "shape", *launch.Shape, gpuShape)
	wantEqual(t, "image", *launch.SourceDetails.(core.InstanceConfigurationInstanceSourceViaImageDetails).ImageId, imageID)
	wantEqual(t, "NUMA nodes", launch.PlatformConfig.(core.InstanceConfigurationAmdRomeBmGpuLaunchInstancePlatformConfig).NumaNodesPerSocket,
		core.InstanceConfigurationAmdRomeBmGpuLaunchInstancePlatformConfigNumaNodesPerSocketNps4)

	update := core.UpdateInstanceConfigurationRequest{InstanceConfigurationId: &id, IfMatch: got.Etag,
		UpdateInstanceConfigurationDetails: core.UpdateInstanceConfigurationDetails{DisplayName: common.String("other"), FreeformTags: map[string]string{"a": "b"}}}
	updated, err := r.management.UpdateInstanceConfiguration(t.Context(), update)
	must(t, err)
	wantEqual(t, "name", *updated.DisplayName, "other")
	update.OpcRetryToken = nil
	_, err = r.management.UpdateInstanceConfiguration(t.Context(), update)
	wantError(t, err, 412, "NoEtagMatch")
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &id, IfMatch: got.Etag})
	wantError(t, err, 412, "NoEtagMatch")
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &id, IfMatch: updated.Etag})
	must(t, err)
	_, err = r.management.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{InstanceConfigurationId: &id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestInstanceConfigurationValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	const details = `{"compartmentId":"` + compartmentID + `","source":"NONE","instanceDetails":`
	for name, c := range map[string]struct {
		body, code, text string
		status           int
	}{
		"no JSON":          {`{"compartmentId":`, "CannotParseRequest", "", 400},
		"wrong type":       {`{"compartmentId":5}`, "CannotParseRequest", "", 400},
		"no details":       {`{"compartmentId":"` + compartmentID + `"}`, "MissingParameter", "instanceDetails", 400},
		"no discriminator": {details + `{"launchDetails":{}}}`, "InvalidParameter", "instanceDetails", 400},
		"no launch":        {details + `{"instanceType":"compute"}}`, "MissingParameter", "launchDetails", 400},
		"no source type":   {details + `{"instanceType":"compute","launchDetails":{"sourceDetails":{"imageId":"x"}}}}`, "InvalidParameter", "launchDetails.sourceDetails", 400},
		"launch mode":      {details + `{"instanceType":"compute","launchDetails":{"launchMode":"FAST"}}}`, "InvalidParameter", "launchDetails.launchMode", 400},
		"metadata":         {details + `{"instanceType":"compute","launchDetails":{"metadata":{"k":"` + strings.Repeat("x", 32000) + `"}}}}`, "InvalidParameter", "metadata", 400},
		"options":          {details + `{"instanceType":"instance_options","options":[]}}`, "MethodNotImplemented", "instance_options", 501},
		"of an instance":   {`{"compartmentId":"` + compartmentID + `","source":"INSTANCE","instanceId":"ocid1.instance.oc1..x"}`, "NotAuthorizedOrNotFound", "", 404},
		"of clusters":      {`{"compartmentId":"` + compartmentID + `","source":"GPU_MEMORY_CLUSTER"}`, "MethodNotImplemented", "GPU_MEMORY_CLUSTER", 501},
		"too large":        {`"` + strings.Repeat("x", 1<<20) + `"`, "PayloadTooLarge", "", 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := r.rawRequest(t, "POST", "/20160918/instanceConfigurations", c.body, nil)
			must(t, common.DefaultRequestSigner(provider(t, apiKey())).Sign(q))
			status, text := do(t, q)
			if status != c.status || !strings.Contains(text, `"code":"`+c.code+`"`) || !strings.Contains(text, c.text) {
				t.Fatalf("got %d %s, want %d %s that names %s", status, text, c.status, c.code, c.text)
			}
		})
	}
}

func TestRetryToken(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	token := common.String("one")
	first, err := r.createConfiguration(t, "a", token)
	must(t, err)
	again, err := r.createConfiguration(t, "a", token)
	must(t, err)
	wantEqual(t, "replayed OCID", *again.Id, *first.Id)
	wantEqual(t, "replayed etag", *again.Etag, *first.Etag)
	wantEqual(t, "configurations", r.Stats().InstanceConfigurations, 1)
	_, err = r.createConfiguration(t, "b", token)
	wantError(t, err, 409, "InvalidatedRetryToken")
	other, err := r.createConfiguration(t, "a", common.String("two"))
	must(t, err)
	if *other.Id == *first.Id {
		t.Error("another token gave the same configuration")
	}
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: first.Id})
	must(t, err)
	_, err = r.createConfiguration(t, "a", token)
	wantError(t, err, 409, "InvalidatedRetryToken")
	_, err = r.createConfiguration(t, "a", common.String(strings.Repeat("x", 65)))
	wantError(t, err, 400, "InvalidParameter")
}

func TestPagination(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	const count = 130
	created := r.createNetwork(t, count)
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	list := func(t *testing.T, limit *int, by core.ListClusterNetworkInstancesSortByEnum, order core.ListClusterNetworkInstancesSortOrderEnum) (names []string, pages int) {
		q := core.ListClusterNetworkInstancesRequest{ClusterNetworkId: created.Id, CompartmentId: common.String(compartmentID),
			Limit: limit, SortBy: by, SortOrder: order}
		for {
			resp, err := r.management.ListClusterNetworkInstances(t.Context(), q)
			must(t, err)
			pages++
			for _, i := range resp.Items {
				names = append(names, *i.DisplayName)
			}
			if q.Page = resp.OpcNextPage; q.Page == nil {
				return names, pages
			}
		}
	}
	oldest, pages := list(t, common.Int(1000), "", core.ListClusterNetworkInstancesSortOrderAsc)
	wantEqual(t, "pages", pages, 1)
	wantEqual(t, "rows", len(oldest), count)
	newest := slices.Clone(oldest)
	slices.Reverse(newest)
	byName := slices.Sorted(slices.Values(oldest))
	byNameFalling := slices.Clone(byName)
	slices.Reverse(byNameFalling)
	const name = core.ListClusterNetworkInstancesSortByDisplayname
	for what, c := range map[string]struct {
		limit *int
		by    core.ListClusterNetworkInstancesSortByEnum
		order core.ListClusterNetworkInstancesSortOrderEnum
		pages int
		want  []string
	}{
		"newest first, by default": {pages: 3, want: newest},
		"by name":                  {by: name, pages: 3, want: byName},
		"by name, falling":         {by: name, order: core.ListClusterNetworkInstancesSortOrderDesc, pages: 3, want: byNameFalling},
		"oldest first":             {order: core.ListClusterNetworkInstancesSortOrderAsc, limit: common.Int(26), pages: 5, want: oldest},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			names, pages := list(t, c.limit, c.by, c.order)
			wantEqual(t, "pages", pages, c.pages)
			if !slices.Equal(names, c.want) {
				t.Errorf("got %v, want %v", names, c.want)
			}
		})
	}
	for _, q := range []core.ListClusterNetworkInstancesRequest{
		{Limit: common.Int(0)}, {Limit: common.Int(1001)}, {Page: common.String("nonsense")},
	} {
		q.ClusterNetworkId, q.CompartmentId = created.Id, common.String(compartmentID)
		_, err := r.management.ListClusterNetworkInstances(t.Context(), q)
		wantError(t, err, 400, "InvalidParameter")
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	resp, err := r.createConfiguration(t, "a", nil)
	must(t, err)
	if !regexp.MustCompile(`^[0-9a-f]{32}/[0-9A-F]{32}/[0-9A-F]{32}$`).MatchString(*resp.OpcRequestId) {
		t.Errorf("request id is %s", *resp.OpcRequestId)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(*resp.Etag) {
		t.Errorf("etag is %s", *resp.Etag)
	}
	wantEqual(t, "content type", resp.RawResponse.Header.Get("Content-Type"), "application/json")
}

func TestNotSimulated(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	_, err := r.compute.GetComputeGpuMemoryFabric(t.Context(), core.GetComputeGpuMemoryFabricRequest{
		ComputeGpuMemoryFabricId: common.String("ocid1.computegpumemoryfabric.oc1..x")})
	wantError(t, err, 501, "MethodNotImplemented")
	_, err = r.compute.ListComputeGpuMemoryClusters(t.Context(), core.ListComputeGpuMemoryClustersRequest{CompartmentId: common.String(compartmentID)})
	wantError(t, err, 501, "MethodNotImplemented")
	st := r.Stats()
	wantEqual(t, "memory fabric", st.Unknown["GET /20160918/computeGpuMemoryFabrics/{id}"], 1)
	wantEqual(t, "memory clusters", st.Unknown["GET /20160918/computeGpuMemoryClusters"], 1)
	wantEqual(t, "requests", st.Requests, 2)
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, nil)
	must(t, r.Close())
	_, err := r.createConfiguration(t, "a", nil)
	wantError(t, err, http.StatusServiceUnavailable, "ServiceUnavailable")
	wantEqual(t, "hosts", len(hosts.running()), 0)
}

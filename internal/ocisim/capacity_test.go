// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/identity"
	"github.com/oracle/oci-go-sdk/v65/limits"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func (r *region) reserve(t *testing.T, count int64) core.CreateComputeCapacityReservationResponse {
	t.Helper()
	resp, err := r.compute.CreateComputeCapacityReservation(t.Context(), core.CreateComputeCapacityReservationRequest{
		CreateComputeCapacityReservationDetails: core.CreateComputeCapacityReservationDetails{
			CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String(domain), DisplayName: common.String("gpus"),
			InstanceReservationConfigs: []core.InstanceReservationConfigDetails{{InstanceShape: common.String(gpuShape), ReservedCount: &count}}}})
	must(t, err)
	return resp
}

func (r *region) getReservation(t *testing.T, id *string) core.ComputeCapacityReservation {
	t.Helper()
	resp, err := r.compute.GetComputeCapacityReservation(t.Context(), core.GetComputeCapacityReservationRequest{CapacityReservationId: id})
	must(t, err)
	return resp.ComputeCapacityReservation
}

func (r *region) awaitReservation(t *testing.T, id *string, state core.ComputeCapacityReservationLifecycleStateEnum) {
	t.Helper()
	eventually(t, "reservation is "+string(state), func() bool { return r.getReservation(t, id).LifecycleState == state })
}

func TestReservationLife(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 3} })
	created := r.reserve(t, 2)
	wantEqual(t, "status", created.RawResponse.StatusCode, 201)
	wantEqual(t, "location", *created.Location, "/20160918/computeCapacityReservations/"+*created.Id)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateActive)
	w := r.workRequest(t, created.Id, "CreateComputeCapacityReservation")
	wantEqual(t, "work request", *w.Id, *created.OpcWorkRequestId)
	eventually(t, "the work request succeeds", func() bool {
		return r.workRequest(t, created.Id, "CreateComputeCapacityReservation").Status == workrequests.WorkRequestStatusSucceeded
	})
	wantEqual(t, "free", r.report(t, gpuShape).count(), 1)

	d := gpuDetails(nil)
	d.CapacityReservationId = created.Id
	i := r.launch(t, d)
	r.launch(t, d)
	got := r.getReservation(t, created.Id)
	wantEqual(t, "used", *got.UsedInstanceCount, 2)
	wantEqual(t, "used of the shape", *got.InstanceReservationConfigs[0].UsedCount, 2)
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 500, "InternalError")
	r.launch(t, gpuDetails(nil))
	_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: gpuDetails(nil)})
	wantError(t, err, 500, "InternalError")
	members, err := r.compute.ListComputeCapacityReservationInstances(t.Context(), core.ListComputeCapacityReservationInstancesRequest{CapacityReservationId: created.Id})
	must(t, err)
	wantEqual(t, "instances", len(members.Items), 2)
	list, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{CompartmentId: common.String(compartmentID), CapacityReservationId: created.Id})
	must(t, err)
	wantEqual(t, "instances listed", len(list.Items), 2)

	remove := core.DeleteComputeCapacityReservationRequest{CapacityReservationId: created.Id}
	_, err = r.compute.DeleteComputeCapacityReservation(t.Context(), remove)
	wantError(t, err, 409, "Conflict")
	shrink := core.UpdateComputeCapacityReservationRequest{CapacityReservationId: created.Id,
		UpdateComputeCapacityReservationDetails: core.UpdateComputeCapacityReservationDetails{
			InstanceReservationConfigs: []core.InstanceReservationConfigDetails{{InstanceShape: common.String(gpuShape), ReservedCount: common.Int64(1)}}}}
	_, err = r.compute.UpdateComputeCapacityReservation(t.Context(), shrink)
	wantError(t, err, 409, "Conflict")
	_, err = r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id})
	must(t, err)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	changed, err := r.compute.UpdateComputeCapacityReservation(t.Context(), shrink)
	must(t, err)
	wantEqual(t, "status", changed.RawResponse.StatusCode, 202)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateActive)
	wantEqual(t, "reserved", *r.getReservation(t, created.Id).ReservedInstanceCount, 1)
}

func TestReservationEnds(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	created := r.reserve(t, 1)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateActive)
	moved, err := r.compute.ChangeComputeCapacityReservationCompartment(t.Context(), core.ChangeComputeCapacityReservationCompartmentRequest{
		CapacityReservationId:                              created.Id,
		ChangeComputeCapacityReservationCompartmentDetails: core.ChangeComputeCapacityReservationCompartmentDetails{CompartmentId: common.String(tenancyID)}})
	must(t, err)
	wantEqual(t, "status", moved.RawResponse.StatusCode, 202)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateActive)
	list, err := r.compute.ListComputeCapacityReservations(t.Context(), core.ListComputeCapacityReservationsRequest{CompartmentId: common.String(tenancyID)})
	must(t, err)
	wantEqual(t, "reservations", len(list.Items), 1)
	gone, err := r.compute.DeleteComputeCapacityReservation(t.Context(), core.DeleteComputeCapacityReservationRequest{CapacityReservationId: created.Id})
	must(t, err)
	wantEqual(t, "status", gone.RawResponse.StatusCode, 202)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateDeleted)
	wantEqual(t, "free", r.report(t, gpuShape).count(), 1)
}

// TestReservationWithoutCapacity ends DELETED, and its work request says why.
func TestReservationWithoutCapacity(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	created := r.reserve(t, 2)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateDeleted)
	eventually(t, "the work request fails", func() bool {
		return r.workRequest(t, created.Id, "CreateComputeCapacityReservation").Status == workrequests.WorkRequestStatusFailed
	})
	faults, _ := r.complaints(t, created.OpcWorkRequestId)
	wantEqual(t, "error", faults[0], "Out of host capacity.")
	d := gpuDetails(nil)
	d.CapacityReservationId = created.Id
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 409, "IncorrectState")
}

func TestReservationMisfits(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	created := r.reserve(t, 1)
	r.awaitReservation(t, created.Id, core.ComputeCapacityReservationLifecycleStateActive)
	d := vmDetails()
	d.CapacityReservationId = created.Id
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 400, "InvalidParameter")
	for shape, count := range map[string]int64{"BM.Big": 1, gpuShape: -1, vmShape: 1} {
		_, err := r.compute.CreateComputeCapacityReservation(t.Context(), core.CreateComputeCapacityReservationRequest{
			CreateComputeCapacityReservationDetails: core.CreateComputeCapacityReservationDetails{
				CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String(domain),
				InstanceReservationConfigs: []core.InstanceReservationConfigDetails{{InstanceShape: &shape, ReservedCount: &count}}}})
		if err == nil {
			t.Errorf("%d of %s can be reserved", count, shape)
		}
	}
}

// reported is one row of a capacity report.
type reported core.CapacityReportShapeAvailability

func (a reported) count() int64 { return *a.AvailableCount }

func (r *region) report(t *testing.T, shape string) reported {
	t.Helper()
	resp, err := r.compute.CreateComputeCapacityReport(t.Context(), core.CreateComputeCapacityReportRequest{
		CreateComputeCapacityReportDetails: core.CreateComputeCapacityReportDetails{
			CompartmentId: common.String(tenancyID), AvailabilityDomain: common.String(domain),
			ShapeAvailabilities: []core.CreateCapacityReportShapeAvailabilityDetails{{InstanceShape: &shape}}}})
	must(t, err)
	return reported(resp.ShapeAvailabilities[0])
}

func TestCapacityReport(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	wantEqual(t, "status", r.report(t, gpuShape).AvailabilityStatus, core.CapacityReportShapeAvailabilityAvailabilityStatusAvailable)
	wantEqual(t, "status", r.report(t, vmShape).AvailabilityStatus, core.CapacityReportShapeAvailabilityAvailabilityStatusAvailable)
	wantEqual(t, "status", r.report(t, "BM.Big").AvailabilityStatus, core.CapacityReportShapeAvailabilityAvailabilityStatusHardwareNotSupported)
	r.launch(t, gpuDetails(nil))
	wantEqual(t, "status", r.report(t, gpuShape).AvailabilityStatus, core.CapacityReportShapeAvailabilityAvailabilityStatusOutOfHostCapacity)
	wantEqual(t, "count", r.report(t, gpuShape).count(), 0)
	_, err := r.compute.CreateComputeCapacityReport(t.Context(), core.CreateComputeCapacityReportRequest{
		CreateComputeCapacityReportDetails: core.CreateComputeCapacityReportDetails{
			CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String(domain),
			ShapeAvailabilities: []core.CreateCapacityReportShapeAvailabilityDetails{{InstanceShape: common.String(gpuShape)}}}})
	wantError(t, err, 400, "InvalidParameter")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Limits = map[string]int{gpuShape: 3} })
	r.launch(t, gpuDetails(nil))
	r.launch(t, vmDetails())
	available := func(limit string) limits.ResourceAvailability {
		resp, err := r.limits.GetResourceAvailability(t.Context(), limits.GetResourceAvailabilityRequest{ServiceName: common.String("compute"),
			LimitName: &limit, CompartmentId: common.String(tenancyID), AvailabilityDomain: common.String(domain)})
		must(t, err)
		return resp.ResourceAvailability
	}
	wantEqual(t, "used GPUs", *available("gpu4-count").Used, 8)
	wantEqual(t, "free GPUs", *available("gpu4-count").Available, 16)
	wantEqual(t, "used OCPUs", *available("standard-e4-core-count").Used, 2)
	wantEqual(t, "used memory", *available("standard-e4-memory-count").Used, 32)
	_, err := r.limits.GetResourceAvailability(t.Context(), limits.GetResourceAvailabilityRequest{ServiceName: common.String("compute"),
		LimitName: common.String("gpu4-count"), CompartmentId: common.String(tenancyID)})
	wantError(t, err, 400, "MissingParameter")
	_, err = r.limits.GetResourceAvailability(t.Context(), limits.GetResourceAvailabilityRequest{ServiceName: common.String("compute"),
		LimitName: common.String("gpu99-count"), CompartmentId: common.String(tenancyID), AvailabilityDomain: common.String(domain)})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")

	definitions, err := r.limits.ListLimitDefinitions(t.Context(), limits.ListLimitDefinitionsRequest{
		CompartmentId: common.String(tenancyID), ServiceName: common.String("compute")})
	must(t, err)
	wantEqual(t, "limits", len(definitions.Items), 3)
	wantEqual(t, "scope", definitions.Items[0].ScopeType, limits.LimitDefinitionSummaryScopeTypeAd)
	values, err := r.limits.ListLimitValues(t.Context(), limits.ListLimitValuesRequest{
		CompartmentId: common.String(tenancyID), ServiceName: common.String("compute"), Name: common.String("gpu4-count")})
	must(t, err)
	wantEqual(t, "value", *values.Items[0].Value, 24)
	_, err = r.limits.ListLimitValues(t.Context(), limits.ListLimitValuesRequest{CompartmentId: common.String(compartmentID), ServiceName: common.String("compute")})
	wantError(t, err, 400, "InvalidParameter")
}

func TestTagNamespaces(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) {
		c.TagNamespaces = map[string][]string{"ComputeInstanceHostActions": {"CustomerReportedHostStatus"}}
	})
	list, err := r.identity.ListTagNamespaces(t.Context(), identity.ListTagNamespacesRequest{CompartmentId: common.String(tenancyID)})
	must(t, err)
	wantEqual(t, "namespaces", len(list.Items), 2)
	keys := map[string]string{}
	for _, n := range list.Items {
		got, err := r.identity.GetTagNamespace(t.Context(), identity.GetTagNamespaceRequest{TagNamespaceId: n.Id})
		must(t, err)
		tags, err := r.identity.ListTags(t.Context(), identity.ListTagsRequest{TagNamespaceId: n.Id})
		must(t, err)
		keys[*got.Name] = *tags.Items[0].Name
		tag, err := r.identity.GetTag(t.Context(), identity.GetTagRequest{TagNamespaceId: n.Id, TagName: tags.Items[0].Name})
		must(t, err)
		wantEqual(t, "namespace", *tag.TagNamespaceName, *n.Name)
		_, err = r.identity.GetTag(t.Context(), identity.GetTagRequest{TagNamespaceId: n.Id, TagName: common.String("x")})
		wantError(t, err, 404, "NotAuthorizedOrNotFound")
	}
	wantEqual(t, "key", keys["ComputeInstanceHostActions"], "CustomerReportedHostStatus")

	d := vmDetails()
	for text, tags := range map[string]map[string]map[string]any{
		"TagNamespace ops does not exists.":                                {"ops": {"team": "a"}},
		"TagDefinition Other in TagNamespace Oracle-Tags does not exists.": {"Oracle-Tags": {"Other": "a"}},
	} {
		d.DefinedTags, d.CreateVnicDetails.DefinedTags = tags, nil
		_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
		wantError(t, err, 400, "RelatedResourceNotAuthorizedOrNotFound")
		wantEqual(t, "message", err.(common.ServiceError).GetMessage(), "The following tag namespaces / keys are not authorized or not found: "+text)
		d.DefinedTags, d.CreateVnicDetails.DefinedTags = nil, tags
		_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
		wantError(t, err, 400, "RelatedResourceNotAuthorizedOrNotFound")
	}
	i := r.launch(t, vmDetails())
	_, err = r.compute.UpdateInstance(t.Context(), core.UpdateInstanceRequest{InstanceId: i.Id, UpdateInstanceDetails: core.UpdateInstanceDetails{
		DefinedTags: map[string]map[string]any{"ComputeInstanceHostActions": {"CustomerReportedHostStatus": "unhealthy"}}}})
	must(t, err)
}

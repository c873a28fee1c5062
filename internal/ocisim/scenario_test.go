// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func scene(t *testing.T, c ocisim.Scenario) *region {
	t.Helper()
	return newRegion(t, func(config *ocisim.Config) { config.Scenario = c })
}

func (r *region) tryLaunch(t *testing.T) (core.LaunchInstanceResponse, error) {
	t.Helper()
	return r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: vmDetails()})
}

func TestLaunchWithoutHost(t *testing.T) {
	t.Parallel()
	r := scene(t, ocisim.Scenario{Capacity: map[string]int{vmShape: 0}})
	_, err := r.tryLaunch(t)
	wantError(t, err, 500, "InternalError")
	must(t, r.SetScenario(ocisim.Scenario{Capacity: map[string]int{vmShape: 0}, LaunchShortage: ocisim.LaunchFails}))
	accepted, err := r.tryLaunch(t)
	must(t, err)
	r.awaitInstance(t, accepted.Id, core.InstanceLifecycleStateTerminated)
	wantEqual(t, "status", r.workRequest(t, accepted.Id, "LaunchInstance").Status, workrequests.WorkRequestStatusFailed)
	faults, _ := r.complaints(t, accepted.OpcWorkRequestId)
	if len(faults) != 1 || !strings.Contains(faults[0], "(500, InternalError, false) Out of host capacity. (opc-request-id: ") {
		t.Errorf("the work request says %v", faults)
	}
	must(t, r.SetScenario(ocisim.Scenario{}))
	_, err = r.tryLaunch(t)
	must(t, err)
}

func TestReservationShortage(t *testing.T) {
	t.Parallel()
	const text = "Insufficient capacity for cluster network"
	for form, want := range map[ocisim.ReservationShortage]struct{ errors, logs bool }{
		ocisim.ReservationFails: {true, true}, ocisim.ReservationErrors: {true, false}, ocisim.ReservationLogs: {false, true},
	} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			r := scene(t, ocisim.Scenario{Capacity: map[string]int{gpuShape: 1}, ReservationShortage: form})
			n := r.createNetwork(t, 2)
			r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateTerminated)
			wantEqual(t, "status", r.workRequest(t, n.Id, "CreateClusterNetworkReservation").Status, workrequests.WorkRequestStatusFailed)
			faults, logs := r.complaints(t, n.OpcWorkRequestId)
			wantEqual(t, "in the errors", strings.Contains(strings.Join(faults, "\n"), text), want.errors)
			wantEqual(t, "in the logs", strings.Contains(strings.Join(logs, "\n"), text), want.logs)
		})
	}
}

// TestReservationUnnoticed lets the pool of a cluster network find out, in each of the ways pools have.
func TestReservationUnnoticed(t *testing.T) {
	t.Parallel()
	for shortage, want := range map[ocisim.Shortage]core.ClusterNetworkLifecycleStateEnum{
		ocisim.ShortageWaits:      core.ClusterNetworkLifecycleStateProvisioning,
		ocisim.ShortageRunsShort:  core.ClusterNetworkLifecycleStateRunning,
		ocisim.ShortageTerminates: core.ClusterNetworkLifecycleStateTerminated,
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			r := scene(t, ocisim.Scenario{Capacity: map[string]int{gpuShape: 1}, ReservationShortage: ocisim.ReservationUnnoticed, Shortage: shortage})
			n := r.createNetwork(t, 2)
			r.awaitLaunchError(t, n.InstancePools[0].Id, "Out of host capacity.")
			r.awaitNetwork(t, n.Id, want)
		})
	}
}

// awaitLaunchError waits until a pool's launches have reported an error.
func (r *region) awaitLaunchError(t *testing.T, pool *string, text string) (code string) {
	t.Helper()
	eventually(t, "the pool's launches report "+text, func() bool {
		w := r.workRequest(t, pool, "LaunchInstancesInPool")
		if w == nil {
			return false
		}
		resp, err := r.work.ListWorkRequestErrors(t.Context(), workrequests.ListWorkRequestErrorsRequest{WorkRequestId: w.Id})
		must(t, err)
		for _, e := range resp.Items {
			if strings.Contains(*e.Message, text) {
				code = *e.Code
			}
		}
		return code != ""
	})
	return code
}

func TestLimitsAndQuotas(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]ocisim.Scenario{
		"LimitExceeded": {Limits: map[string]int{vmShape: 1, gpuShape: 1}},
		"QuotaExceeded": {Quotas: map[string]int{vmShape: 1, gpuShape: 1}, Limits: map[string]int{vmShape: 1}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := scene(t, c)
			_, err := r.tryLaunch(t)
			must(t, err)
			_, err = r.tryLaunch(t)
			wantError(t, err, 400, want)

			n := r.createNetwork(t, 2)
			pool := n.InstancePools[0].Id
			wantEqual(t, "code", r.awaitLaunchError(t, pool, "were exceeded: "+gpuShape), want)
			wantEqual(t, "status", r.workRequest(t, pool, "LaunchInstancesInPool").Status, workrequests.WorkRequestStatusInProgress)
			must(t, r.SetScenario(ocisim.Scenario{})) // The limit was raised: the pool goes on.
			r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateRunning)
		})
	}
}

func TestTagDefaults(t *testing.T) {
	t.Parallel()
	r := scene(t, ocisim.Scenario{TagNamespaces: map[string][]string{"ops": {"team"}}, TagDefaults: map[string]map[string]string{
		"Oracle-Tags": {"CreatedBy": "oracleidentitycloudservice/jo@example.com", "CreatedOn": "${oci.datetime}"}}})
	details := networkDetails(r.configure(t, launchDetails(gpuShape)), 1)
	details.DefinedTags = map[string]map[string]any{"Oracle-Tags": {"CreatedBy": "somebody"}, "ops": {"team": "a"}}
	resp, err := r.management.CreateClusterNetwork(t.Context(), core.CreateClusterNetworkRequest{CreateClusterNetworkDetails: details})
	must(t, err)
	wantEqual(t, "the request's own tag", resp.DefinedTags["Oracle-Tags"]["CreatedBy"], any("somebody"))
	wantEqual(t, "the other tag", resp.DefinedTags["ops"]["team"], any("a"))
	if on, _ := resp.DefinedTags["Oracle-Tags"]["CreatedOn"].(string); !strings.HasPrefix(on, "20") {
		t.Errorf("created on %q", on)
	}
	pool := resp.InstancePools[0]
	wantEqual(t, "the pool's tag", pool.DefinedTags["Oracle-Tags"]["CreatedBy"], any("oracleidentitycloudservice/jo@example.com"))
	r.awaitNetwork(t, resp.Id, core.ClusterNetworkLifecycleStateRunning)
	member := r.getInstance(t, r.networkInstances(t, resp.Id)[0].Id)
	wantEqual(t, "a member's tag", member.DefinedTags["Oracle-Tags"]["CreatedBy"], any("oracleidentitycloudservice/jo@example.com"))
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	r := scene(t, ocisim.Scenario{StaleReads: ocisim.StaleReads{AfterCreate: 3, AfterChange: 2}})
	id := r.configure(t, launchDetails(gpuShape))
	get := func() (string, error) {
		resp, err := r.management.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{InstanceConfigurationId: &id})
		if err != nil {
			return "", err
		}
		return *resp.DisplayName, nil
	}
	listed := func() int {
		resp, err := r.management.ListInstanceConfigurations(t.Context(), core.ListInstanceConfigurationsRequest{CompartmentId: common.String(compartmentID)})
		must(t, err)
		return len(resp.Items)
	}
	for range 2 {
		_, err := get()
		wantError(t, err, 404, "NotAuthorizedOrNotFound")
	}
	wantEqual(t, "listed", listed(), 0)
	wantEqual(t, "listed after three reads", listed(), 1)
	_, err := r.management.UpdateInstanceConfiguration(t.Context(), core.UpdateInstanceConfigurationRequest{InstanceConfigurationId: &id,
		UpdateInstanceConfigurationDetails: core.UpdateInstanceConfigurationDetails{DisplayName: common.String("new")}})
	must(t, err)
	for _, want := range []string{"gpu", "gpu", "new", "new"} {
		name, err := get()
		must(t, err)
		wantEqual(t, "name", name, want)
	}
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &id})
	must(t, err)
	for range 2 {
		name, err := get()
		must(t, err)
		wantEqual(t, "name of what is deleted", name, "new")
	}
	_, err = get()
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

// TestStaleAction lets a pool seem RUNNING after an instance was detached from it.
func TestStaleAction(t *testing.T) {
	t.Parallel()
	r := scene(t, ocisim.Scenario{})
	p := r.createPool(t, 2)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	must(t, r.SetScenario(ocisim.Scenario{StaleReads: ocisim.StaleReads{AfterChange: 1}}))
	r.detach(t, p.Id, r.poolInstances(t, p.Id)[0].Id, nil, nil)
	wantEqual(t, "size", *r.getPool(t, p.Id).Size, 2)
	wantEqual(t, "size at the second read", *r.getPool(t, p.Id).Size, 1)
}

// TestScenarioRefused names what is wrong.
func TestScenarioRefused(t *testing.T) {
	t.Parallel()
	r := scene(t, ocisim.Scenario{})
	for want, c := range map[string]ocisim.Scenario{
		`capacity: the region has no shape "BM.GPU4"; is "BM.GPU4.8" meant?`:         {Capacity: map[string]int{"BM.GPU4": 1}},
		`limits: the region has no shape "x"`:                                        {Limits: map[string]int{"x": 1}},
		`quotas: -1 hosts of BM.GPU4.8`:                                              {Quotas: map[string]int{gpuShape: -1}},
		`shortage: "wait" is unknown; choose "runs-short", "terminates"`:             {Shortage: "wait"},
		`launch_shortage: "x" is unknown`:                                            {LaunchShortage: "x"},
		`reservation_shortage: "x" is unknown`:                                       {ReservationShortage: "x"},
		`stale_reads: a number of reads is negative`:                                 {StaleReads: ocisim.StaleReads{AfterChange: -1}},
		`nodes[0]: effect: "x" is unknown; choose boot-fails`:                        {Nodes: []ocisim.NodeFault{{Effect: "x"}}},
		`nodes[0]: shape: the region has no shape "y"`:                               {Nodes: []ocisim.NodeFault{{Shape: "y", Effect: ocisim.NodeNoSSH}}},
		`nodes[0]: name: "[" is no pattern`:                                          {Nodes: []ocisim.NodeFault{{Name: "[", Effect: ocisim.NodeNoSSH}}},
		`faults[0]: nothing happens`:                                                 {Faults: []ocisim.Fault{{Operation: "Get*"}}},
		`faults[0]: effect: "boom" is unknown; choose etag-mismatch, hang`:           {Faults: []ocisim.Fault{{Effect: "boom"}}},
		`faults[0]: effect and error exclude each other`:                             {Faults: []ocisim.Fault{{Effect: ocisim.EffectHang, Error: &ocisim.FaultError{Status: 500, Code: "x"}}}},
		`faults[0]: error: a status from 400 to 599 and a code are needed`:           {Faults: []ocisim.Fault{{Error: &ocisim.FaultError{Status: 200, Code: "x"}}}},
		`operation: no operation of the region is "LaunchInstances"; is "LaunchInst`: {Faults: []ocisim.Fault{{Operation: "LaunchInstances", Effect: ocisim.EffectHang}}},
		`faults[0]: skip and times must not be negative`:                             {Faults: []ocisim.Fault{{Skip: -1, Effect: ocisim.EffectHang}}},
		`faults[0]: probability: 2 is not between 0 and 1`:                           {Faults: []ocisim.Fault{{Probability: 2, Effect: ocisim.EffectHang}}},
	} {
		if err := r.SetScenario(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

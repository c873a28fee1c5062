// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// commits are copies of a database after each commit.
type commits struct {
	mu    sync.Mutex
	texts [][]byte
}

func (c *commits) take(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

func (c *commits) all() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.texts)
}

const restartCapacity = 6

// kept is a region with a database.
func kept(t *testing.T, path string, adjust func(*ocisim.Config)) *region {
	t.Helper()
	return newRegion(t, func(c *ocisim.Config) {
		c.Store, c.TimeScale, c.Hosts = path, 200000, newRecorder()
		c.Capacity = map[string]int{gpuShape: restartCapacity}
		if adjust != nil {
			adjust(c)
		}
	})
}

// summary tells what a region has come to, once everything in it rests: states, sizes, and how many
// instances there are in which state. It fails where something is counted twice or held for ever.
func (r *region) summary(t *testing.T) string {
	t.Helper()
	eventually(t, "everything rests", func() bool { return r.rests(t) })
	states := map[string]int{}
	list, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	live := 0
	for _, i := range list.Items {
		states[string(i.LifecycleState)]++
		if i.LifecycleState != core.InstanceLifecycleStateTerminated {
			live++
		}
	}
	free, capacity := r.FreeHosts(gpuShape)
	wantEqual(t, "hosts in use and free", live+free, capacity)
	wantEqual(t, "addresses in use", r.UsedAddresses(), live)
	delete(states, string(core.InstanceLifecycleStateTerminated)) // another attempt may have ended
	pools, err := r.management.ListInstancePools(t.Context(), core.ListInstancePoolsRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	var lines []string
	for _, p := range pools.Items {
		if p.LifecycleState == core.InstancePoolSummaryLifecycleStateTerminated {
			continue // it is forgotten sooner or later
		}
		lines = append(lines, fmt.Sprintf("%s %s size %d current %d members %d", *p.DisplayName, p.LifecycleState, *p.Size, *p.CurrentSize, len(r.poolInstances(t, p.Id))))
	}
	networks, err := r.management.ListClusterNetworks(t.Context(), core.ListClusterNetworksRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	for _, n := range networks.Items {
		if n.LifecycleState != core.ClusterNetworkSummaryLifecycleStateTerminated {
			lines = append(lines, fmt.Sprintf("%s %s", *n.DisplayName, n.LifecycleState))
		}
	}
	return fmt.Sprint(states, lines)
}

// rests says whether no work request is open and nothing is in a passing state.
func (r *region) rests(t *testing.T) bool {
	t.Helper()
	work, err := r.work.ListWorkRequests(t.Context(), workrequests.ListWorkRequestsRequest{CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	for _, w := range work.Items {
		if w.TimeFinished == nil {
			return false
		}
	}
	list, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	for _, i := range list.Items {
		if strings.HasSuffix(string(i.LifecycleState), "ING") && i.LifecycleState != core.InstanceLifecycleStateRunning {
			return false
		}
	}
	pools, err := r.management.ListInstancePools(t.Context(), core.ListInstancePoolsRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	return !slices.ContainsFunc(pools.Items, func(p core.InstancePoolSummary) bool {
		return strings.HasSuffix(string(p.LifecycleState), "ING") && p.LifecycleState != core.InstancePoolSummaryLifecycleStateRunning
	})
}

// everyOther commit has what is worth a kill: those between differ in an instance or two.
const everyOther = 2

// TestKilled kills the region after many of its commits while an operation is carried out. Whatever the
// client had been told is done by the region that goes on; the rest is done or has never happened.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, operation := range map[string]func(t *testing.T, r *region) func(){
		"create a cluster network": func(t *testing.T, r *region) func() {
			return func() { r.createNetwork(t, 3) }
		},
		"create a pool": func(t *testing.T, r *region) func() {
			return func() { r.createPool(t, 2) }
		},
		"grow a cluster network": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 1)
			return func() { _, err := r.updateNetwork(t, n, 4, nil); must(t, err) }
		},
		"shrink a cluster network": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 4)
			return func() { _, err := r.updateNetwork(t, n, 1, nil); must(t, err) }
		},
		"terminate a cluster network": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 3)
			return func() { r.endNetwork(t, n.Id) }
		},
		"terminate a cluster network that is being made": func(t *testing.T, r *region) func() {
			n := r.createNetwork(t, 4)
			return func() { r.endNetwork(t, n.Id) }
		},
		"detach": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 3)
			m := r.networkInstances(t, n.Id)[0]
			return func() { r.detach(t, n.InstancePools[0].Id, m.Id, common.Bool(true), common.Bool(false)) }
		},
		"replace": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 3)
			m := r.networkInstances(t, n.Id)[0]
			return func() { r.detach(t, n.InstancePools[0].Id, m.Id, common.Bool(false), common.Bool(true)) }
		},
		"terminate a member": func(t *testing.T, r *region) func() {
			n := r.runningNetwork(t, 2)
			m := r.networkInstances(t, n.Id)[0]
			return func() { r.endInstance(t, m.Id) }
		},
		"launch": func(t *testing.T, r *region) func() {
			return func() { r.launch(t, gpuDetails(nil)) }
		},
		"reset": func(t *testing.T, r *region) func() {
			i := r.launch(t, gpuDetails(nil))
			r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
			return func() {
				_, err := r.compute.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: i.Id, Action: core.InstanceActionActionReset})
				must(t, err)
			}
		},
		"stop a pool": func(t *testing.T, r *region) func() {
			p := r.awaitPool(t, r.createPool(t, 2).Id, core.InstancePoolLifecycleStateRunning)
			return func() {
				_, err := r.management.StopInstancePool(t.Context(), core.StopInstancePoolRequest{InstancePoolId: p.Id})
				must(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killEverywhere(t, operation)
		})
	}
}

func killEverywhere(t *testing.T, operation func(t *testing.T, r *region) func()) {
	path := filepath.Join(t.TempDir(), "region.db")
	r := kept(t, path, nil)
	act := operation(t, r)
	var taken commits
	ocisim.WatchCommits(path, taken.take)
	act()
	answered := len(taken.all()) // The last of these has what the client was told.
	want := r.summary(t)
	texts := taken.all()
	t.Logf("%d commits, %d of them before the answer; it came to %s", len(texts), answered, want)
	if answered == 0 {
		t.Fatal("the answer was given before anything was written")
	}
	for n := answered - 1; n < len(texts); n += everyOther {
		t.Run(fmt.Sprint("commit ", n), func(t *testing.T) {
			t.Parallel()
			again := filepath.Join(t.TempDir(), "region.db")
			must(t, os.WriteFile(again, texts[n], 0o600))
			hosts := newRecorder()
			r := kept(t, again, func(c *ocisim.Config) { c.Hosts, c.Scenario = hosts, ocisim.Scenario{} })
			wantEqual(t, "what it came to", r.summary(t), want)
			must(t, r.HostsRestored(t.Context()))
			wantEqual(t, "hosts", len(hosts.running()), r.count(t, core.InstanceLifecycleStateRunning))
		})
	}
}

func (r *region) count(t *testing.T, state core.InstanceLifecycleStateEnum) int {
	t.Helper()
	list, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{CompartmentId: common.String(compartmentID), LifecycleState: state, Limit: common.Int(1000)})
	must(t, err)
	return len(list.Items)
}

func (r *region) runningNetwork(t *testing.T, size int) core.ClusterNetwork {
	t.Helper()
	return r.awaitNetwork(t, r.createNetwork(t, size).Id, core.ClusterNetworkLifecycleStateRunning)
}

func (r *region) endNetwork(t *testing.T, id *string) {
	t.Helper()
	_, err := r.management.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: id})
	must(t, err)
}

func (r *region) endInstance(t *testing.T, id *string) {
	t.Helper()
	_, err := r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: id})
	must(t, err)
}

// TestGoesOn has what a region remembers besides its resources.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "region.db")
	r := kept(t, path, func(c *ocisim.Config) { c.Shortage = ocisim.ShortageRunsShort })
	info, err := os.Stat(path)
	must(t, err)
	wantEqual(t, "mode of the database", info.Mode().Perm(), os.FileMode(0o600))
	first, err := r.createConfiguration(t, "a", common.String("token"))
	must(t, err)
	r.SetCapacity(gpuShape, 2)
	n := r.runningNetwork(t, 2)
	_, err = r.updateNetwork(t, n, 3, nil)
	must(t, err)
	r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateRunning)
	w := r.workRequest(t, n.InstancePools[0].Id, "LaunchInstancesInPool")
	faults, logs := r.complaints(t, w.Id)
	etag := *r.getNetwork(t, n.Id).Etag
	before := r.Clock()
	_, err = ocisim.New(ocisim.Config{Region: regionName, TenancyID: tenancyID, CompartmentID: compartmentID,
		AvailabilityDomains: []string{domain}, Store: path})
	if err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("a database in use gives %v", err)
	}
	must(t, r.Close())

	r = kept(t, path, func(c *ocisim.Config) { c.Scenario = ocisim.Scenario{} })
	again, err := r.createConfiguration(t, "a", common.String("token"))
	must(t, err)
	wantEqual(t, "configuration of the retry token", *again.Id, *first.Id)
	wantEqual(t, "etag of the network", *r.getNetwork(t, n.Id).Etag, etag)
	free, capacity := r.FreeHosts(gpuShape)
	wantEqual(t, "capacity", capacity, 2)
	wantEqual(t, "free hosts", free, 0)
	faultsNow, logsNow := r.complaints(t, w.Id)
	wantEqual(t, "errors of the work request", strings.Join(faultsNow, "\n"), strings.Join(faults, "\n"))
	wantEqual(t, "logs of the work request", strings.Join(logsNow, "\n"), strings.Join(logs, "\n"))
	other, err := r.createConfiguration(t, "b", nil)
	must(t, err)
	for _, old := range r.networkInstances(t, n.Id) {
		if *old.Id == *other.Id || *first.Id == *other.Id {
			t.Errorf("OCID %s comes twice", *other.Id)
		}
	}
	if now := r.Clock(); now.Elapsed < before.Elapsed {
		t.Errorf("the clock went from %s back to %s", before.Elapsed, now.Elapsed)
	}
	must(t, r.Close())
	for name, c := range map[string]struct {
		adjust func(*ocisim.Config)
		text   string
	}{
		"another tenancy": {func(c *ocisim.Config) { c.TenancyID = "ocid1.tenancy.oc1..other" }, "tenancy"},
		"without a shape": {func(c *ocisim.Config) { c.Shapes, c.Scenario = []string{vmShape}, ocisim.Scenario{} }, gpuShape},
	} {
		config := regionConfig()
		config.Store = path
		c.adjust(&config)
		if s, err := ocisim.New(config); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				must(t, s.Close())
			}
		}
	}
}

// What is due ends when the clock is advanced, however many steps it takes.
func TestAdvance(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.TimeScale = 1 })
	created := r.createNetwork(t, 50)
	wantEqual(t, "instances", len(r.networkInstances(t, created.Id)), 0)
	must(t, r.Advance(time.Hour))
	n := r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 50)
	member := r.networkInstances(t, n.Id)[0].Id
	r.endNetwork(t, n.Id)
	wantEqual(t, "state", r.getNetwork(t, n.Id).LifecycleState, core.ClusterNetworkLifecycleStateTerminating)
	must(t, r.Advance(10*time.Minute))
	r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateTerminated)
	must(t, r.Advance(11*time.Hour))
	wantEqual(t, "state", r.getNetwork(t, n.Id).LifecycleState, core.ClusterNetworkLifecycleStateTerminated)
	must(t, r.Advance(time.Hour))
	_, err := r.management.GetClusterNetwork(t.Context(), core.GetClusterNetworkRequest{ClusterNetworkId: n.Id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	_, err = r.compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: member})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	if elapsed := r.Clock().Elapsed; elapsed < 13*time.Hour {
		t.Errorf("the clock shows %s", elapsed)
	}
	if r.Advance(-time.Hour) == nil {
		t.Error("the clock was set back")
	}
}

// What was due while nobody served the region ends promptly when somebody does.
func TestOverdue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "region.db")
	slow := func(c *ocisim.Config) { c.TimeScale = 1 }
	r := kept(t, path, slow)
	i := r.launch(t, gpuDetails(nil))
	must(t, r.Close())
	must(t, ocisim.SetBack(path, time.Hour))
	r = kept(t, path, slow)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
}

// What was on its way in a VCN ends, too.
func TestNetworksGoOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "region.db")
	still := func(c *ocisim.Config) { c.TimeScale = 0.001 } // nothing moves but by Advance
	r := kept(t, path, still)
	create := func(cidr string) *string {
		t.Helper()
		created, err := r.network.CreateVcn(t.Context(), core.CreateVcnRequest{CreateVcnDetails: core.CreateVcnDetails{
			CompartmentId: common.String(compartmentID), CidrBlocks: []string{cidr}}})
		must(t, err)
		return created.Id
	}
	becomes := func(id *string, state core.VcnLifecycleStateEnum) {
		t.Helper()
		eventually(t, "the VCN is "+string(state), func() bool { return r.getVCN(t, id).LifecycleState == state })
	}
	going := create("172.16.0.0/16")
	must(t, r.Advance(time.Minute))
	becomes(going, core.VcnLifecycleStateAvailable)
	_, err := r.network.DeleteVcn(t.Context(), core.DeleteVcnRequest{VcnId: going})
	must(t, err)
	coming := create("172.17.0.0/16")
	must(t, r.Close())

	r = kept(t, path, still)
	becomes(going, core.VcnLifecycleStateTerminating)
	becomes(coming, core.VcnLifecycleStateProvisioning)
	must(t, r.Advance(time.Minute))
	becomes(going, core.VcnLifecycleStateTerminated)
	becomes(coming, core.VcnLifecycleStateAvailable)
}

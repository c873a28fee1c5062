// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/identity"
	"github.com/oracle/oci-go-sdk/v65/limits"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

const (
	tenancyID     = "ocid1.tenancy.oc1..lab"
	userID        = "ocid1.user.oc1..lab"
	compartmentID = "ocid1.compartment.oc1..lab"
	regionName    = "us-lab-1"
	domain        = "Lab1:US-LAB-1-AD-1"
	imageID       = "ocid1.image.oc1.us-lab-1.gpu"
	subnetID      = "ocid1.subnet.oc1.us-lab-1.private"
	publicSubnet  = "ocid1.subnet.oc1.us-lab-1.public"
	gpuShape      = "BM.GPU4.8"
	vmShape       = "VM.Standard.E4.Flex"
)

func newKey() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
}

var (
	apiKey   = sync.OnceValue(newKey)
	otherKey = sync.OnceValue(newKey)
)

// region is a server with the real SDK's clients.
type region struct {
	*ocisim.Server
	url        string
	management core.ComputeManagementClient
	compute    core.ComputeClient
	network    core.VirtualNetworkClient
	identity   identity.IdentityClient
	work       workrequests.WorkRequestClient
	limits     limits.LimitsClient
	storage    core.BlockstorageClient
}

func regionConfig() ocisim.Config {
	return ocisim.Config{
		Region: regionName, TenancyID: tenancyID, CompartmentID: compartmentID,
		Users:               []ocisim.User{{ID: userID, Key: &apiKey().PublicKey}},
		AvailabilityDomains: []string{domain},
		VCN:                 ocisim.VCN{CIDR: netip.MustParsePrefix("10.0.0.0/16"), DisplayName: "lab", DNSLabel: "lab"},
		Subnets: []ocisim.Subnet{
			{ID: subnetID, CIDR: netip.MustParsePrefix("10.0.1.0/24"), DisplayName: "private", DNSLabel: "private"},
			{ID: publicSubnet, CIDR: netip.MustParsePrefix("10.0.0.0/29"), DisplayName: "public", DNSLabel: "public", Public: true,
				Reserved: []netip.Addr{netip.MustParseAddr("10.0.0.2")}},
		},
		Images: []ocisim.Image{{ID: imageID, DisplayName: "gpu", OperatingSystem: "Oracle Linux", OperatingSystemVersion: "8"}},
		Shapes: []string{gpuShape, vmShape}, TimeScale: 20000, Seed: 1,
	}
}

func newRegion(t testing.TB, adjust func(*ocisim.Config)) *region {
	t.Helper()
	c := regionConfig()
	if adjust != nil {
		adjust(&c)
	}
	c.OnRequest = serving(c.OnRequest)
	server, err := ocisim.New(c)
	must(t, err)
	front := httptest.NewServer(server)
	t.Cleanup(func() {
		front.Close()
		must(t, server.Close())
	})
	r := &region{Server: server, url: front.URL}
	r.connect(t, provider(t, apiKey()))
	return r
}

// apiUser signs as an API key's profile does, without parsing the key for every request.
type apiUser struct {
	common.ConfigurationProvider
	keyID string
	key   *rsa.PrivateKey
}

func (u apiUser) KeyID() (string, error)                  { return u.keyID, nil }
func (u apiUser) PrivateRSAKey() (*rsa.PrivateKey, error) { return u.key, nil }

// signer is the key of a user under a keyId, which may not be its own.
func signer(t testing.TB, keyID string, key *rsa.PrivateKey) common.ConfigurationProvider {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return apiUser{common.NewRawConfigurationProvider(tenancyID, userID, regionName, "fingerprint", string(text), nil), keyID, key}
}

// provider signs with a key in the name of the region's user, whose key is apiKey.
func provider(t testing.TB, key *rsa.PrivateKey) common.ConfigurationProvider {
	t.Helper()
	return signer(t, keyIDOf(t, userID, apiKey()), key)
}

func keyIDOf(t testing.TB, user string, key *rsa.PrivateKey) string {
	t.Helper()
	fingerprint, err := ocisim.Fingerprint(&key.PublicKey)
	must(t, err)
	return tenancyID + "/" + user + "/" + fingerprint
}

// connecting is held while clients are made: the SDK looks an unknown region up in globals without a lock.
var connecting sync.Mutex

func (r *region) connect(t testing.TB, p common.ConfigurationProvider) {
	t.Helper()
	connecting.Lock()
	defer connecting.Unlock()
	var err error
	r.management, err = core.NewComputeManagementClientWithConfigurationProvider(p)
	must(t, err)
	r.compute, err = core.NewComputeClientWithConfigurationProvider(p)
	must(t, err)
	r.network, err = core.NewVirtualNetworkClientWithConfigurationProvider(p)
	must(t, err)
	r.identity, err = identity.NewIdentityClientWithConfigurationProvider(p)
	must(t, err)
	r.work, err = workrequests.NewWorkRequestClientWithConfigurationProvider(p)
	must(t, err)
	r.limits, err = limits.NewLimitsClientWithConfigurationProvider(p)
	must(t, err)
	r.storage, err = core.NewBlockstorageClientWithConfigurationProvider(p)
	must(t, err)
	once := common.NoRetryPolicy()
	for _, b := range []*common.BaseClient{&r.management.BaseClient, &r.compute.BaseClient, &r.network.BaseClient, &r.identity.BaseClient, &r.work.BaseClient, &r.limits.BaseClient, &r.storage.BaseClient} {
		b.Host, b.Configuration.CircuitBreaker, b.Configuration.RetryPolicy = r.url, nil, &once
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks status, code and a part of the message.
func wantError(t testing.TB, err error, status int, code string) {
	t.Helper()
	var e common.ServiceError
	if !errors.As(err, &e) || e.GetHTTPStatusCode() != status || e.GetCode() != code {
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
}

func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// longestWait is for machines that are very busy.
const longestWait = 3 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(longestWait); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func launchDetails(shape string) core.InstanceConfigurationLaunchInstanceDetails {
	return core.InstanceConfigurationLaunchInstanceDetails{
		CompartmentId: common.String(compartmentID), Shape: common.String(shape),
		Metadata:      map[string]string{"ssh_authorized_keys": "ssh-ed25519 AAAA lab"},
		SourceDetails: core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: common.String(imageID)},
		PlatformConfig: core.InstanceConfigurationAmdRomeBmGpuLaunchInstancePlatformConfig{
			NumaNodesPerSocket: core.InstanceConfigurationAmdRomeBmGpuLaunchInstancePlatformConfigNumaNodesPerSocketNps4},
		AgentConfig: &core.InstanceConfigurationLaunchInstanceAgentConfigDetails{PluginsConfig: []core.InstanceAgentPluginConfigDetails{
			{Name: common.String("Bastion"), DesiredState: core.InstanceAgentPluginConfigDetailsDesiredStateEnabled}}},
	}
}

func (r *region) configure(t testing.TB, details core.InstanceConfigurationLaunchInstanceDetails) string {
	t.Helper()
	resp, err := r.management.CreateInstanceConfiguration(t.Context(), core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{
			CompartmentId: common.String(compartmentID), DisplayName: common.String("gpu"),
			InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: &details}}})
	must(t, err)
	return *resp.Id
}

func networkDetails(configuration string, size int) core.CreateClusterNetworkDetails {
	return core.CreateClusterNetworkDetails{
		CompartmentId: common.String(compartmentID), DisplayName: common.String("cluster"),
		InstancePools: []core.CreateClusterNetworkInstancePoolDetails{{
			InstanceConfigurationId: &configuration, Size: &size, DisplayName: common.String("Gpu")}},
		PlacementConfiguration: &core.ClusterNetworkPlacementConfigurationDetails{
			AvailabilityDomain: common.String(domain),
			PrimaryVnicSubnets: &core.InstancePoolPlacementPrimarySubnet{SubnetId: common.String(subnetID)}},
	}
}

func (r *region) createNetwork(t testing.TB, size int) core.CreateClusterNetworkResponse {
	t.Helper()
	resp, err := r.management.CreateClusterNetwork(t.Context(), core.CreateClusterNetworkRequest{
		CreateClusterNetworkDetails: networkDetails(r.configure(t, launchDetails(gpuShape)), size)})
	must(t, err)
	return resp
}

func (r *region) getNetwork(t testing.TB, id *string) core.GetClusterNetworkResponse {
	t.Helper()
	resp, err := r.management.GetClusterNetwork(t.Context(), core.GetClusterNetworkRequest{ClusterNetworkId: id})
	must(t, err)
	return resp
}

func (r *region) awaitNetwork(t testing.TB, id *string, state core.ClusterNetworkLifecycleStateEnum) core.ClusterNetwork {
	t.Helper()
	var n core.ClusterNetwork
	eventually(t, "cluster network is "+string(state), func() bool {
		n = r.getNetwork(t, id).ClusterNetwork
		return n.LifecycleState == state
	})
	return n
}

func (r *region) networkInstances(t testing.TB, id *string) []core.InstanceSummary {
	t.Helper()
	resp, err := r.management.ListClusterNetworkInstances(t.Context(), core.ListClusterNetworkInstancesRequest{
		ClusterNetworkId: id, CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	return resp.Items
}

func poolDetails(configuration string, size int) core.CreateInstancePoolDetails {
	return core.CreateInstancePoolDetails{
		CompartmentId: common.String(compartmentID), InstanceConfigurationId: &configuration, Size: &size, DisplayName: common.String("pool"),
		PlacementConfigurations: []core.CreateInstancePoolPlacementConfigurationDetails{{
			AvailabilityDomain: common.String(domain), PrimarySubnetId: common.String(subnetID)}},
	}
}

func (r *region) createPool(t testing.TB, size int) core.CreateInstancePoolResponse {
	t.Helper()
	resp, err := r.management.CreateInstancePool(t.Context(), core.CreateInstancePoolRequest{
		CreateInstancePoolDetails: poolDetails(r.configure(t, launchDetails(gpuShape)), size)})
	must(t, err)
	return resp
}

func (r *region) getPool(t testing.TB, id *string) core.GetInstancePoolResponse {
	t.Helper()
	resp, err := r.management.GetInstancePool(t.Context(), core.GetInstancePoolRequest{InstancePoolId: id})
	must(t, err)
	return resp
}

func (r *region) awaitPool(t testing.TB, id *string, state core.InstancePoolLifecycleStateEnum) core.InstancePool {
	t.Helper()
	var p core.InstancePool
	eventually(t, "pool is "+string(state), func() bool {
		p = r.getPool(t, id).InstancePool
		return p.LifecycleState == state
	})
	return p
}

func (r *region) poolInstances(t testing.TB, id *string) []core.InstanceSummary {
	t.Helper()
	resp, err := r.management.ListInstancePoolInstances(t.Context(), core.ListInstancePoolInstancesRequest{
		InstancePoolId: id, CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	return resp.Items
}

func (r *region) getInstance(t testing.TB, id *string) core.GetInstanceResponse {
	t.Helper()
	resp, err := r.compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: id})
	must(t, err)
	return resp
}

func (r *region) awaitInstance(t testing.TB, id *string, state core.InstanceLifecycleStateEnum) {
	t.Helper()
	eventually(t, "instance is "+string(state), func() bool { return r.getInstance(t, id).LifecycleState == state })
}

// workRequest finds the newest work request of a resource by its operation.
func (r *region) workRequest(t testing.TB, resource *string, operation string) *workrequests.WorkRequest {
	t.Helper()
	list, err := r.work.ListWorkRequests(t.Context(), workrequests.ListWorkRequestsRequest{
		CompartmentId: common.String(compartmentID), ResourceId: resource})
	must(t, err)
	for _, w := range list.Items {
		if *w.OperationType == operation {
			resp, err := r.work.GetWorkRequest(t.Context(), workrequests.GetWorkRequestRequest{WorkRequestId: w.Id})
			must(t, err)
			return &resp.WorkRequest
		}
	}
	return nil
}

// complaints are the texts of a work request's errors and logs.
func (r *region) complaints(t testing.TB, id *string) (faults, logs []string) {
	t.Helper()
	e, err := r.work.ListWorkRequestErrors(t.Context(), workrequests.ListWorkRequestErrorsRequest{WorkRequestId: id})
	must(t, err)
	for _, item := range e.Items {
		faults = append(faults, *item.Message)
	}
	l, err := r.work.ListWorkRequestLogs(t.Context(), workrequests.ListWorkRequestLogsRequest{WorkRequestId: id})
	must(t, err)
	for _, item := range l.Items {
		logs = append(logs, *item.Message)
	}
	return faults, logs
}

// recorder stands for the lab's hosts. Its gates make passing states stay for as long as a test needs.
type recorder struct {
	mu       sync.Mutex
	up       map[string]ocisim.Host
	seen     []ocisim.Host
	removed  []string // instances whose hosts lost all that they kept
	newDisks []string // instances whose hosts lost their disks
	refuse   func(ocisim.Host) error
	boots    chan struct{} // a boot waits for it, where it is not nil
	removals chan struct{} // so does a removal
}

func newRecorder() *recorder { return &recorder{up: map[string]ocisim.Host{}} }

// hold keeps boots or removals waiting until they are released.
func (h *recorder) hold(gate *chan struct{}) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan struct{})
	*gate = c
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		*gate = nil
		close(c)
	}
}

func pass(ctx context.Context, gate chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *recorder) Boot(ctx context.Context, host ocisim.Host) error {
	h.mu.Lock()
	h.seen = append(h.seen, host)
	gate, refuse := h.boots, h.refuse
	h.mu.Unlock()
	if err := pass(ctx, gate); err != nil {
		return err
	}
	if refuse != nil {
		if err := refuse(host); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up[host.InstanceID] = host
	return nil
}

func (h *recorder) Stop(ctx context.Context, id string) error { return h.end(ctx, id) }

func (h *recorder) RemoveDisk(ctx context.Context, id string) error {
	h.mu.Lock()
	h.newDisks = append(h.newDisks, id)
	h.mu.Unlock()
	return h.end(ctx, id)
}

func (h *recorder) Remove(ctx context.Context, id string) error {
	h.mu.Lock()
	h.removed = append(h.removed, id)
	h.mu.Unlock()
	return h.end(ctx, id)
}

func (h *recorder) end(ctx context.Context, id string) error {
	h.mu.Lock()
	gate := h.removals
	h.mu.Unlock()
	if err := pass(ctx, gate); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.up, id)
	return nil
}

func (h *recorder) running() []ocisim.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.up))
}

func (h *recorder) booted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}

func (h *recorder) lostDisks() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.newDisks, h.removed)
}

func (h *recorder) lostNVMe() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.removed)
}

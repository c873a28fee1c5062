// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// faulty is a region with faults.
func faulty(t *testing.T, faults ...ocisim.Fault) *region {
	t.Helper()
	return newRegion(t, func(c *ocisim.Config) { c.Faults = faults })
}

func (r *region) listConfigurations(ctx context.Context) error {
	_, err := r.management.ListInstanceConfigurations(ctx, core.ListInstanceConfigurationsRequest{CompartmentId: common.String(compartmentID)})
	return err
}

// TestFaultAnswers gets every effect that is an error of OCI's through the SDK, and none after it.
func TestFaultAnswers(t *testing.T) {
	t.Parallel()
	for effect, want := range map[ocisim.Effect]struct {
		status int
		code   string
	}{
		ocisim.EffectThrottle:       {429, "TooManyRequests"},
		ocisim.EffectOutOfCapacity:  {500, "InternalError"},
		ocisim.EffectInternalError:  {500, "InternalServerError"},
		ocisim.EffectUnavailable:    {503, "ServiceUnavailable"},
		ocisim.EffectLimitExceeded:  {400, "LimitExceeded"},
		ocisim.EffectQuotaExceeded:  {400, "QuotaExceeded"},
		ocisim.EffectNotFound:       {404, "NotAuthorizedOrNotFound"},
		ocisim.EffectIncorrectState: {409, "IncorrectState"},
		ocisim.EffectEtagMismatch:   {412, "NoEtagMatch"},
		ocisim.EffectNotAuthentic:   {401, "NotAuthenticated"},
		ocisim.EffectHTML:           {502, "BadErrorResponse"},
	} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			r := faulty(t, ocisim.Fault{Operation: "ListInstanceConfigurations", Times: 1, Effect: effect})
			err := r.listConfigurations(t.Context())
			wantError(t, err, want.status, want.code)
			if effect == ocisim.EffectOutOfCapacity && !strings.Contains(err.Error(), "Out of host capacity.") {
				t.Errorf("the message is not OCI's: %v", err)
			}
			must(t, r.listConfigurations(t.Context()))
			wantEqual(t, "faults", r.Stats().Faults["ListInstanceConfigurations"], 1)
		})
	}
}

func TestFaultError(t *testing.T) {
	t.Parallel()
	r := faulty(t, ocisim.Fault{Error: &ocisim.FaultError{Status: 409, Code: "LockConflict", Message: "locked by nobody"}})
	err := r.listConfigurations(t.Context())
	wantError(t, err, 409, "LockConflict")
	if !strings.Contains(err.Error(), "locked by nobody") {
		t.Errorf("the message is lost: %v", err)
	}
}

// TestFaultTurns counts which of ten requests meet the fault.
func TestFaultTurns(t *testing.T) {
	t.Parallel()
	throttle := func(f ocisim.Fault) ocisim.Fault { f.Effect = ocisim.EffectThrottle; return f }
	for name, c := range map[string]struct {
		faults []ocisim.Fault
		want   string // x is a fault
	}{
		"always":           {[]ocisim.Fault{throttle(ocisim.Fault{})}, "xxxxxxxxxx"},
		"skip and times":   {[]ocisim.Fault{throttle(ocisim.Fault{Skip: 2, Times: 3})}, "..xxx....."},
		"every third":      {[]ocisim.Fault{throttle(ocisim.Fault{Every: 3})}, "x..x..x..x"},
		"every, from skip": {[]ocisim.Fault{throttle(ocisim.Fault{Skip: 1, Every: 4, Times: 2})}, ".x...x...."},
		"pattern":          {[]ocisim.Fault{throttle(ocisim.Fault{Operation: "List*"})}, "xxxxxxxxxx"},
		"another":          {[]ocisim.Fault{throttle(ocisim.Fault{Operation: "Get*"})}, ".........."},
		"matching":         {[]ocisim.Fault{throttle(ocisim.Fault{Matching: compartmentID})}, "xxxxxxxxxx"},
		"not matching":     {[]ocisim.Fault{throttle(ocisim.Fault{Matching: "ocid1.instance."})}, ".........."},
		"one by one": {[]ocisim.Fault{throttle(ocisim.Fault{Times: 1}), throttle(ocisim.Fault{Skip: 3, Times: 1}),
			throttle(ocisim.Fault{Operation: "Get*"})}, "x...x....."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faulty(t, c.faults...)
			var got strings.Builder
			for range len(c.want) {
				if r.listConfigurations(t.Context()) != nil {
					got.WriteByte('x')
				} else {
					got.WriteByte('.')
				}
			}
			wantEqual(t, "faults", got.String(), c.want)
		})
	}
}

// TestFaultProbability wants the same chance from the same seed, and another one from another.
func TestFaultProbability(t *testing.T) {
	t.Parallel()
	met := func(seed uint64) (pattern string) {
		r := faulty(t, ocisim.Fault{Probability: 0.5, Seed: seed, Effect: ocisim.EffectThrottle})
		for range 40 {
			if r.listConfigurations(t.Context()) != nil {
				pattern += "x"
			} else {
				pattern += "."
			}
		}
		return pattern
	}
	one := met(1)
	wantEqual(t, "with the same seed", met(1), one)
	if one == met(2) || strings.Count(one, "x") < 8 || strings.Count(one, "x") > 32 {
		t.Errorf("half of forty is %s", one)
	}
}

// impatient asks for a list, and gives up when the region has met the fault. It is no SDK client: the
// SDK's retries race with the end of their context.
func (r *region) impatient(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := r.rawRequest(t, http.MethodGet, "/20160918/instanceConfigurations?compartmentId="+compartmentID, "", nil)
	must(t, common.DefaultRequestSigner(provider(t, apiKey())).Sign(q))
	done := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(q.WithContext(ctx))
		if err == nil {
			err = resp.Body.Close()
		}
		done <- err
	}()
	eventually(t, "the request meets the fault", func() bool { return r.Stats().Faults["ListInstanceConfigurations"] == 1 })
	select {
	case err := <-done:
		return fmt.Errorf("answered: %w", err)
	default:
	}
	cancel()
	return <-done
}

// TestFaultDelay holds the answer back until the test has seen that it does not come.
func TestFaultDelay(t *testing.T) {
	t.Parallel()
	r := faulty(t, ocisim.Fault{Delay: time.Hour, Times: 1})
	if err := r.impatient(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, r.listConfigurations(t.Context()))
}

func TestFaultHang(t *testing.T) {
	t.Parallel()
	r := faulty(t, ocisim.Fault{Effect: ocisim.EffectHang})
	if err := r.impatient(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// The region's end sets the others free.
	done := make(chan error, 1)
	go func() { done <- r.listConfigurations(t.Context()) }()
	eventually(t, "the request hangs", func() bool { return r.Stats().Operations["ListInstanceConfigurations"] == 2 })
	must(t, r.Close())
	if err := <-done; err == nil {
		t.Error("a hanging request was answered")
	}
}

// TestFaultReset loses a request, and another one's answer: only the second one has made something.
func TestFaultReset(t *testing.T) {
	t.Parallel()
	r := faulty(t, ocisim.Fault{Operation: "CreateInstanceConfiguration", Times: 1, Effect: ocisim.EffectResetBefore},
		ocisim.Fault{Operation: "CreateInstanceConfiguration", Times: 1, Effect: ocisim.EffectResetAfter})
	for made := range 2 {
		_, err := r.createConfiguration(t, "a", common.String("token"))
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Fatalf("got %v, want a reset", err)
		}
		wantEqual(t, "configurations", r.Stats().InstanceConfigurations, made)
	}
	_, err := r.createConfiguration(t, "a", common.String("token")) // The same token gets the lost answer.
	must(t, err)
	wantEqual(t, "configurations", r.Stats().InstanceConfigurations, 1)
}

func TestNodeFaults(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts = hosts
		c.Nodes = []ocisim.NodeFault{
			{Shape: gpuShape, Effect: ocisim.NodeNoSSH},
			{Name: "vm*", Skip: 1, Times: 1, Effect: ocisim.NodeBootFails},
			{Name: "vm*", Effect: ocisim.NodeCloudInitFails},
		}
	})
	d := vmDetails()
	d.DisplayName = common.String("vm-a")
	first := r.launch(t, d)
	r.awaitInstance(t, first.Id, core.InstanceLifecycleStateRunning)
	second := r.launch(t, d)
	r.awaitInstance(t, second.Id, core.InstanceLifecycleStateTerminated)
	faults, _ := r.complaints(t, second.OpcWorkRequestId)
	if len(faults) != 1 || !strings.Contains(faults[0], "did not boot") {
		t.Errorf("the work request says %v", faults)
	}
	d.DisplayName, d.Shape = common.String("gpu"), common.String(gpuShape)
	d.ShapeConfig, d.PlatformConfig = nil, nil
	r.awaitInstance(t, r.launch(t, d).Id, core.InstanceLifecycleStateRunning)
	effects := map[string]ocisim.NodeEffect{}
	for _, h := range hosts.running() {
		effects[h.DisplayName] = h.Effect
	}
	wantEqual(t, "the VM's fault", effects["vm-a"], ocisim.NodeCloudInitFails)
	wantEqual(t, "the GPU host's fault", effects["gpu"], ocisim.NodeNoSSH)
}

// TestRequestRecords reads the log of a known, an unknown, a failing and a lost request.
func TestRequestRecords(t *testing.T) {
	t.Parallel()
	var lock sync.Mutex
	var records []ocisim.RequestRecord
	r := newRegion(t, func(c *ocisim.Config) {
		c.Faults = []ocisim.Fault{{Operation: "GetInstance", Effect: ocisim.EffectResetBefore}}
		c.OnRequest = func(rec ocisim.RequestRecord) {
			lock.Lock()
			defer lock.Unlock()
			records = append(records, rec)
		}
	})
	must(t, r.listConfigurations(t.Context()))
	_, _ = r.management.TerminationProceedInstancePoolInstance(t.Context(), core.TerminationProceedInstancePoolInstanceRequest{
		InstancePoolId: common.String("ocid1.instancepool.oc1..x"),
		TerminationProceedInstancePoolInstanceDetails: core.TerminationProceedInstancePoolInstanceDetails{InstanceId: common.String("ocid1.instance.oc1..x")}})
	_, _ = r.compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: common.String("ocid1.instance.oc1..x")})
	_, _ = do(t, r.rawRequest(t, http.MethodGet, "/20160918/vcns", "", nil))
	lock.Lock()
	defer lock.Unlock()
	for i, want := range []ocisim.RequestRecord{
		{Operation: "ListInstanceConfigurations", Method: "GET", Status: 200},
		{Operation: "", Method: "POST", Status: 501, Code: "MethodNotImplemented"},
		{Operation: "GetInstance", Method: "GET", Status: 0, Fault: "reset-before"},
		{Operation: "ListVcns", Method: "GET", Status: 401, Code: "NotAuthenticated"},
	} {
		got := records[i]
		wantEqual(t, "operation", got.Operation, want.Operation)
		wantEqual(t, "method", got.Method, want.Method)
		wantEqual(t, "status", got.Status, want.Status)
		wantEqual(t, "code", got.Code, want.Code)
		wantEqual(t, "fault", got.Fault, want.Fault)
		if got.Time.IsZero() || !strings.HasPrefix(got.Path, "/20160918/") || got.RequestID == "" || got.UserAgent == "" || got.Milliseconds <= 0 || got.Host == "" {
			t.Errorf("the record is %+v", got)
		}
	}
	wantEqual(t, "records", len(records), 4)
	wantEqual(t, "operations", r.Stats().Operations["ListInstanceConfigurations"], 1)
}

// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// TestNodeFaults sees a host without sshd and one whose cloud-init fails; a third one is sound.
func TestNodeFaults(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Scenario: ocisim.Scenario{Nodes: []ocisim.NodeFault{
		{Times: 1, Effect: ocisim.NodeNoSSH}, {Skip: 0, Times: 1, Effect: ocisim.NodeCloudInitFails},
	}}})
	_, instances := cluster(t, l.Info, 3, "#cloud-config\n{}\n")
	silent, failed, sound := 0, 0, 0
	for _, i := range instances {
		status, err := l.Exec(t.Context(), *i.Id, "cloud-init", "status", "--wait", "--long")
		_, noSSH := l.Exec(t.Context(), *i.Id, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/22")
		switch {
		case noSSH != nil:
			silent++
		case err != nil && strings.Contains(string(status), "status: error"):
			failed++
		case err == nil:
			sound++
		default:
			t.Errorf("%s: %v: %s", *i.DisplayName, err, status)
		}
	}
	if silent != 1 || failed != 1 || sound != 1 {
		t.Errorf("%d without ssh, %d with a failed cloud-init, %d sound; want one of each", silent, failed, sound)
	}
}

// TestScenario changes what goes wrong in a running lab, and finds it in status and log.
func TestScenario(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Hosts: lab.HostsNone, Capacity: map[string]int{"BM.GPU4.8": 0}, Scenario: ocisim.Scenario{
		Faults: []ocisim.Fault{{Operation: "ListInstanceConfigurations", Effect: ocisim.EffectThrottle}},
	}})
	client := management(t, l.Info)
	once := common.NoRetryPolicy()
	list := func() error {
		_, err := client.ListInstanceConfigurations(t.Context(), core.ListInstanceConfigurationsRequest{
			CompartmentId: &l.Info.CompartmentID, RequestMetadata: common.RequestMetadata{RetryPolicy: &once}})
		return err
	}
	var refused common.ServiceError
	if err := list(); !errors.As(err, &refused) || refused.GetHTTPStatusCode() != 429 {
		t.Errorf("with the first scenario: %v", err)
	}
	if err := l.SetScenario(t.Context(), ocisim.Scenario{Faults: []ocisim.Fault{{Effect: "x"}}}); err == nil || !strings.Contains(err.Error(), "faults[0]: effect") {
		t.Errorf("a bad scenario: %v", err)
	}
	if err := l.SetScenario(t.Context(), ocisim.Scenario{}); err != nil {
		t.Fatal(err)
	}
	if err := list(); err != nil {
		t.Errorf("without a scenario: %v", err)
	}
	status, err := l.Status(t.Context())
	if err != nil || status.Faults["ListInstanceConfigurations"] != 1 || status.Operations["ListInstanceConfigurations"] != 2 {
		t.Errorf("status %+v, %v", status, err)
	}
	var codes []string
	for record, err := range lab.Requests(t.Context(), l.Info.Dir, false) {
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, record.Operation+" "+record.Code+" "+record.Fault)
	}
	if got := strings.Join(codes, ", "); got != "ListInstanceConfigurations TooManyRequests throttle, ListInstanceConfigurations  " {
		t.Errorf("the log has %s", got)
	}
	if info, err := os.Stat(filepath.Join(l.Info.Dir, "requests.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log's mode: %v, %v", info, err)
	}
	text, err := os.ReadFile(filepath.Join(l.Info.Dir, "requests.log"))
	if err != nil || strings.Contains(string(text), "Signature") {
		t.Errorf("the log has signatures, or is not there: %v", err)
	}
}

// TestRequestsFollow gets what is written after the reader has begun, be it by another lab in the place of
// the first.
func TestRequestsFollow(t *testing.T) {
	t.Parallel()
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Hosts: lab.HostsNone, Fresh: true}
	l := start(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan string)
	go func() {
		defer close(seen)
		for record, err := range lab.Requests(ctx, l.Info.Dir, true) {
			if err != nil {
				t.Error(err)
			}
			seen <- record.Path
		}
	}()
	for _, path := range []string{"/one", "/two", "/anew"} {
		if path == "/anew" {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = start(t, cfg)
		}
		resp, err := http.Get(l.Info.Endpoint + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := <-seen; got != path {
			t.Errorf("got %s, want %s", got, path)
		}
	}
	cancel()
	if got, more := <-seen; more {
		t.Errorf("got %s after the end", got)
	}
	for _, err := range lab.Requests(t.Context(), t.TempDir(), false) {
		if !errors.Is(err, lab.ErrNotRunning) {
			t.Errorf("without a lab: %v", err)
		}
	}
}

// trusting is a client that trusts the lab's CA alone, and uses the lab's proxy.
func trusting(t *testing.T, info lab.Info) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(info.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		Proxy: func(q *http.Request) (*url.URL, error) {
			if q.URL.Hostname() == "127.0.0.1" {
				return nil, nil
			}
			return url.Parse(info.Endpoint)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestProxy reaches the region by the names of OCI's endpoints, and nothing else.
func TestProxy(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Hosts: lab.HostsNone})
	client := trusting(t, l.Info)
	for _, host := range []string{"iaas.us-lab-1.oraclecloud.com", "identity.us-lab-1.oci.oraclecloud.com", "IAAS.ap-tokyo-1.oraclecloud.com",
		strings.TrimPrefix(l.Info.HTTPSEndpoint, "https://")} {
		for range 2 { // The second one takes the certificate that was issued.
			resp, err := client.Get("https://" + host + "/20160918/vcns")
			if err != nil {
				t.Fatalf("%s: %v", host, err)
			}
			_ = resp.Body.Close()
			client.CloseIdleConnections()
			if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Opc-Request-Id") == "" {
				t.Errorf("%s: %s", host, resp.Status)
			}
		}
	}
	for _, host := range []string{"registry.terraform.io", "oraclecloud.com.example.org", "oraclecloud.com"} {
		_, err := client.Get("https://" + host + "/")
		if err == nil || !strings.Contains(err.Error(), "not "+host+":443; add "+host+" to NO_PROXY") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestCAConstraints: the lab's CA vouches for no other names, whoever gets its key.
func TestCAConstraints(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Hosts: lab.HostsNone})
	text, err := os.ReadFile(l.Info.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "PRIVATE") {
		t.Error("the CA's key is in its file")
	}
	err = filepath.WalkDir(l.Info.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) == ".pem" && !strings.HasSuffix(path, "ca.pem") && !strings.HasSuffix(path, "api_key.pem") {
			t.Errorf("%s is new here; is it the CA's key?", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode(text)
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ca.PermittedDNSDomains, ","); got != "localhost,oraclecloud.com" || !ca.PermittedDNSDomainsCritical || len(ca.PermittedIPRanges) != 2 {
		t.Errorf("the CA may vouch for %s, %v", got, ca.PermittedIPRanges)
	}
}

// TestProxySDK runs the real SDK over its own endpoint names: nothing in it is pointed at the lab but
// the HTTP transport, as HTTPS_PROXY does.
func TestProxySDK(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Hosts: lab.HostsNone})
	client := management(t, l.Info)
	client.Host = "https://iaas.us-lab-1.oraclecloud.com"
	client.HTTPClient = trusting(t, l.Info)
	_, err := client.ListInstanceConfigurations(t.Context(), core.ListInstanceConfigurationsRequest{CompartmentId: &l.Info.CompartmentID})
	if err != nil {
		t.Error(err)
	}
}

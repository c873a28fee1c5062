// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"
)

func testServer(t testing.TB) *Server {
	t.Helper()
	s, err := New(Config{
		Region: "us-lab-1", TenancyID: "ocid1.tenancy.oc1..t", CompartmentID: "ocid1.compartment.oc1..c", AvailabilityDomains: []string{"AD-1"}, TimeScale: 1e9, Seed: 1,
		Subnets: []Subnet{{ID: "ocid1.subnet.oc1..s", CIDR: netip.MustParsePrefix("10.0.0.0/24")}}, Images: []Image{{ID: "ocid1.image.oc1..i"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// FuzzSignature: no header but a true signature is ever accepted, and none makes the verifier panic.
func FuzzSignature(f *testing.F) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		f.Fatal(err)
	}
	ring := keyring{"t/u/f": {ID: "u", Key: &key.PublicKey}}
	f.Add(`Signature version="1",headers="date (request-target) host",keyId="t/u/f",algorithm="rsa-sha256",signature="AAAA"`)
	f.Add(`Signature headers="",keyId="t/u/f"`)
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		r.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		if _, err := ring.verify(r, nil, time.Now()); err == nil {
			t.Fatalf("%q was accepted", header)
		}
	})
}

// FuzzBodies: whatever a body says, a create answers or refuses in OCI's terms.
func FuzzBodies(f *testing.F) {
	f.Add(`{"compartmentId":"ocid1.compartment.oc1..c","instanceDetails":{"instanceType":"compute","launchDetails":{"shape":"BM.GPU4.8","sourceDetails":{"sourceType":"image","imageId":"ocid1.image.oc1..i"}}}}`)
	f.Add(`{"compartmentId":"ocid1.compartment.oc1..c","availabilityDomain":"AD-1","shape":"VM.Standard.E4.Flex","shapeConfig":{},"createVnicDetails":{"subnetId":"ocid1.subnet.oc1..s"},"sourceDetails":{"sourceType":"image","imageId":"ocid1.image.oc1..i"}}`)
	f.Add(`{"compartmentId":"ocid1.compartment.oc1..c","instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","size":1,"placementConfigurations":[{"availabilityDomain":"AD-1","primarySubnetId":"ocid1.subnet.oc1..s"}]}`)
	f.Add(`{"compartmentId":"ocid1.compartment.oc1..c","instancePools":[{"instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","size":-1}],"placementConfiguration":{"availabilityDomain":"AD-1"}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		s := testServer(t)
		for _, create := range []func(*Server, *request) (response, error){
			(*Server).createConfiguration, (*Server).launchInstance, (*Server).createPool, (*Server).createNetwork,
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			q := &request{Request: r, body: []byte(body), query: url.Values{}, sees: func(id string) bool { return id == s.cfg.CompartmentID || id == s.cfg.TenancyID }}
			err := func() error {
				s.mu.Lock()
				defer s.mu.Unlock() // also when it panics: the region must be closed
				_, err := create(s, q)
				return err
			}()
			if e := (*apiError)(nil); err != nil && !errors.As(err, &e) {
				t.Fatalf("%q gives %v, which is no error of OCI's", body, err)
			}
		}
	})
}

// Terminated instances stay readable for a while, and only for a while.
func TestForget(t *testing.T) {
	t.Parallel()
	s := testServer(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	q := &request{Request: r, sees: everyone, body: []byte(`{"compartmentId":"ocid1.compartment.oc1..c","availabilityDomain":"AD-1","shape":"VM.Standard.E4.Flex",
		"createVnicDetails":{"subnetId":"ocid1.subnet.oc1..s"},"sourceDetails":{"sourceType":"image","imageId":"ocid1.image.oc1..i"}}`)}
	func() {
		s.mu.Lock()
		defer s.mu.Unlock() // whatever ends the test
		s.store.keepAtLeast = 0
		resp, err := s.launchInstance(q)
		if err != nil {
			t.Fatal(err)
		}
		s.terminate(s.store.instances.get(resp.created), s.clock.present(), nil)
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		left := len(s.store.instances.all()) + len(s.store.vnics.all())
		s.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the terminated instance was never forgotten")
		}
	}
}

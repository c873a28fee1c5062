// SPDX-License-Identifier: MPL-2.0

// Package acctest is what acceptance tests share: a simulated region with credentials for it, and the
// real Terraform with the real provider.
package acctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// OCIDs and names of the simulated region.
const (
	RegionName         = "us-lab-1"
	TenancyID          = "ocid1.tenancy.oc1..lab"
	UserID             = "ocid1.user.oc1..lab"
	CompartmentID      = "ocid1.compartment.oc1..lab"
	AvailabilityDomain = "Lab1:US-LAB-1-AD-1"
	SubnetID           = "ocid1.subnet.oc1.us-lab-1.lab"
	ImageID            = "ocid1.image.oc1.us-lab-1.first"
	OtherImageID       = "ocid1.image.oc1.us-lab-1.second"
	// Shape has RDMA and GPUs.
	Shape = "BM.GPU4.8"
)

// Region is a simulated OCI region without hosts.
type Region struct {
	*ocisim.Server
	// Endpoint is the region's address.
	Endpoint string
	front    *httptest.Server
}

// key is made once: it is the slowest part of a region.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // The system has no random numbers.
	}
	return k
})

// StartRegion starts a region that lives as long as the test. Adjust may change its configuration.
func StartRegion(t testing.TB, adjust func(*ocisim.Config)) *Region {
	t.Helper()
	region, err := NewRegion(adjust)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := region.Close(); err != nil {
			t.Error(err)
		}
	})
	return region
}

// NewRegion starts a region that lives until it is closed.
func NewRegion(adjust func(*ocisim.Config)) (*Region, error) {
	config := ocisim.Config{
		Region:              RegionName,
		TenancyID:           TenancyID,
		CompartmentID:       CompartmentID,
		Users:               []ocisim.User{{ID: UserID, Key: &key().PublicKey}},
		AvailabilityDomains: []string{AvailabilityDomain},
		VCN:                 ocisim.VCN{ID: "ocid1.vcn.oc1.us-lab-1.lab", CIDR: netip.MustParsePrefix("10.0.0.0/16"), DNSLabel: "lab"},
		Subnets:             []ocisim.Subnet{{ID: SubnetID, CIDR: netip.MustParsePrefix("10.0.0.0/18"), DNSLabel: "nodes"}},
		Images: []ocisim.Image{
			{ID: ImageID, DisplayName: "Oracle-Linux-8-GPU"}, {ID: OtherImageID, DisplayName: "Oracle-Linux-9-GPU"},
		},
		TimeScale: 5000,
	}
	if adjust != nil {
		adjust(&config)
	}
	server, err := ocisim.New(config)
	if err != nil {
		return nil, err
	}
	front := httptest.NewServer(server)
	return &Region{Server: server, Endpoint: front.URL, front: front}, nil
}

// Close ends the region.
func (r *Region) Close() error {
	r.front.Close()
	return r.Server.Close()
}

// Config gives what a client needs to talk to the region.
func (r *Region) Config() oci.Config {
	return oci.Config{
		TenancyOCID: TenancyID, UserOCID: UserID, Fingerprint: Fingerprint(), PrivateKey: KeyPEM(),
		Region: RegionName, Endpoint: r.Endpoint, Version: "test",
	}
}

// ProviderHCL gives the configuration of the provider for the region.
func (r *Region) ProviderHCL() string {
	return fmt.Sprintf(`
provider "ocihpc" {
  endpoint     = %q
  region       = %q
  tenancy_ocid = %q
  user_ocid    = %q
  fingerprint  = %q
  private_key  = <<-EOT
%s  EOT
}
`, r.Endpoint, RegionName, TenancyID, UserID, Fingerprint(), KeyPEM())
}

// KeyPEM is the API signing key of the region's user.
func KeyPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key())}))
}

// Fingerprint of the API signing key.
func Fingerprint() string {
	fingerprint, err := ocisim.Fingerprint(&key().PublicKey)
	if err != nil {
		panic(err) // RSA keys always encode.
	}
	return fingerprint
}

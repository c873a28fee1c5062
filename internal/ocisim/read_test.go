// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/identity"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestNetworkReads(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	vcns, err := r.network.ListVcns(t.Context(), core.ListVcnsRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	wantEqual(t, "VCNs", len(vcns.Items), 1)
	vcn, err := r.network.GetVcn(t.Context(), core.GetVcnRequest{VcnId: vcns.Items[0].Id})
	must(t, err)
	wantEqual(t, "CIDR", *vcn.CidrBlock, "10.0.0.0/16")
	subnets, err := r.network.ListSubnets(t.Context(), core.ListSubnetsRequest{CompartmentId: common.String(compartmentID), VcnId: vcn.Id, DisplayName: common.String("private")})
	must(t, err)
	wantEqual(t, "subnets", len(subnets.Items), 1)
	subnet, err := r.network.GetSubnet(t.Context(), core.GetSubnetRequest{SubnetId: subnets.Items[0].Id})
	must(t, err)
	wantEqual(t, "domain", *subnet.SubnetDomainName, "private.lab.oraclevcn.com")
	wantEqual(t, "router", *subnet.VirtualRouterIp, "10.0.1.1")
	wantEqual(t, "prohibits public addresses", *subnet.ProhibitPublicIpOnVnic, true)
	_, err = r.network.GetSubnet(t.Context(), core.GetSubnetRequest{SubnetId: vcn.Id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestImagesAndShapes(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	list := func(os string) []core.Image {
		resp, err := r.compute.ListImages(t.Context(), core.ListImagesRequest{CompartmentId: common.String(compartmentID), OperatingSystem: &os, Shape: common.String(gpuShape)})
		must(t, err)
		return resp.Items
	}
	wantEqual(t, "other images", len(list("Canonical Ubuntu")), 0)
	images := list("Oracle Linux")
	wantEqual(t, "images", len(images), 1)
	image, err := r.compute.GetImage(t.Context(), core.GetImageRequest{ImageId: images[0].Id})
	must(t, err)
	wantEqual(t, "state", image.LifecycleState, core.ImageLifecycleStateAvailable)

	shapes, err := r.compute.ListShapes(t.Context(), core.ListShapesRequest{CompartmentId: common.String(compartmentID), Shape: common.String(gpuShape)})
	must(t, err)
	wantEqual(t, "shapes", len(shapes.Items), 1)
	wantEqual(t, "GPUs", *shapes.Items[0].Gpus, 8)
	if *shapes.Items[0].RdmaPorts == 0 {
		t.Error("the shape has no RDMA ports")
	}
}

// Without a list of its own a region offers the whole catalog.
func TestAllShapes(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Shapes = nil })
	shapes, err := r.compute.ListShapes(t.Context(), core.ListShapesRequest{CompartmentId: common.String(compartmentID), Limit: common.Int(1000)})
	must(t, err)
	names := map[string]bool{}
	for _, s := range shapes.Items {
		names[*s.Shape] = true
	}
	for _, want := range []string{gpuShape, "BM.GPU.H100.8", vmShape} {
		if !names[want] {
			t.Errorf("%s is not offered", want)
		}
	}
}

func TestIdentityReads(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	domains, err := r.identity.ListAvailabilityDomains(t.Context(), identity.ListAvailabilityDomainsRequest{CompartmentId: common.String(tenancyID)})
	must(t, err)
	wantEqual(t, "availability domains", len(domains.Items), 1)
	wantEqual(t, "availability domain", *domains.Items[0].Name, domain)
	faults, err := r.identity.ListFaultDomains(t.Context(), identity.ListFaultDomainsRequest{CompartmentId: common.String(compartmentID), AvailabilityDomain: domains.Items[0].Name})
	must(t, err)
	wantEqual(t, "fault domains", len(faults.Items), 3)
	_, err = r.identity.ListFaultDomains(t.Context(), identity.ListFaultDomainsRequest{CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String("AD")})
	wantError(t, err, 400, "InvalidParameter")
	regions, err := r.identity.ListRegions(t.Context())
	must(t, err)
	wantEqual(t, "region", *regions.Items[0].Name, regionName)
	compartment, err := r.identity.GetCompartment(t.Context(), identity.GetCompartmentRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	wantEqual(t, "parent", *compartment.CompartmentId, tenancyID)
	_, err = r.identity.GetCompartment(t.Context(), identity.GetCompartmentRequest{CompartmentId: common.String("ocid1.compartment.oc1..other")})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := ocisim.Config{Region: regionName, TenancyID: tenancyID, CompartmentID: compartmentID, AvailabilityDomains: []string{domain}}
	for name, change := range map[string]func(*ocisim.Config){
		"region":     func(c *ocisim.Config) { c.Region = "" },
		"tenancy":    func(c *ocisim.Config) { c.TenancyID = "" },
		"domains":    func(c *ocisim.Config) { c.AvailabilityDomains = nil },
		"time scale": func(c *ocisim.Config) { c.TimeScale = -1 },
		"shortage":   func(c *ocisim.Config) { c.Shortage = "panics" },
		"subnet":     func(c *ocisim.Config) { c.Subnets = []ocisim.Subnet{{DisplayName: "x"}} },
		"user":       func(c *ocisim.Config) { c.Users = []ocisim.User{{ID: userID}} },
		"shape":      func(c *ocisim.Config) { c.Shapes = []string{"BM.Big"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := good
			change(&c)
			if s, err := ocisim.New(c); err == nil {
				must(t, s.Close())
				t.Fatal("the configuration was taken")
			}
		})
	}
	s, err := ocisim.New(good)
	must(t, err)
	must(t, s.Close())
}

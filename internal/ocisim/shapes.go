// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// offeredShape is a shape that the region has.
type offeredShape struct {
	core.Shape
	rdma bool // has ports for a cluster network
}

func (o *offeredShape) bareMetal() bool { return strings.HasPrefix(*o.Shape.Shape, "BM.") }

func (o *offeredShape) bootTime() time.Duration {
	if o.bareMetal() {
		return bootTimeBareMetal
	}
	return bootTimeVM
}

// flexibleShapes are VM shapes for hosts without GPUs, such as bastions: the most OCPUs and GB of memory.
// Source: docs.oracle.com, Compute Shapes.
var flexibleShapes = map[string]struct{ ocpus, memory float32 }{
	"VM.Standard.E4.Flex": {114, 1760},
	"VM.Standard.E5.Flex": {126, 1049},
	"VM.Standard3.Flex":   {56, 896},
}

// offer looks shapes up, all known ones where names is empty.
func offer(names []string) ([]offeredShape, error) {
	if len(names) == 0 {
		names = append(shape.Names(), "VM.Standard.E4.Flex", "VM.Standard.E5.Flex", "VM.Standard3.Flex")
	}
	var offered []offeredShape
	for _, name := range names {
		if flex, found := flexibleShapes[name]; found {
			offered = append(offered, offeredShape{Shape: flexibleShape(name, flex.ocpus, flex.memory)})
			continue
		}
		sh, found := shape.Lookup(name)
		if !found {
			return nil, fmt.Errorf("ocisim: shape %q of Config.Shapes is unknown", name)
		}
		offered = append(offered, offeredShape{fixedShape(sh), sh.IsRDMA()})
	}
	return offered, nil
}

func flexibleShape(name string, ocpus, memory float32) core.Shape {
	return core.Shape{
		Shape: &name, Ocpus: ptr[float32](1), MemoryInGBs: ptr[float32](16), IsFlexible: ptr(true), Gpus: ptr(0),
		LocalDisks: ptr(0), RdmaPorts: ptr(0), NetworkPorts: ptr(1), BillingType: core.ShapeBillingTypePaid,
		PlatformConfigOptions: platformOptions(flexiblePlatforms[name]), QuotaNames: quotaNames(name, 0), IsBilledForStoppedInstance: ptr(false),
		MaxVnicAttachments: ptr(2),
		OcpuOptions:        &core.ShapeOcpuOptions{Min: ptr[float32](1), Max: &ocpus},
		MemoryOptions: &core.ShapeMemoryOptions{MinInGBs: ptr[float32](1), MaxInGBs: &memory,
			DefaultPerOcpuInGBs: ptr[float32](16), MinPerOcpuInGBs: ptr[float32](1), MaxPerOcpuInGBs: ptr[float32](64)},
	}
}

func fixedShape(sh shape.Shape) core.Shape {
	c := core.Shape{
		Shape: &sh.Name, Ocpus: ptr(float32(sh.OCPUs.V)), MemoryInGBs: ptr(float32(sh.MemoryGB.V)), IsFlexible: ptr(false),
		Gpus: &sh.GPUs.V, LocalDisks: &sh.NVMeDevices.V, RdmaPorts: &sh.RDMAPorts.V, BillingType: core.ShapeBillingTypePaid,
		PlatformConfigOptions: platformOptions(core.ShapePlatformConfigOptionsTypeEnum(sh.Platform.V)), QuotaNames: quotaNames(sh.Name, sh.GPUs.V),
		IsBilledForStoppedInstance: ptr(sh.NVMeDevices.V > 0), MaxVnicAttachments: ptr(256),
	}
	if sh.GPUModel.V != "" {
		c.GpuDescription = &sh.GPUModel.V
	}
	if sh.VCNPorts.V > 0 {
		c.NetworkPorts, c.NetworkingBandwidthInGbps = &sh.VCNPorts.V, ptr(float32(sh.VCNPorts.V*sh.VCNGbpsPort.V))
	}
	if sh.RDMAPorts.V > 0 {
		c.RdmaBandwidthInGbps = ptr(sh.RDMAPorts.V * sh.RDMAGbpsPort.V)
	}
	return c
}

// shape gives an offered shape, or nil.
func (s *Server) shape(name string) *offeredShape {
	for i := range s.shapes {
		if *s.shapes[i].Shape.Shape == name {
			return &s.shapes[i]
		}
	}
	return nil
}

func (s *Server) listShapes(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	if ad := q.query.Get("availabilityDomain"); ad != "" {
		if err := s.checkAvailabilityDomain(&ad); err != nil {
			return response{}, err
		}
	}
	image := &image{}
	if id := q.query.Get("imageId"); id != "" {
		var err error
		if image, err = find(q.sees, s.store.images, id); err != nil {
			return response{}, err
		}
	}
	var rows []row
	for n, o := range s.shapes {
		if q.wants("shape", o.Shape.Shape) && image.boots(*o.Shape.Shape) {
			rows = append(rows, row{uint64(n), *o.Shape.Shape, o.Shape})
		}
	}
	return page(q, rows)
}

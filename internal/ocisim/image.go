// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// image is a platform image; it is readable from every compartment.
type image struct {
	core.Image
	record
	Shapes []string // that it can boot; empty means all
}

func (i *image) compartment() string { return *i.CompartmentId }
func (i *image) gone() bool          { return false }

// boots says whether instances of a shape can have the image.
func (i *image) boots(shape string) bool {
	return len(i.Shapes) == 0 || slices.Contains(i.Shapes, shape)
}

func checkCompatible(i *image, o *offeredShape) error {
	if i.boots(*o.Shape.Shape) {
		return nil
	}
	return &apiError{http.StatusBadRequest, "InvalidParameter", fmt.Sprintf("Shape %s is not valid for image %s.", *o.Shape.Shape, *i.Id)}
}

func (s *Server) addImages() {
	byAge := slices.Clone(s.cfg.Images)
	slices.SortStableFunc(byAge, func(a, b Image) int { return a.TimeCreated.Compare(b.TimeCreated) })
	for _, c := range byAge {
		i := &image{Shapes: c.Shapes, Image: core.Image{
			Id: s.given(c.ID, "image"), CompartmentId: &s.cfg.TenancyID, DisplayName: &c.DisplayName,
			OperatingSystem: &c.OperatingSystem, OperatingSystemVersion: &c.OperatingSystemVersion,
			LifecycleState: core.ImageLifecycleStateAvailable, CreateImageAllowed: ptr(true), TimeCreated: s.timestamp(),
			LaunchMode: core.ImageLaunchModeNative, ListingType: core.ImageListingTypeNone,
			SizeInMBs: ptr[int64](bootVolumeGB * 1024), BillableSizeInGBs: ptr[int64](bootVolumeGB / 2),
			AgentFeatures: &core.InstanceAgentFeatures{IsMonitoringSupported: ptr(true), IsManagementSupported: ptr(true)},
		}}
		if !c.TimeCreated.IsZero() {
			i.TimeCreated = &common.SDKTime{Time: c.TimeCreated}
		}
		i.FreeformTags, i.DefinedTags = tagged(nil, nil)
		s.store.images.add(*i.Id, i)
	}
}

func (s *Server) getImage(q *request) (response, error) {
	i, err := find(q.sees, s.store.images, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(i.Image)
}

func (s *Server) listImages(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	shape := q.query.Get("shape")
	if shape != "" && s.shape(shape) == nil {
		return response{}, invalid("shape", "%q is not offered", shape)
	}
	if _, err := q.enum("lifecycleState", core.GetImageLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, i := range s.listedImages() {
		if q.wants("displayName", i.DisplayName) && q.wants("operatingSystem", i.OperatingSystem) &&
			q.wants("operatingSystemVersion", i.OperatingSystemVersion) && q.wants("lifecycleState", ptr(string(i.LifecycleState))) &&
			(shape == "" || i.boots(shape)) {
			rows = append(rows, row{i.position, *i.DisplayName, &i.Image})
		}
	}
	return page(q, rows)
}

// listedVersions of each distribution are in the list of images. Older ones can be read and launched for as
// long as they exist. Source: the API's text on ListImages.
const listedVersions = 3

var imageDate = regexp.MustCompile(`-\d{4}\.\d{2}\.\d{2}-\d+$`)

// listedImages are in the order of their age, the oldest first.
func (s *Server) listedImages() []*image {
	var listed []*image
	versions := map[string]int{}
	for _, i := range slices.Backward(s.store.images.all()) {
		distribution := imageDate.ReplaceAllString(*i.DisplayName, "")
		if versions[distribution]++; versions[distribution] <= listedVersions {
			listed = append(listed, i)
		}
	}
	slices.Reverse(listed)
	return listed
}

func (s *Server) listImageShapes(q *request) (response, error) {
	i, err := find(q.sees, s.store.images, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	var rows []row
	for n, o := range s.shapes {
		if i.boots(*o.Shape.Shape) {
			rows = append(rows, row{at: uint64(n), item: core.ImageShapeCompatibilitySummary{ImageId: i.Id, Shape: o.Shape.Shape}})
		}
	}
	return page(q, rows)
}

func (s *Server) getImageShape(q *request) (response, error) {
	i, err := find(q.sees, s.store.images, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	o := s.shape(q.PathValue("shape"))
	if o == nil || !i.boots(*o.Shape.Shape) {
		return response{}, notFound()
	}
	return response{body: core.ImageShapeCompatibilityEntry{ImageId: i.Id, Shape: o.Shape.Shape}}, nil
}

// SPDX-License-Identifier: MPL-2.0

package ocisim

import "github.com/oracle/oci-go-sdk/v65/core"

// image is a platform image; it is readable from every compartment.
type image struct {
	core.Image
	record
}

func (i *image) compartment() string { return *i.CompartmentId }
func (i *image) gone() bool          { return false }

func (s *Server) addImages() {
	for _, c := range s.cfg.Images {
		i := &image{Image: core.Image{
			Id: s.given(c.ID, "image"), CompartmentId: &s.cfg.TenancyID, DisplayName: &c.DisplayName,
			OperatingSystem: &c.OperatingSystem, OperatingSystemVersion: &c.OperatingSystemVersion,
			LifecycleState: core.ImageLifecycleStateAvailable, CreateImageAllowed: ptr(true), TimeCreated: s.timestamp(),
			LaunchMode: core.ImageLaunchModeNative, ListingType: core.ImageListingTypeNone,
		}}
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
	if name := q.query.Get("shape"); name != "" && s.shape(name) == nil {
		return response{}, invalid("shape", "%q is not offered", name)
	}
	var rows []row
	for _, i := range s.store.images.all() {
		if q.wants("displayName", i.DisplayName) && q.wants("operatingSystem", i.OperatingSystem) &&
			q.wants("operatingSystemVersion", i.OperatingSystemVersion) && q.wants("lifecycleState", ptr(string(i.LifecycleState))) {
			rows = append(rows, row{i.position, *i.DisplayName, &i.Image})
		}
	}
	return page(q, rows)
}

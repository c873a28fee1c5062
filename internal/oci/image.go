// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// ImageSelector says which images suit. Empty fields suit all.
type ImageSelector struct {
	// CompartmentID whose images are looked at, beside Oracle's platform images.
	CompartmentID          string
	OperatingSystem        string // such as Oracle Linux
	OperatingSystemVersion string
	// DisplayNamePattern is a regular expression (RE2) that the name must contain a match of.
	DisplayNamePattern string
	// Shape that the image must be able to run on.
	Shape string
}

// Image that nodes can be launched from.
type Image struct {
	ID                     string
	DisplayName            string
	OperatingSystem        string
	OperatingSystemVersion string
	TimeCreated            time.Time
}

// NoImageError says that no image suits a selector.
type NoImageError struct {
	Selector ImageSelector
	// Others are the images that suit the rest of the selector, but not its pattern; newest first.
	Others []Image
}

// shownImages is how many names an error lists.
const shownImages = 10

func (e *NoImageError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "there is no available image %s", e.Selector)
	if len(e.Others) == 0 {
		text.WriteString(". Without a pattern for the name there is none either: check the operating system and its version, the shape, and the compartment")
		return text.String()
	}
	text.WriteString(". Of other names there are, newest first:")
	for _, image := range e.Others[:min(len(e.Others), shownImages)] {
		text.WriteString("\n  " + image.DisplayName)
	}
	if more := len(e.Others) - shownImages; more > 0 {
		fmt.Fprintf(&text, "\n  and %d more", more)
	}
	return text.String()
}

// String gives the selector in words.
func (s ImageSelector) String() string {
	parts := []string{"in compartment " + s.CompartmentID}
	if s.OperatingSystem+s.OperatingSystemVersion != "" {
		parts = append(parts, strings.TrimSpace("of "+s.OperatingSystem+" "+s.OperatingSystemVersion))
	}
	if s.Shape != "" {
		parts = append(parts, "for "+s.Shape)
	}
	if s.DisplayNamePattern != "" {
		parts = append(parts, fmt.Sprintf("whose name matches %q", s.DisplayNamePattern))
	}
	return strings.Join(parts, " ")
}

// FindImage gives the newest image that suits. It gives a [NoImageError] when there is none. OCI lists only
// the newest platform images: an image once found is to be remembered, not to be looked for again.
func (c *Clients) FindImage(ctx context.Context, selector ImageSelector) (Image, error) {
	pattern, err := regexp.Compile(selector.DisplayNamePattern)
	if err != nil {
		return Image{}, fmt.Errorf("the pattern of the image's name: %w", err)
	}
	images, err := c.images(ctx, selector)
	if err != nil {
		return Image{}, fmt.Errorf("list the images %s: %w", selector, err)
	}
	for _, image := range images {
		if pattern.MatchString(image.DisplayName) {
			return image, nil
		}
	}
	return Image{}, &NoImageError{Selector: selector, Others: images}
}

// ImageSuits says whether an image is of the kind that is selected, be there a newer one or not. Compartment
// and shape are not looked at: nodes were launched from it.
func (c *Clients) ImageSuits(ctx context.Context, id string, selector ImageSelector) (bool, error) {
	pattern, err := regexp.Compile(selector.DisplayNamePattern)
	if err != nil {
		return false, fmt.Errorf("the pattern of the image's name: %w", err)
	}
	image, err := read(ctx, c, c.Compute.GetImage, core.GetImageRequest{ImageId: &id})
	if KindOf(err) == NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the image %s: %w", id, err)
	}
	alike := func(wanted string, has *string) bool { return wanted == "" || wanted == value(has) }
	return alike(selector.OperatingSystem, image.OperatingSystem) && alike(selector.OperatingSystemVersion, image.OperatingSystemVersion) &&
		pattern.MatchString(value(image.DisplayName)), nil
}

// images that suit, whatever their name; newest first.
func (c *Clients) images(ctx context.Context, selector ImageSelector) ([]Image, error) {
	var images []Image
	for i, err := range pages(func(page *string) ([]core.Image, *string, error) {
		response, err := read(ctx, c, c.Compute.ListImages, core.ListImagesRequest{
			CompartmentId:          &selector.CompartmentID,
			OperatingSystem:        orNil(selector.OperatingSystem),
			OperatingSystemVersion: orNil(selector.OperatingSystemVersion),
			Shape:                  orNil(selector.Shape),
			LifecycleState:         core.ImageLifecycleStateAvailable,
			Limit:                  common.Int(pageSize),
			Page:                   page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return nil, err
		}
		images = append(images, Image{
			ID: value(i.Id), DisplayName: value(i.DisplayName), TimeCreated: value(i.TimeCreated).Time,
			OperatingSystem: value(i.OperatingSystem), OperatingSystemVersion: value(i.OperatingSystemVersion),
		})
	}
	slices.SortStableFunc(images, func(a, b Image) int { return b.TimeCreated.Compare(a.TimeCreated) })
	return images, nil
}

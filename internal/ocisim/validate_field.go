// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// maxLength is the longest text that the contract allows, in characters.
var maxLength = map[string]int{
	"displayName": 255, "hostnameLabel": 63, "availabilityDomain": 255, "compartmentId": 255, "shape": 255, "description": 255,
}

// patterns of texts that are no free ones.
var patterns = map[string]*regexp.Regexp{
	// RFC 1123, as hosts are named by it.
	"hostnameLabel": regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`),
	// "Must be an alphanumeric string that begins with a letter", at most 15 characters. Source: CreateVcnDetails.
	"dnsLabel": regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]{0,14}$`),
}

// ocid is the form of OCIDs. Source: docs.oracle.com, Resource Identifiers.
var ocid = regexp.MustCompile(`^ocid1\.[a-z0-9]+(\.[a-zA-Z0-9_-]*)+$`)

// ocidFields hold one OCID, or a list of them. What they name is looked up elsewhere: it may be of the
// wrong kind, and is then not found.
var ocidFields = map[string]bool{
	"bootVolumeId": true, "capacityReservationId": true, "clusterPlacementGroupId": true, "compartmentId": true,
	"computeClusterId": true, "dedicatedVmHostId": true, "dhcpOptionsId": true, "drgId": true, "hpcIslandId": true, "imageId": true,
	"instanceConfigurationId": true, "instanceId": true, "kmsKeyId": true, "networkBlockIds": true, "networkEntityId": true,
	"nsgIds": true, "primarySubnetId": true, "privateIpId": true, "publicIpId": true, "routeTableId": true, "securityListIds": true,
	"serviceId": true, "subnetId": true, "targetNetworkBlockIds": true, "vcnId": true, "vlanId": true,
}

// span is what a number may be: from min to max, in steps.
type span struct{ min, max, step float64 }

var spans = map[string]span{
	"bootVolumeVpusPerGB": {10, 120, 10}, // Source: InstanceSourceViaImageDetails
	"memoryInGBs":         {1, 65536, 0}, // more than any host has
	"ocpus":               {1, 65536, 0},
	"reservedCount":       {0, 10000, 1},
	"size":                {0, 10000, 1}, // more than any pool gets
	"sizeInGBs":           {minBootVolumeGB, maxBootVolumeGB, 1},
	"vpusPerGB":           {10, 120, 10},
}

// validateField checks the value of one field by its name.
func validateField(path, name string, v any) error {
	switch v := v.(type) {
	case *string:
		if v != nil {
			return validateText(path, name, *v)
		}
	case []string:
		for _, text := range v {
			if ocidFields[name] && !ocid.MatchString(text) {
				return notOCID(path, text)
			}
		}
	case *int:
		if v != nil {
			return validateNumber(path, name, float64(*v))
		}
	case *int64:
		if v != nil {
			return validateNumber(path, name, float64(*v))
		}
	case *float32:
		if v != nil {
			return validateNumber(path, name, float64(*v))
		}
	case map[string]string:
		if name == "freeformTags" {
			return validateFreeformTags(path, v)
		}
	case map[string]map[string]any:
		if name == "definedTags" {
			return validateDefinedTags(path, v)
		}
	}
	return nil
}

func validateText(path, name, text string) error {
	if limit, limited := maxLength[name]; limited && (text == "" || utf8.RuneCountInString(text) > limit) {
		return invalid(path, "must have 1 to %d characters", limit)
	}
	if pattern, found := patterns[name]; found && !pattern.MatchString(text) {
		return invalid(path, "%q does not match %s", text, pattern)
	}
	// An empty one is as good as none: the official provider sends it for what is not set.
	if ocidFields[name] && text != "" && !ocid.MatchString(text) {
		return notOCID(path, text)
	}
	return nil
}

func notOCID(path, text string) error { return invalid(path, "%q is no OCID", text) }

func validateNumber(path, name string, n float64) error {
	s, found := spans[name]
	if !found {
		return nil
	}
	if n < s.min || n > s.max {
		return invalid(path, "%g must be from %g to %g", n, s.min, s.max)
	}
	if steps := n / max(s.step, 1); s.step > 0 && steps != float64(int64(steps)) {
		return invalid(path, "%g must be a multiple of %g", n, s.step)
	}
	return nil
}

// What a resource can have of tags. Source: docs.oracle.com, Tagging Overview, Limits on Tags.
const (
	maxFreeformTags  = 10
	maxDefinedTags   = 64
	maxTagBytes      = 5 << 10 // of either kind's JSON
	maxTagKey        = 100
	maxTagValueRunes = 256
)

func validateFreeformTags(path string, tags map[string]string) error {
	if len(tags) > maxFreeformTags {
		return invalid(path, "%d free-form tags, the limit is %d", len(tags), maxFreeformTags)
	}
	for key, value := range tags {
		if err := validateTag(path, key, value); err != nil {
			return err
		}
	}
	return validateTagBytes(path, tags)
}

func validateDefinedTags(path string, tags map[string]map[string]any) error {
	count := 0
	for namespace, keys := range tags {
		for key, value := range keys {
			text, _ := value.(string)
			if err := validateTag(path+"."+namespace, key, text); err != nil {
				return err
			}
			count++
		}
	}
	if count > maxDefinedTags {
		return invalid(path, "%d defined tags, the limit is %d", count, maxDefinedTags)
	}
	return validateTagBytes(path, tags)
}

func validateTag(path, key, value string) error {
	if key == "" || utf8.RuneCountInString(key) > maxTagKey || utf8.RuneCountInString(value) > maxTagValueRunes {
		return invalid(path, "tag %q needs a key of 1 to %d and a value of at most %d characters", key, maxTagKey, maxTagValueRunes)
	}
	return nil
}

func validateTagBytes(path string, tags any) error {
	encoded, err := json.Marshal(tags)
	if err != nil || len(encoded) > maxTagBytes {
		return invalid(path, "the tags have %d bytes as JSON, the limit is %d", len(encoded), maxTagBytes)
	}
	return nil
}

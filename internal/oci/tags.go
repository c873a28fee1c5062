// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"maps"
	"reflect"
	"strings"
)

// Tags are the tags that a user manages, as last recorded. All others on a resource are somebody else's:
// tag defaults, cost tracking, other tools.
type Tags struct {
	Freeform map[string]string
	Defined  DefinedTags
}

// tags of a cluster, without the marker.
func (s Spec) tags() Tags { return Tags{Freeform: s.FreeformTags, Defined: s.DefinedTags} }

// equal says that two sets of tags are the same; none are the same as empty ones.
func (t Tags) equal(other Tags) bool {
	return maps.Equal(t.Freeform, other.Freeform) && t.Defined.equal(other.Defined)
}

// apply gives the tags of a resource after the user's have changed to what is wanted.
func (t Tags) apply(has, want Tags) Tags {
	tags := Tags{Freeform: map[string]string{}, Defined: DefinedTags{}}
	for key, value := range has.Freeform {
		if _, managed := t.Freeform[key]; !managed {
			tags.Freeform[key] = value
		}
	}
	maps.Copy(tags.Freeform, want.Freeform)
	for space, pairs := range has.Defined {
		for key, value := range pairs {
			if managedSpace, managedKey := t.Defined.spelling(space, key); t.Defined[managedSpace][managedKey] == nil {
				tags.Defined.set(space, key, value)
			}
		}
	}
	for space, pairs := range want.Defined {
		for key, value := range pairs {
			space, key := has.Defined.spelling(space, key)
			tags.Defined.set(space, key, value)
		}
	}
	return tags
}

// spelling gives the names of a tag as they are spelt here, where they are: OCI ignores their case.
func (t DefinedTags) spelling(space, key string) (spaceHere, keyHere string) {
	for here, pairs := range t { // several may be one name space
		if !strings.EqualFold(here, space) {
			continue
		}
		space = here
		for known := range pairs {
			if strings.EqualFold(known, key) {
				return here, known
			}
		}
	}
	return space, key
}

func (t DefinedTags) equal(other DefinedTags) bool {
	return len(t) == 0 && len(other) == 0 || reflect.DeepEqual(t, other)
}

func (t DefinedTags) set(space, key string, value any) {
	if t[space] == nil {
		t[space] = map[string]any{}
	}
	t[space][key] = value
}

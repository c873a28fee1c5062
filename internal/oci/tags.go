// SPDX-License-Identifier: MPL-2.0

package oci

import "maps"

// Tags are the tags that a user manages, as last recorded. All others on a resource are somebody else's:
// tag defaults, cost tracking, other tools.
type Tags struct {
	Freeform map[string]string
	Defined  DefinedTags
}

// apply gives the tags of a resource after the user's have changed to what is wanted.
func (t Tags) apply(current, want Spec) (map[string]string, DefinedTags) {
	freeform := maps.Clone(current.FreeformTags)
	if freeform == nil {
		freeform = map[string]string{}
	}
	for key := range t.Freeform {
		delete(freeform, key)
	}
	maps.Copy(freeform, want.FreeformTags)

	defined := DefinedTags{}
	for space, tags := range current.DefinedTags {
		for key, value := range tags {
			if _, managed := t.Defined[space][key]; !managed {
				defined.set(space, key, value)
			}
		}
	}
	for space, tags := range want.DefinedTags {
		for key, value := range tags {
			defined.set(space, key, value)
		}
	}
	return freeform, defined
}

func (t DefinedTags) set(space, key string, value any) {
	if t[space] == nil {
		t[space] = map[string]any{}
	}
	t[space][key] = value
}

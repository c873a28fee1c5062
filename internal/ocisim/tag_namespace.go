// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/identity"
)

// tagNamespaces are the keys of all defined tags by namespace: of Oracle-Tags, which every tenancy has, and
// of the scenario.
func (s *Server) tagNamespaces() map[string][]string {
	all := map[string][]string{"Oracle-Tags": {"CreatedBy", "CreatedOn"}}
	for namespace, tags := range s.cfg.TagDefaults {
		all[namespace] = slices.AppendSeq(all[namespace], maps.Keys(tags))
	}
	for namespace, keys := range s.cfg.TagNamespaces {
		all[namespace] = append(all[namespace], keys...)
	}
	for namespace, keys := range all {
		slices.Sort(keys)
		all[namespace] = slices.Compact(keys)
	}
	return all
}

func (s *Server) showNamespace(name string) identity.TagNamespace {
	shown := identity.TagNamespace{
		Id: ptr(stableID("tagnamespace", name)), CompartmentId: &s.cfg.TenancyID, Name: &name, Description: ptr("Simulated tag namespace"),
		IsRetired: ptr(false), TimeCreated: s.made, LifecycleState: identity.TagNamespaceLifecycleStateActive,
	}
	shown.FreeformTags, shown.DefinedTags = tagged(nil, nil)
	return shown
}

func (s *Server) showTag(namespace, name string) identity.Tag {
	shown := identity.Tag{
		Id: ptr(stableID("tagdefinition", namespace+"."+name)), CompartmentId: &s.cfg.TenancyID, TagNamespaceId: ptr(stableID("tagnamespace", namespace)),
		TagNamespaceName: &namespace, Name: &name, Description: ptr("Simulated tag"), IsRetired: ptr(false), IsCostTracking: ptr(false),
		TimeCreated: s.made, LifecycleState: identity.TagLifecycleStateActive,
	}
	shown.FreeformTags, shown.DefinedTags = tagged(nil, nil)
	return shown
}

func (s *Server) listTagNamespaces(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("lifecycleState", identity.GetTagNamespaceLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(s.tagNamespaces())) {
		shown := s.showNamespace(name)
		if compartment == s.cfg.TenancyID && q.wants("lifecycleState", ptr(string(shown.LifecycleState))) {
			rows = append(rows, row{uint64(len(rows)), name, shown})
		}
	}
	return page(q, rows)
}

// tagNamespace finds the namespace of a request, and its keys.
func (s *Server) tagNamespace(q *request) (name string, keys []string, err error) {
	for name, keys := range s.tagNamespaces() {
		if stableID("tagnamespace", name) == q.PathValue("id") {
			return name, keys, nil
		}
	}
	return "", nil, notFound()
}

func (s *Server) getTagNamespace(q *request) (response, error) {
	name, _, err := s.tagNamespace(q)
	if err != nil {
		return response{}, err
	}
	return ok(s.showNamespace(name))
}

func (s *Server) listTags(q *request) (response, error) {
	namespace, keys, err := s.tagNamespace(q)
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, key := range keys {
		rows = append(rows, row{uint64(len(rows)), key, s.showTag(namespace, key)})
	}
	return page(q, rows)
}

func (s *Server) getTag(q *request) (response, error) {
	namespace, keys, err := s.tagNamespace(q)
	if err != nil {
		return response{}, err
	}
	key := q.PathValue("name")
	if !slices.Contains(keys, key) {
		return response{}, notFound()
	}
	return ok(s.showTag(namespace, key))
}

// knownTag gives a defined tag in the tenancy's spelling: OCI ignores the case of both names. The texts are OCI's
// own, with its grammar.
func (s *Server) knownTag(namespace, key string) (knownNamespace, knownKey string, err error) {
	unknown := func(format string, args ...any) error {
		return &apiError{http.StatusBadRequest, "RelatedResourceNotAuthorizedOrNotFound",
			"The following tag namespaces / keys are not authorized or not found: " + fmt.Sprintf(format, args...)}
	}
	namespaces := s.tagNamespaces()
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if !strings.EqualFold(name, namespace) {
			continue
		}
		keys := namespaces[name]
		i := slices.IndexFunc(keys, func(known string) bool { return strings.EqualFold(known, key) })
		if i < 0 {
			return "", "", unknown("TagDefinition %s in TagNamespace %s does not exists.", key, namespace)
		}
		return name, keys[i], nil
	}
	return "", "", unknown("TagNamespace %s does not exists.", namespace)
}

// spellTags gives a body with its defined tags, at any depth, in the tenancy's spelling. It refuses those that the
// tenancy has not.
func (s *Server) spellTags(body []byte) ([]byte, error) {
	if !bytes.Contains(body, []byte(`"definedTags"`)) {
		return body, nil
	}
	var v any
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber()
	if err := numbers.Decode(&v); err != nil {
		return body, nil //nolint:nilerr // The handler refuses what is no JSON.
	}
	if err := s.spellTagsOf(v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (s *Server) spellTagsOf(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := s.spellTagsOf(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			spell := s.spellTagsOf
			switch name {
			case "definedTags":
				spell = s.spellNamespaces
			case "metadata", "extendedMetadata":
				continue // the user's own
			}
			if err := spell(v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Server) spellNamespaces(v any) error {
	namespaces, _ := v.(map[string]any)
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		tags, _ := namespaces[namespace].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			knownNamespace, knownKey, err := s.knownTag(namespace, key)
			if err != nil {
				return err
			}
			if knownNamespace == namespace && knownKey == key {
				continue
			}
			into, _ := namespaces[knownNamespace].(map[string]any)
			if into == nil {
				into = map[string]any{}
				namespaces[knownNamespace] = into
			}
			into[knownKey] = tags[key]
			if delete(tags, key); len(tags) == 0 {
				delete(namespaces, namespace)
			}
		}
	}
	return nil
}

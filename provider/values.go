// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func stringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// unlessSame gives a string that was read; one that was set to "" reads back as none, and stays.
func unlessSame(was types.String, now string) types.String {
	if isSet(was) && was.ValueString() == now {
		return was
	}
	return stringOrNull(now)
}

func int64OrNull(n int64) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(n)
}

func timeOrNull(t time.Time) types.String {
	if t.IsZero() {
		return types.StringNull()
	}
	return types.StringValue(t.UTC().Format(time.RFC3339))
}

// absent says that a value is known to be nothing, or an empty map or set.
func absent(value attr.Value) bool {
	if value.IsUnknown() {
		return false
	}
	switch v := value.(type) {
	case types.Map:
		return len(v.Elements()) == 0
	case types.Set:
		return len(v.Elements()) == 0
	}
	return value.IsNull()
}

// setOr gives a set; none is what the user wrote for it: nothing, or an empty set.
func setOr(ctx context.Context, written types.Set, items []string) types.Set {
	if len(items) == 0 && absent(written) {
		return written
	}
	if len(items) == 0 {
		return types.SetNull(types.StringType)
	}
	set, _ := types.SetValueFrom(ctx, types.StringType, items) // Strings always convert.
	return set
}

// mapOr gives a map; none is what the user wrote for it: nothing, or an empty map.
func mapOr(ctx context.Context, written types.Map, items map[string]string) types.Map {
	if len(items) == 0 && absent(written) {
		return written
	}
	if len(items) == 0 {
		return types.MapNull(types.StringType)
	}
	m, _ := types.MapValueFrom(ctx, types.StringType, items) // Strings always convert.
	return m
}

func stringsOf(elements []attr.Value) []string {
	var items []string
	for _, element := range elements {
		if s, ok := element.(types.String); ok {
			items = append(items, s.ValueString())
		}
	}
	return items
}

func stringMapOf(m types.Map) map[string]string {
	items := map[string]string{}
	for key, element := range m.Elements() {
		if s, ok := element.(types.String); ok {
			items[key] = s.ValueString()
		}
	}
	return items
}

func boolMapOf(m types.Map) map[string]bool {
	items := map[string]bool{}
	for key, element := range m.Elements() {
		if b, ok := element.(types.Bool); ok {
			items[key] = b.ValueBool()
		}
	}
	return items
}

// listOf gives a list of strings, empty rather than null.
func listOf(ctx context.Context, items []string) types.List {
	if items == nil {
		items = []string{}
	}
	list, _ := types.ListValueFrom(ctx, types.StringType, items) // Strings always convert.
	return list
}

// hasUnknown says whether a set, a list or an object, or something in it, is not known yet.
func hasUnknown(v attr.Value) bool {
	unknown := v.IsUnknown()
	switch v := v.(type) {
	case types.Set:
		for _, element := range v.Elements() {
			unknown = unknown || element.IsUnknown()
		}
	case types.List:
		for _, element := range v.Elements() {
			unknown = unknown || element.IsUnknown()
		}
	case types.Object:
		for _, attribute := range v.Attributes() {
			unknown = unknown || attribute.IsUnknown()
		}
	}
	return unknown
}

// isSet says whether a value is given and known.
func isSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// typeOf gives the type of a model's values, by its fields and their tfsdk tags.
func typeOf[T any]() attr.Type { return goType(reflect.TypeFor[T]()) }

// attributesOf gives the types of a model's attributes.
func attributesOf[T any]() map[string]attr.Type {
	attributes := map[string]attr.Type{}
	addFields(attributes, reflect.TypeFor[T]())
	return attributes
}

func addFields(attributes map[string]attr.Type, of reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous {
			addFields(attributes, field.Type)
			continue
		}
		attributes[field.Tag.Get("tfsdk")] = goType(field.Type)
	}
}

func goType(of reflect.Type) attr.Type {
	if value, ok := reflect.Zero(of).Interface().(attr.Value); ok {
		return value.Type(context.Background())
	}
	switch of.Kind() {
	case reflect.Pointer:
		return goType(of.Elem())
	case reflect.Slice:
		return types.ListType{ElemType: goType(of.Elem())}
	case reflect.Map:
		return types.MapType{ElemType: goType(of.Elem())}
	case reflect.Struct:
		attributes := map[string]attr.Type{}
		addFields(attributes, of)
		return types.ObjectType{AttrTypes: attributes}
	case reflect.String:
		return types.StringType
	case reflect.Bool:
		return types.BoolType
	case reflect.Int, reflect.Int64:
		return types.Int64Type
	case reflect.Float64:
		return types.Float64Type
	}
	panic(fmt.Sprintf("a model has a field of type %s", of)) // which the first test shows
}

// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// validate checks a decoded request body as the contract's server must: the SDK's client checks neither
// nested mandatory fields nor nested enums. The SDK's own tags and enum tables are the contract here.
func validate(body any) error { return validateValue("", reflect.ValueOf(body)) }

func validateValue(path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return validateValue(path, v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		// An unknown discriminator leaves the SDK's private base type.
		if t := v.Elem().Type(); t.Kind() == reflect.Struct && unicode.IsLower(rune(t.Name()[0])) {
			return invalid(path, "its type is unknown or missing")
		}
		return validateValue(path, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := validateValue(path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return validateStruct(path, v)
	default:
	}
	return nil
}

func validateStruct(path string, v reflect.Value) error {
	if !strings.Contains(v.Type().PkgPath(), "oci-go-sdk") || v.Type().Name() == "SDKTime" {
		return nil
	}
	if err := validateEnums(path, v.Interface()); err != nil {
		return err
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		full := join(path, name)
		if field.Tag.Get("mandatory") == "true" && v.Field(i).IsZero() {
			return missing(full)
		}
		if err := validateField(full, name, v.Field(i).Interface()); err != nil {
			return err
		}
		if err := validateValue(full, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func validateEnums(path string, v any) error {
	e, ok := v.(interface{ ValidateEnumValue() (bool, error) })
	if !ok {
		return nil
	}
	if bad, err := e.ValidateEnumValue(); bad {
		_, text, _ := strings.Cut(err.Error(), "unsupported enum value for ")
		name, rest, _ := strings.Cut(text, ": ")
		field := []rune(name)
		if len(field) > 0 {
			field[0] = unicode.ToLower(field[0])
		}
		return invalid(join(path, string(field)), "unsupported value %s", rest)
	}
	return nil
}

const maxMetadata = 32000 // bytes, metadata and extendedMetadata together

func validateMetadata(path string, metadata map[string]string, extended map[string]any) error {
	size := 0
	for key, value := range metadata {
		size += len(key) + len(value)
	}
	if len(extended) > 0 {
		encoded, err := json.Marshal(extended)
		if err != nil {
			return invalid(path+".extendedMetadata", "%v", err)
		}
		size += len(encoded)
	}
	if size > maxMetadata {
		return invalid(path+".metadata", "metadata and extendedMetadata have %d bytes together, the limit is %d", size, maxMetadata)
	}
	return nil
}

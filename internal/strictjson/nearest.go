package strictjson

import (
	"reflect"
	"strings"

	"github.com/provider-measure/provider-measure/internal/nearest"
)

// nearestField returns the JSON member name of struct type t that is closest to
// key, or "" when none is close.
func nearestField(t reflect.Type, key string) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return nearest.Of(key, names)
}

package golden

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// maxText is the length of the longest text that is printed whole, in bytes.
const maxText = 400

// Line is a value on one line without what is zero in it, or empty if all of it is. The home
// folder, if there is one, is ~ in its texts.
func Line(v any, home string) string { return line(reflect.ValueOf(v), home) }

func line(v reflect.Value, home string) string {
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	switch is := v.Interface().(type) {
	case time.Time:
		return is.UTC().Format("2006-01-02T15:04:05.999999999")
	case fmt.Stringer:
		return is.String()
	case string:
		if home != "" {
			is = strings.ReplaceAll(is, home, "~")
		}
		if len(is) > maxText {
			return fmt.Sprintf("%q... %d bytes %x", is[:maxText/4], len(is), sha256.Sum256([]byte(is)))
		}
		return fmt.Sprintf("%q", is)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.Elem().Kind() == reflect.Float64 {
			return fmt.Sprint(v.Elem().Float())
		}
		return cmp.Or(line(v.Elem(), home), "zero")
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, cmp.Or(line(v.Index(i), home), "zero"))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if text := line(v.Field(i), home); text != "" {
				parts = append(parts, v.Type().Field(i).Name+": "+text)
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

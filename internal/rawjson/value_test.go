package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"
)

func TestInstant(t *testing.T) {
	want := time.Date(2026, 4, 18, 10, 0, 5, 123e6, time.UTC)
	tests := []struct {
		name, in string
		want     time.Time
	}{
		{"milliseconds as text", `"1776506405123"`, want},
		{"milliseconds as number", `1776506405123`, want},
		{"milliseconds with a fraction", `1776506405123.9`, want},
		{"ISO 8601 in UTC", `"2026-04-18T10:00:05.123Z"`, want},
		{"ISO 8601 elsewhere", `"2026-04-18T12:00:05.123+02:00"`, want},
		{"ISO 8601 without fraction", `"2026-04-18T10:00:05Z"`, want.Truncate(time.Second)},
		{"no zone", `"2026-04-18T10:00:05"`, time.Time{}},
		{"a word", `"yesterday"`, time.Time{}},
		{"empty", `""`, time.Time{}},
		{"zero", `0`, time.Time{}},
		{"before 1970", `-5`, time.Time{}},
		{"beyond OpenTelemetry's nanoseconds", `9300000000000`, time.Time{}},
		{"beyond int64", `1e300`, time.Time{}},
		{"not a number", `"NaN"`, time.Time{}},
		{"an Object", `{"ms":1}`, time.Time{}},
		{"a boolean", `true`, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Instant([]byte(tt.in)); !got.Equal(tt.want) || got.Location() != time.UTC {
				t.Errorf("Instant(%s) = %v, want %v", tt.in, got, tt.want)
			}
		})
	}
	if got := Instant(nil); !got.IsZero() {
		t.Errorf("Instant(nil) = %v", got)
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[string]time.Duration{
		`427`: 427 * time.Millisecond, `"427"`: 427 * time.Millisecond, `1.5`: time.Millisecond, `0`: 0,
	} {
		if got, ok := Millis([]byte(in)); !ok || got != want {
			t.Errorf("Millis(%s) = %v, %v; want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `-1`, `"soon"`, `[]`, `9223372036854775807`} {
		if got, ok := Millis([]byte(in)); ok {
			t.Errorf("Millis(%s) = %v, want none", in, got)
		}
	}
}

func TestFloat(t *testing.T) {
	for in, want := range map[string]float64{`0.244`: 0.244, `"1.5"`: 1.5, `-2`: -2, `1e3`: 1000} {
		if got, ok := Float([]byte(in)); !ok || got != want {
			t.Errorf("Float(%s) = %v, %v; want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `"NaN"`, `"Inf"`, `1e999`, `true`, `[1]`, `"much"`} {
		if got, ok := Float([]byte(in)); ok {
			t.Errorf("Float(%s) = %v, want none", in, got)
		}
	}
}

func TestInt(t *testing.T) {
	for in, want := range map[string]int64{`"42"`: 42, `7.9`: 7, `-3`: -3, `9223372036854775807`: 9223372036854775807} {
		if got, ok := Int([]byte(in)); !ok || got != want {
			t.Errorf("Int(%s) = %v, %v; want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `"NaN"`, `9223372036854775808`, `false`, `{}`, `"soon"`} {
		if got, ok := Int([]byte(in)); ok {
			t.Errorf("Int(%s) = %v, want none", in, got)
		}
	}
}

func TestBool(t *testing.T) {
	for in, want := range map[string][2]bool{
		`true`: {true, true}, `"true"`: {true, true}, `false`: {false, true}, `"false"`: {false, true},
		``: {}, `1`: {}, `"True"`: {}, `[true]`: {},
	} {
		if value, ok := Bool([]byte(in)); value != want[0] || ok != want[1] {
			t.Errorf("Bool(%s) = %v, %v; want %v, %v", in, value, ok, want[0], want[1])
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain", `"a\n\u00e9\ud83d\ude00"`: "a\n\u00e9\U0001f600", `"\ud800"`: "\ufffd", "\"\xff\"": "\ufffd",
		`12.50`: "12.50", `true`: "true", `{"a":1}`: "", `["a"]`: "",
	} {
		got := Text([]byte(in))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("Text(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestObjectGet(t *testing.T) {
	o := Members([]byte(`{"success":true,"Success":false,"twice":1,"twice":2,"gone":3,"gone":null,"b":4}`))
	tests := []struct {
		name  string
		names []string
		want  string
	}{
		{"exact case", []string{"success"}, "true"},
		{"case variant is another key", []string{"SUCCESS"}, ""},
		{"last of equal keys", []string{"twice"}, "2"},
		{"null is absent", []string{"gone"}, ""},
		{"first present name", []string{"a", "gone", "b", "twice"}, "4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(o.Get(tt.names...)); got != tt.want {
				t.Errorf("Get(%q) = %q, want %q", tt.names, got, tt.want)
			}
		})
	}
	for _, in := range []string{``, `[]`, `"{}"`, `{"a"`} {
		if o := Members([]byte(in)); o != nil {
			t.Errorf("Members(%q) = %v, want none", in, o)
		}
	}
}

// FuzzUnquote holds Unquote to the library.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{`a`, `\n\"\\\/\b\f\r\t`, `\u00e9\ud83d\ude00`, `\ud83dx`, `\ud83d\u0041`, `\ude00`, `\ud83d\ud83d\ude00`, `\uD83D\u`, "\xff\\n", "\x01", `"`, `\`, `\x`, `\u+123`, `\u12`, `é\n` + "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, inner string) {
		raw := []byte(`"` + inner + `"`)
		var want string
		if json.Unmarshal(raw, &want) != nil {
			want = ""
			if !bytes.Contains(raw, []byte(`\`)) {
				return // what is not JSON and has no escape is taken as it is
			}
		}
		if got := Unquote(raw); got != want {
			t.Fatalf("Unquote(%q) = %q, want %q", raw, got, want)
		}
	})
}

package cline

import (
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
		{"an object", `{"ms":1}`, time.Time{}},
		{"a boolean", `true`, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := instant([]byte(tt.in)); !got.Equal(tt.want) || got.Location() != time.UTC {
				t.Errorf("instant(%s) = %v, want %v", tt.in, got, tt.want)
			}
		})
	}
	if got := instant(nil); !got.IsZero() {
		t.Errorf("instant of nothing = %v", got)
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[string]time.Duration{
		`427`: 427 * time.Millisecond, `"427"`: 427 * time.Millisecond, `1.5`: time.Millisecond, `0`: 0,
		`-1`: unknownDuration, `"soon"`: unknownDuration, `[]`: unknownDuration, `9223372036854775807`: unknownDuration,
	} {
		if got := millis([]byte(in)); got != want {
			t.Errorf("millis(%s) = %v, want %v", in, got, want)
		}
	}
	if got := millis(nil); got != 0 {
		t.Errorf("millis of nothing = %v, want 0", got)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain", `"a\n\u00e9\ud83d\ude00"`: "a\n\u00e9\U0001f600", `"\ud800"`: "\ufffd", "\"\xff\"": "\ufffd",
		`12.50`: "12.50", `true`: "true", `{"a":1}`: "", `["a"]`: "",
	} {
		got := text([]byte(in))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("text(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestObjectGet(t *testing.T) {
	o := members([]byte(`{"success":true,"Success":false,"twice":1,"twice":2,"gone":3,"gone":null,"b":4}`))
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
			if got := string(o.get(tt.names...)); got != tt.want {
				t.Errorf("get(%q) = %q, want %q", tt.names, got, tt.want)
			}
		})
	}
	for _, in := range []string{``, `[]`, `"{}"`, `{"a"`} {
		if o := members([]byte(in)); o != nil {
			t.Errorf("members(%q) = %v, want none", in, o)
		}
	}
}

package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// same compares records as written and as read: places aside, and with no
// difference between a missing and an empty payload.
var same = cmp.Options{cmpopts.IgnoreFields(Record{}, "Offset", "End"), cmpopts.EquateEmpty()}

// diff is cmp.Diff with a quick way out for the tests that compare thousands of
// logs.
func diff(want, got []Record) string {
	equal := slices.EqualFunc(want, got, func(a, b Record) bool {
		a.Offset, a.End, b.Offset, b.End = 0, 0, 0, 0
		same := bytes.Equal(a.Payload, b.Payload) && a.At.Equal(b.At)
		a.Payload, b.Payload, a.At, b.At = nil, nil, time.Time{}, time.Time{}
		return same && reflect.DeepEqual(a, b)
	})
	if equal {
		return ""
	}
	return cmp.Diff(want, got, same)
}

// frame encodes records one behind the other.
func frame(t testing.TB, records ...Record) []byte {
	t.Helper()
	var log []byte
	for i := range records {
		b, err := encode(&records[i])
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, b...)
	}
	return log
}

func TestEncodeRoundTrip(t *testing.T) {
	// Arbitrary bytes and arbitrary text, so that both forms of a member occur.
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }))
	payload := rapid.Custom(func(t *rapid.T) []byte {
		v := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		)).Draw(t, "value")
		indent := rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent")
		b, err := json.MarshalIndent(v, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		return append(b, rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")...)
	})
	record := rapid.Custom(func(t *rapid.T) Record {
		r := Record{
			Host:        rapid.StringMatching(`[a-z0-9-]{1,32}`).Draw(t, "host"),
			Session:     text.Draw(t, "session"),
			Event:       text.Draw(t, "event"),
			Cwd:         text.Draw(t, "cwd"),
			TraceParent: text.Draw(t, "traceparent"),
			Settings:    rapid.StringMatching(`[ !#-\[\]-~]{0,64}`).Draw(t, "settings"),
			PPID:        rapid.IntMin(0).Draw(t, "ppid"),
			Cut:         rapid.Int64Min(0).Draw(t, "cut"),
			Raw:         rapid.Bool().Draw(t, "raw"),
		}
		if rapid.Bool().Draw(t, "has time") {
			r.At = time.Unix(0, rapid.Int64().Draw(t, "at")).UTC()
		}
		if r.Raw {
			r.Payload = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		} else {
			r.Payload = payload.Draw(t, "payload")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		want := rapid.SliceOfN(record, 1, 4).Draw(t, "records")
		for i := range want {
			b, err := encode(&want[i])
			if err != nil {
				t.Fatal(err)
			}
			if b[0] != rs || bytes.IndexByte(b[1:], rs) >= 0 || !json.Valid(b[1:]) {
				t.Fatalf("not one JSON text behind one separator: %q", b)
			}
			log = append(log, b...)
		}
		r := newReader(bytes.NewReader(log), 0, nil)
		var got []Record
		for r.Next() {
			got = append(got, *r.Record())
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		if r.Offset() != int64(len(log)) || r.Err() != nil || len(r.Damage()) > 0 {
			t.Fatalf("offset %d of %d, error %v, damage %v", r.Offset(), len(log), r.Err(), r.Damage())
		}
	})
}

func TestEncodePayloadThatIsNotJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		raw     bool
	}{
		"an object":             {`{"a":1}`, false},
		"blanks around":         {" {\"a\":1}\r\n", false},
		"holds a separator":     {"{\"a\":\"\x1e\"}", true},
		"is empty":              {"", true},
		"is blank":              {" \t\r\n", true},
		"closes the record":     {`1},"host":"other","x":{"a":1`, false},
		"looks like raw":        {`1,"raw":"AAAA"`, false},
		"a separator and no LF": {"\x1e", true},
	} {
		t.Run(name, func(t *testing.T) {
			want := Record{Host: "cline", Session: "s", Payload: []byte(tc.payload)}
			got := readAll(t, frame(t, want))
			want.Raw = tc.raw
			if diff := cmp.Diff([]Record{want}, got.records, same); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	if _, err := encode(&Record{Host: "cline", Payload: bytes.Repeat([]byte("1"), MaxRecord)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a record above the limit: error %v, want ErrTooLarge", err)
	}
	for _, host := range []string{"", "Cline", "..", "a/b", "a.b", "a\x00", "ü", strings.Repeat("a", 33)} {
		if _, err := encode(&Record{Host: host, Payload: []byte("1")}); err == nil {
			t.Errorf("host %q is accepted", host)
		}
	}
	if _, err := encode(&Record{Host: strings.Repeat("a", 32), Payload: []byte("1")}); err != nil {
		t.Errorf("host of 32 bytes: %v", err)
	}
}

// TestSettings has the word kept or left out; the event is stored either way.
func TestSettings(t *testing.T) {
	long := strings.Repeat("x", MaxSettings)
	for given, want := range map[string]string{
		"": "", "preview/": "preview/", "none/0123456789abcdef": "none/0123456789abcdef", " ~": " ~", long: long,
		long + "x": "", `a"b`: "", `a\b`: "", "a\n": "", "\x7f": "", "ü": "", "\xff": "",
	} {
		log := frame(t, Record{Host: "cline", Session: "s", Settings: given, To: given, Payload: []byte("{}")})
		got := readAll(t, log)
		if len(got.records) != 1 || got.records[0].Settings != want || got.records[0].To != want {
			t.Errorf("%q: read back %+v, want %q", given, got.records, want)
		}
		if bytes.Contains(log, []byte("settings")) != (want != "") {
			t.Errorf("%q: written as %q", given, log)
		}
	}
}

// TestSettingsOfOtherWriters reads what this package would not have written.
func TestSettingsOfOtherWriters(t *testing.T) {
	for member, want := range map[string]string{
		`"settings":"a"`: "a", `"settings":"\u0061"`: "", `"settings64":"YQ=="`: "", `"settings":7`: "", `"settings":null`: "",
		`"settings":"` + strings.Repeat("x", MaxSettings+1) + `"`: "", `"settings":"ü"`: "", `"settings":"a","settings":"ü"`: "",
	} {
		var r Record
		body := []byte(`"host":"cline",` + member + `,"payload":{}`)
		if ok := r.members(body, &Record{Settings: "a"}); !ok || r.Settings != want || string(r.Payload) != "{}" {
			t.Errorf("%s: read as %+v, %t; want %q", member, r, ok, want)
		}
	}
}

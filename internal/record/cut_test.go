package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bigLimit is the limit that is the default.
const bigLimit = 1 << 20

// stream reads head, then count times body, then tail.
func stream(head, body string, count int, tail string) io.Reader {
	rs := []io.Reader{strings.NewReader(head)}
	block := strings.Repeat(body, max(1, (32<<10)/max(1, len(body))))
	for left := len(body) * count; left > 0; left -= len(block) {
		rs = append(rs, strings.NewReader(block[:min(left, len(block))]))
	}
	return io.MultiReader(append(rs, strings.NewReader(tail))...)
}

func TestReadPayloadSmall(t *testing.T) {
	const limit = 4096
	exact := `{"a":"` + strings.Repeat("x", limit-8) + `"}`
	for name, tc := range map[string]struct {
		in   string
		json bool
	}{
		"object":             {`{"taskId":"1"}`, true},
		"line end is kept":   {"{\"taskId\":\"1\"}\n", true},
		"empty":              {"", false},
		"blank":              {" \n", false},
		"garbage":            {"not JSON", false},
		"cut off":            {`{"taskId":"1`, false},
		"exactly the limit":  {exact, true},
		"garbage, the limit": {strings.Repeat("\xff", limit), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPayload(strings.NewReader(tc.in), limit, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Data) != tc.in || got.JSON != tc.json || got.Cut != 0 {
				t.Errorf("got %d bytes, json %v, cut %d; want the %d bytes unchanged, json %v, cut 0",
					len(got.Data), got.JSON, got.Cut, len(tc.in), tc.json)
			}
		})
	}
}

func TestReadPayloadLarge(t *testing.T) {
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		in    io.Reader
		size  int64
		limit int
		want  string // "" where check says enough
		check func(t *testing.T, v any)
	}{
		"one byte above the limit": {
			in: stream(`{"a":"`, "x", 4097-8, `"}`), size: 4097, limit: 4096,
			check: func(t *testing.T, v any) {
				s := v.(map[string]any)["a"].(string)
				want := strings.Repeat("x", 352) + "… [3737 bytes cut]"
				if d := cmp.Diff(want, s); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			},
		},
		"the members behind a long string stay": {
			in:    stream(`{"taskId":"17","postToolUse":{"result":"`, "0123456789", 2*mb, `","success":true},"hookName":"PostToolUse"}`),
			limit: bigLimit, size: 20*mb + 83,
			check: func(t *testing.T, v any) {
				o := v.(map[string]any)
				result := o["postToolUse"].(map[string]any)["result"].(string)
				if o["taskId"] != "17" || o["hookName"] != "PostToolUse" || o["postToolUse"].(map[string]any)["success"] != true {
					t.Errorf("members: %v", cmp.Diff(nil, o))
				}
				text, note, ok := strings.Cut(result, "… [")
				if !ok || note != fmt.Sprintf("%d bytes cut]", 20*mb-len(text)) || len(text) < 96_000 {
					t.Errorf("%d bytes kept, note %q", len(text), note)
				}
			},
		},
		"many long strings all keep their beginning": {
			in: stream(`[`, `"`+strings.Repeat("y", 100_000)+`",`, 50, `"end"]`), limit: bigLimit, size: 1 + 50*100_003 + 6,
			check: func(t *testing.T, v any) {
				l := v.([]any)
				if len(l) != 51 || l[50] != "end" {
					t.Fatalf("%d strings, want 51", len(l))
				}
				for i, s := range l {
					if !strings.HasPrefix(s.(string), "yyyy") && i < 50 {
						t.Errorf("string %d: %.20q", i, s)
					}
				}
			},
		},
		"many short strings lose the last ones": {
			in: stream(`{"k":[`, `"abcdefgh",`, 400_000, `""],"l":true}`), limit: bigLimit, size: 6 + 400_000*11 + 13,
			check: func(t *testing.T, v any) {
				o := v.(map[string]any)
				l := o["k"].([]any)
				if len(l) < 40_000 || l[len(l)-1] != "abcdefgh" || o["l"] != true {
					t.Errorf("%d strings, last %q; behind them %v", len(l), l[len(l)-1], o["l"])
				}
			},
		},
		"a number that is too long goes with its name": {
			in: stream(`{"a":`, "7", 2*mb, `,"b":{"c":"`+strings.Repeat("d", 100)+`","e":1}}`), limit: bigLimit, size: 5 + 2*mb + 120,
			want: `{"b":{"c":"` + strings.Repeat("d", 100) + `","e":1}}`,
		},
		"a list of lists": {
			in: stream(`[`, `["a",{"b":["]"]}],`, 200_000, `"end"]`), limit: bigLimit, size: 1 + 200_000*18 + 6,
			check: func(t *testing.T, v any) {
				l := v.([]any)
				want := []any{"a", map[string]any{"b": []any{"]"}}}
				if len(l) < 40_000 || cmp.Diff(want, l[0]) != "" || cmp.Diff(want, l[10_000]) != "" {
					t.Errorf("%d lists, first %v", len(l), l[0])
				}
			},
		},
		"blanks between are left out": {
			in: stream("{\"a\":1", " ", 2*mb, ",\t\"b\":2\r\n}"), limit: bigLimit, size: 6 + 2*mb + 10, want: `{"a":1,"b":2}`,
		},
		"nested as deep as is allowed": {
			in: stream("", "[", 9_999, `"`+strings.Repeat("z", 10_000)+`"`+strings.Repeat("]", 9_999)), limit: 4096, size: 2*9_999 + 10_002,
			check: func(t *testing.T, v any) {
				depth := 0
				for l, ok := v.([]any); ok; depth++ {
					if len(l) == 0 {
						break
					}
					l, ok = l[0].([]any)
				}
				if depth < 400 {
					t.Errorf("%d levels left", depth)
				}
			},
		},
		"a string of stray continuation bytes": {
			in: stream(`{"a":"`, "\x80", 3*mb, `"}`), limit: bigLimit, size: 3*mb + 8,
			check: func(t *testing.T, v any) {
				if s := v.(map[string]any)["a"].(string); !strings.HasSuffix(s, " bytes cut]") {
					t.Errorf("no note at the end: %q", s[len(s)-20:])
				}
			},
		},
		"a string of escaped quotes": {
			in: stream(`{"a":"`, `\"`, mb, `"}`), limit: bigLimit, size: 2*mb + 8,
			check: func(t *testing.T, v any) {
				s := v.(map[string]any)["a"].(string)
				if text, _, _ := strings.Cut(s, "…"); strings.Trim(text, `"`) != "" || text == "" {
					t.Errorf("%.40q", s)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPayload(tc.in, tc.limit, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if !got.JSON || got.Cut != tc.size || len(got.Data) > tc.limit {
				t.Fatalf("%d bytes, json %v, cut %d; want at most %d bytes, true, %d", len(got.Data), got.JSON, got.Cut, tc.limit, tc.size)
			}
			if tc.want != "" && string(got.Data) != tc.want {
				t.Errorf("got %.100q, want %q", got.Data, tc.want)
			}
			var v any
			if err := json.Unmarshal(got.Data, &v); err != nil {
				t.Fatal(err)
			}
			if tc.check != nil {
				tc.check(t, v)
			}
		})
	}
}

func TestReadPayloadLargeThatIsNotJSON(t *testing.T) {
	const mb = 1 << 20
	for name, in := range map[string]struct {
		in   io.Reader
		size int64
	}{
		"garbage":                        {stream("garbage ", "\xfe\x00x", 3*mb, ""), 8 + 9*mb},
		"a number of two million digits": {stream("", "7", 2*mb, ""), 2 * mb},
		"nested too deeply":              {stream("", "[", 10*mb, ""), 10 * mb},
		"a string without an end":        {stream(`{"a":"`, "x", 10*mb, ""), 6 + 10*mb},
		"nothing but blanks":             {stream("", " \n", mb, ""), 2 * mb},
		"one object behind another":      {stream("", "{}", mb, ""), 2 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			var seen bytes.Buffer
			got, err := readPayload(io.TeeReader(in.in, &seen), bigLimit, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got.JSON || got.Cut != in.size || int64(seen.Len()) != in.size {
				t.Errorf("json %v, cut %d, read %d; want false, %d twice", got.JSON, got.Cut, seen.Len(), in.size)
			}
			if want := seen.Bytes()[:rawHead]; !bytes.Equal(got.Data, want) {
				t.Errorf("kept %d bytes, want the first %d", len(got.Data), len(want))
			}
		})
	}
}

func TestReadPayloadReturnsTheBeginningOnError(t *testing.T) {
	broken := errors.New("broken")
	for name, size := range map[string]int{"small": 20, "large": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			head := `{"taskId":"1","x":"` + strings.Repeat("x", size)
			got, err := readPayload(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)), bigLimit, io.Discard)
			if !errors.Is(err, broken) {
				t.Errorf("error %v, want the reader's", err)
			}
			if got.JSON || !strings.HasPrefix(head, string(got.Data)) || len(got.Data) < 39 {
				t.Errorf("json %v, %d bytes %.40q; want the beginning, raw", got.JSON, len(got.Data), got.Data)
			}
		})
	}
}

// TestReadPayloadMemory holds what is allocated to the limit, whatever comes.
func TestReadPayloadMemory(t *testing.T) {
	const size, most = 64 << 20, 12 << 20
	for name, in := range map[string]io.Reader{
		"one string":       stream(`{"a":"`, "0123456789abcdef", size/16, `"}`),
		"short strings":    stream(`[`, `"0123456789abc",`, size/16, `""]`),
		"garbage":          stream("", "garbage.", size/8, ""),
		"stray UTF-8 tail": stream(`"`, "\x80\x81\x82\x83", size/4, `"`),
		"open lists":       stream(`{"a":{"b":[`, "[", size, ""),
		"members":          stream(`{`, `"0123456789":{},`, size/16, `"":0}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := readPayload(in, bigLimit, io.Discard)
			runtime.ReadMemStats(&after)
			if err != nil || got.Cut < size {
				t.Fatalf("cut %d, error %v", got.Cut, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("%d bytes allocated for a payload of %d, want at most %d", used, size, most)
			}
		})
	}
}

// jsonValue draws any JSON value whose strings hold no half of a surrogate
// pair, so that a replacement character in the output shows a split one.
func jsonValue(depth int) *rapid.Generator[any] {
	long := rapid.Custom(func(t *rapid.T) any {
		unit := rapid.SampledFrom([]string{"x", "é", "語", "😀", `"`, `\`, "\n", "\x00", `\ud83d`}).Draw(t, "unit")
		return strings.Repeat(unit, rapid.IntRange(1, 600).Draw(t, "times"))
	})
	leaf := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return strings.ReplaceAll(s, "\uFFFD", "?") }),
		long, long,
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 8), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zé"\\]{0,12}`), rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 8),
			func(m map[string]any) any { return m }),
	)
}

// asciiOnly writes every character above ASCII as an escape, so that pairs of
// surrogates occur.
func asciiOnly(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		}
	}
	return b.Bytes()
}

func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A container outside, because a number alone cannot be cut.
		value := []any{jsonValue(4).Draw(t, "value"), strings.Repeat("filler ", 100)}
		indent := rapid.SampledFrom([]string{"", " "}).Draw(t, "indent")
		text, err := json.MarshalIndent(value, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "ascii") {
			text = asciiOnly(text)
		}
		limit := rapid.IntRange(128, len(text)-1).Draw(t, "limit")
		chunk := rapid.IntRange(1, 700).Draw(t, "chunk")
		got, err := readPayload(chunks{bytes.NewReader(text), chunk}, limit, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if !got.JSON || !json.Valid(got.Data) || len(got.Data) > limit || got.Cut != int64(len(text)) {
			t.Fatalf("limit %d: json %v, %d bytes, cut %d of %d:\n%s", limit, got.JSON, len(got.Data), got.Cut, len(text), got.Data)
		}
		if !utf8.Valid(got.Data) {
			t.Fatalf("a character is split: %q", got.Data)
		}
		var in, out any
		if err := errors.Join(json.Unmarshal(text, &in), json.Unmarshal(got.Data, &out)); err != nil {
			t.Fatal(err)
		}
		if problem := beginning(out, in); problem != "" {
			t.Fatalf("limit %d: %s\nin:  %s\nout: %s", limit, problem, text, got.Data)
		}
	})
}

// chunks returns at most size bytes at a time.
type chunks struct {
	r    io.Reader
	size int
}

func (c chunks) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.size)]) }

// beginning says how out fails to be in with its ends left off: in lists and
// objects what stood last, in strings the end, with a note of how much.
func beginning(out, in any) string {
	switch o := out.(type) {
	case []any:
		i, ok := in.([]any)
		if !ok || len(o) > len(i) {
			return fmt.Sprintf("list %v made of %v", out, in)
		}
		for k := range o {
			if p := beginning(o[k], i[k]); p != "" {
				return p
			}
		}
	case map[string]any:
		i, ok := in.(map[string]any)
		if !ok {
			return fmt.Sprintf("object %v made of %v", out, in)
		}
		for k := range o {
			if _, ok := i[k]; !ok {
				return fmt.Sprintf("member %q is new", k)
			}
			if p := beginning(o[k], i[k]); p != "" {
				return p
			}
		}
	case string:
		i, ok := in.(string)
		if !ok {
			return fmt.Sprintf("string %q made of %v", out, in)
		}
		if o == i {
			return ""
		}
		at := strings.LastIndex(o, "… [")
		if at < 0 || !strings.HasSuffix(o, " bytes cut]") || !strings.HasPrefix(i, o[:at]) {
			return fmt.Sprintf("string %q made of %q", o, i)
		}
	default:
		if !cmp.Equal(out, in) {
			return fmt.Sprintf("%v made of %v", out, in)
		}
	}
	return ""
}

func FuzzReadPayload(f *testing.F) {
	for _, s := range []string{
		`{"a":"` + strings.Repeat("x", 300) + `","b":[1,2,{"c":null}]}`, `"` + strings.Repeat(`\ud83d\ude00`, 40) + `"`,
		strings.Repeat("[", 300), `[` + strings.Repeat("1,", 300) + `1]`, "\x80\xff", `{"a":"` + strings.Repeat("\x80", 300) + `"}`,
		strings.Repeat(" ", 200) + `{"a" : tru e}`, `{}` + strings.Repeat("x", 200), strings.Repeat(`"\u12`, 60),
	} {
		f.Add([]byte(s), 128)
		f.Add([]byte(`{"s":1,"b":`+s+`,"l":[`+strings.Repeat(`"x",{"y":[]},`, 200)+`0],"e":"f"}`), 1024)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		if limit < 128 || limit > 1<<16 {
			limit = 128
		}
		whole, err := readPayload(bytes.NewReader(in), limit, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		bytewise, err := readPayload(iotest.OneByteReader(bytes.NewReader(in)), limit, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole.Data, bytewise.Data) || whole.JSON != bytewise.JSON || whole.Cut != bytewise.Cut {
			t.Fatalf("read whole: %q %v %d\nbytewise:   %q %v %d", whole.Data, whole.JSON, whole.Cut, bytewise.Data, bytewise.JSON, bytewise.Cut)
		}
		if len(whole.Data) > limit || whole.JSON && !json.Valid(whole.Data) {
			t.Fatalf("limit %d: %d bytes, json %v: %q", limit, len(whole.Data), whole.JSON, whole.Data)
		}
		if len(in) <= limit && (whole.Cut != 0 || !bytes.Equal(whole.Data, in)) || len(in) > limit && whole.Cut != int64(len(in)) {
			t.Fatalf("%d bytes, limit %d: cut %d", len(in), limit, whole.Cut)
		}
		if first := bytes.TrimLeft(in, " \t\r\n"); json.Valid(in) && !whole.JSON && bytes.IndexByte([]byte(`{["`), first[0]) >= 0 {
			t.Fatalf("valid JSON became %q", whole.Data)
		} else if whole.JSON && whole.Cut > 0 && json.Valid(in) && first[0] == '{' {
			ms, kept := members(t, in), 0
			for _, m := range ms {
				if m.short() {
					kept += 2*len(m.name) + len(m.value) + len(`"":,`)
				}
			}
			// What is set aside for them at this limit, but for the little that
			// is not worth trying.
			if aside := max((limit-cutNote)/8, min(4<<10, (limit-cutNote)/4)); kept <= aside-minRoom {
				if problem := lost(ms, members(t, whole.Data)); problem != "" {
					t.Fatalf("%s\nin:  %q\nout: %q", problem, in, whole.Data)
				}
			}
		}
	})
}

func BenchmarkReadPayload(b *testing.B) {
	for name, in := range map[string][]byte{
		"4KB":         []byte(`{"a":"` + strings.Repeat("x", 4<<10) + `"}`),
		"1MB":         []byte(`{"a":"` + strings.Repeat("x", 1<<20-100) + `"}`),
		"16MB/string": []byte(`{"a":"` + strings.Repeat("x", 16<<20) + `"}`),
		"16MB/lines":  []byte(`{"a":"` + strings.Repeat(`some text of a line\n`, 16<<20/21) + `"}`),
		"16MB/list":   []byte(`[` + strings.Repeat(`{"a":"b","c":12},`, 16<<20/17) + `0]`),
		"16MB/patch":  []byte(`{"r":{"p":[` + strings.Repeat(`"+\tfmt.Println(\"hello\", x)",`, 16<<20/31) + `0]},"e":1}`),
		"16MB/short":  []byte(`{` + strings.Repeat(`"a":"12345",`, 16<<20/12) + `"e":1}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readPayload(bytes.NewReader(in), bigLimit, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

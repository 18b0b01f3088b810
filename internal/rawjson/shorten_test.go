package rawjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name, text string
		limit      Limit
		want       string
		left       int
	}{
		{"short enough", `{"path": "a.go"}`, Limit{Max: 16}, `{"path": "a.go"}`, 0},
		{"short enough without space", ` { "path" : "a.go" }`, Limit{Max: 15}, `{"path":"a.go"}`, 0},
		{"nothing", "", Limit{Max: 20}, "", 0},
		{"no limit", `["` + long + `"]`, Limit{}, `["` + long + `"]`, 0},
		{"the longest string first", `{"content":"` + long + `","path":"src/a.go"}`, Limit{Max: 60, Characters: true}, `{"content":"` + strings.Repeat("x", 27) + `…","path":"src/a.go"}`, 0},
		{"bytes", `{"content":"` + long + `","path":"src/a.go"}`, Limit{Max: 60}, `{"content":"` + strings.Repeat("x", 25) + `…","path":"src/a.go"}`, 0},
		{"members are sorted", `{"z":"` + long + `","a":1}`, Limit{Max: 30, Characters: true}, `{"a":1,"z":"` + strings.Repeat("x", 15) + `…"}`, 0},
		{"strings that are words stay", `[{"role":"assistant","a":"` + long + `"},{"role":"user"}]`, Limit{Max: 62, Least: 9, Characters: true}, `[{"a":"xxxxxxxxxxxxxxxx…","role":"assistant"},{"role":"user"}]`, 0},
		{"each string", `["` + long + `",["12345"]]`, Limit{Each: 5, Characters: true}, `["xxxx…",["12345"]]`, 0},
		{"elements before members", `{"a":[1,2,3,4,5,6,7,8,9,10,11,12],"b":1,"c":true}`, Limit{Max: 40, Characters: true}, `{"a":[1,2,3,4,5,{"…":7}],"b":1,"c":true}`, 7},
		{"lists that a count would make longer", `{"a":[1,2],"b":[1,2],"c":[1,2],"z":"` + long + `"}`, Limit{Max: 54, Characters: true}, `{"a":[1,2],"b":[1,2],"c":[1,2],"z":"` + strings.Repeat("x", 15) + `…"}`, 0},
		{"some lists that a count would make longer", `{"a":[1,2],"b":[1,2],"c":[1,2],"z":[1,2,3,4,5,6,7,8]}`, Limit{Max: 49, Characters: true}, `{"a":[1,2],"b":[1,2],"c":[1,2],"z":[1,2,{"…":6}]}`, 6},
		{"of each list as many", `[[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8]]`, Limit{Max: 32, Characters: true}, `[[1,2,{"…":6}],[1,2,{"…":6}]]`, 12},
		{"members", `{"a":1,"b":2,"c":3,"d":4,"e":5}`, Limit{Max: 20, Characters: true}, `{"a":1,"b":2,"…":3}`, 3},
		{"a long name", `{"` + long + `":1,"b":2}`, Limit{Max: 20, Characters: true}, `{"b":2,"…":1}`, 1},
		{"a long number", `{"b":` + strings.Repeat("1", 100) + `}`, Limit{Max: 20, Characters: true}, `{"…":1}`, 1},
		{"what was left out before counts", `[1,2,{"…":6}]`, Limit{Max: 11, Characters: true}, `[1,{"…":7}]`, 7},
		{"members that were left out before", `{"a":12,"b":12,"…":6}`, Limit{Max: 14, Characters: true}, `{"a":12,"…":7}`, 7},
		{"members with names behind the mark's", `{"中":1,"…":1}`, Limit{Max: 10}, `{"…":2}`, 2},
		{"counts that are no counts", `[1,2,{"…":9223372036854775807},{"…":1e400},{"…":-5}]`, Limit{Max: 22}, `[1,{"…":2147483650}]`, 2147483650},
		{"a count of another kind", `{"a":[1,2,3],"b":{"…":6},"c":"`, Limit{}, `"{\"a\":[1,2,3],\"b\":{\"…\":6},\"c\":\""`, 0},
		{"deep", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), Limit{Max: 20, Characters: true}, `[{"…":1}]`, 1},
		{"no room for the count", `[1,2,3,4,5]`, Limit{Max: 4}, `[]`, 5},
		{"no room for members", `{"a":1}`, Limit{Max: 4}, `{}`, 1},
		{"no room", `{"a":1}`, Limit{Max: 1}, ``, 0},
		{"a string", `"` + long + `"`, Limit{Max: 7}, `"xx…"`, 0},
		{"a string without room for the mark", `"` + long + `"`, Limit{Max: 4}, `""`, 0},
		{"a number", `123456`, Limit{Max: 5}, ``, 0},
		{"no JSON", long, Limit{Max: 20, Characters: true}, `"` + strings.Repeat("x", 17) + `…"`, 0},
		{"a cut object", `{"command":"go te…`, Limit{Max: 40}, `"{\"command\":\"go te…"`, 0},
		{"characters", `"` + strings.Repeat("é", 30) + `"`, Limit{Max: 30}, `"` + strings.Repeat("é", 12) + `…"`, 0},
		{"escapes", `"ab\n\n\ncd"`, Limit{Max: 8, Characters: true}, `"ab\n…"`, 0},
		{"pairs of escapes", `"ab\ud83d\ude00cd"`, Limit{Max: 5, Characters: true}, `"ab…"`, 0},
		{"bytes that are no character", "[\"\xff\"]", Limit{Max: 20}, "[\"\ufffd\"]", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, left := Shorten(tt.text, tt.limit); got != tt.want || left != tt.left {
				t.Errorf("%d left out, want %d\ngot  %s\nwant %s", left, tt.left, got, tt.want)
			}
		})
	}
}

func FuzzShorten(f *testing.F) {
	for _, seed := range []string{
		`{"command":"npm test","timeout":120}`, `[1,[2,[3,{"a":"\ud83d\ude00"}]],{"…":3}]`, `"\u00e9\\"`, "{\"\xff\":\"\xff\"}", `{"…":1,"a":[{"…":-4}]}`, `nul`, ` [ "a" , null ] `, `1e400`,
	} {
		for _, n := range []int{1, 9, 30} {
			f.Add(seed, n, n%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, text string, n int, characters bool) {
		if n <= 0 || n > 1<<20 {
			return
		}
		l := Limit{Max: n, Characters: characters}
		got, left := Shorten(text, l)
		if len(got) > n && !(characters && utf8.RuneCountInString(got) <= n) || left < 0 || !utf8.ValidString(got) {
			t.Fatalf("Shorten(%q, %+v) = %q, %d", text, l, got, left)
		}
		if again, _ := Shorten(text, l); again != got {
			t.Fatalf("a second time %q, first %q", again, got)
		}
		if got == "" {
			if n > 1 && text != "" && (text[0] == '{' || text[0] == '[' || !json.Valid([]byte(text))) {
				t.Fatalf("Shorten(%q, %+v) is empty", text, l)
			}
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("Shorten(%q, %+v) = %q, which is not JSON", text, l, got)
		}
		if same, none := Shorten(got, l); same != got || none != 0 {
			t.Fatalf("Shorten(%q, %+v) = %q, of which that is %q", text, l, got, same)
		}
	})
}

// BenchmarkShorten has texts of which the second is twice the first.
func BenchmarkShorten(b *testing.B) {
	for _, n := range []int{100_000, 200_000} {
		var members strings.Builder
		for i := range n {
			fmt.Fprintf(&members, `"k%d":1,`, i)
		}
		for name, text := range map[string]string{
			"elements": "[" + strings.Repeat(`"abc",`, n) + "1]",
			"objects":  "[" + strings.Repeat(`{"a":[1,"text of some length"]},`, n/5) + "1]",
			"members":  "{" + members.String() + `"z":1}`,
			"text":     `{"a":"` + strings.Repeat(`line\n`, n) + `","b":1}`,
		} {
			for _, limit := range []int{200, n} {
				b.Run(fmt.Sprint(name, n, "to", limit), func(b *testing.B) {
					for b.Loop() {
						Shorten(text, Limit{Max: limit})
					}
				})
			}
		}
	}
}

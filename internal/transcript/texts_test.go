package transcript

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextsAreCutToWholeCharacters(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"é", 1, ""}, {"a\xff\xff\xff", 2, "a\xff"}, {"", 0, ""}} {
		if got := cutText(tt.s, tt.n); got != tt.want {
			t.Errorf("cutText(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestInputsStayJSONWhenCut(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, tt := range []struct{ name, in, want string }{
		{"short", `{"a":"b"}`, `{"a":"b"}`},
		{"a long text", `{"content":"` + long + `","n":1.50,"path":"x"}`, `{"content":"` + strings.Repeat("é", 45) + `…","n":1.50,"path":"x"}`},
		{"in a list", `{"edits":[{"new":"` + long + `"}]}`, `{"edits":[{"new":"` + strings.Repeat("é", 51) + `…"}]}`},
		{"long for another reason", `[` + strings.Repeat("1,", 100) + `1]`, `[` + strings.Repeat("1,", 58) + `{"…":43}]`},
		{"no JSON", strings.Repeat("x", 200), `"` + strings.Repeat("x", 123) + `…"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := cutJSON(tt.in, 128)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
			if strings.HasPrefix(tt.in, "{") && !json.Valid([]byte(got)) {
				t.Errorf("%q is no JSON any more", got)
			}
		})
	}
}

package hookmatch

import (
	"testing"

	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// A rule on a path is tried on the path and on its target.
func TestPathRulesFollowLinks(t *testing.T) {
	links := map[string]string{"/ws/docs/a": "/real/ws/.env", "/ws": "/real/ws", "/ws/b": "/real/ws/b"}
	s := plain.Scope{Dir: "/ws", Project: "/ws", Home: "/home/dev", GOOS: "linux", Target: func(path string) string {
		if to := links[path]; to != "" {
			return to
		}
		return path
	}}
	for _, tt := range []struct {
		rule, path string
		want       bool
	}{
		{"Read(.env)", "/ws/docs/a", true},
		{"Read(docs/**)", "/ws/docs/a", true},
		{"Read(/.env)", "/ws/docs/a", true},
		{"Read(//real/**)", "/ws/docs/a", true},
		{"Read(src/**)", "/ws/docs/a", false},
		{"Read(.env)", "/ws/b", false},
	} {
		r, err := ParseRule(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := r.Match(s, plain.Call{Tool: "Read", Input: []byte(`{"file_path":"` + tt.path + `"}`)}); got != tt.want {
			t.Errorf("%s on %s: %t (%s)", tt.rule, tt.path, got, why)
		}
	}
}

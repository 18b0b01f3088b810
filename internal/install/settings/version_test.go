package settings

import "testing"

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"2.1.329 (Claude Code)": {2, 1, 329}, "v1.0.0": {1, 0, 0}, " 2.1.0\n": {2, 1, 0}, "2.2.0-beta.1": {2, 2, 0},
		"": {}, "Claude Code": {}, "2.1": {}, "2.1.x": {}, "2.1.-3": {}, "1.2.3.4": {},
	} {
		if got := parseVersion(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestVersionHas(t *testing.T) {
	tests := []struct {
		v, since Version
		want     bool
	}{
		{Version{2, 1, 139}, Version{2, 1, 139}, true},
		{Version{2, 1, 138}, Version{2, 1, 139}, false},
		{Version{2, 2, 0}, Version{2, 1, 139}, true},
		{Version{1, 9, 999}, Version{2, 0, 43}, false},
		{Version{1, 0, 0}, Version{}, true},
		{Version{}, Version{2, 1, 139}, true},
	}
	for _, tt := range tests {
		if got := tt.v.has(tt.since); got != tt.want {
			t.Errorf("%v has what came with %v: %v", tt.v, tt.since, got)
		}
	}
}

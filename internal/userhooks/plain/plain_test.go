package plain

import (
	"slices"
	"testing"
)

func TestMatchersThatAreNames(t *testing.T) {
	subjects := []string{"Edit", "replace_in_file"}
	for text, tc := range map[string]struct {
		event, fits, expression string
	}{
		"":                      {"PreToolUse", "Edit", ""},
		"*":                     {"PreToolUse", "Edit", ""},
		"Edit":                  {"PreToolUse", "Edit", ""},
		"Bash|Edit":             {"PreToolUse", "Edit", ""},
		"Bash, replace_in_file": {"PreToolUse", "replace_in_file", ""},
		"Bash":                  {"PreToolUse", "", ""},
		"|":                     {"PreToolUse", "", ""},
		"edit":                  {"PreToolUse", "", ""},
		"Edi.":                  {"PreToolUse", "", "Edi."},
		"^Edit$":                {"Stop", "Edit", ""},
		"rate limit":            {"StopFailure", "", "rate limit"},
		"mcp__My Server__do it": {"PreToolUse", "", ""},
		"mcp__My Server__do.*":  {"PreToolUse", "", "mcp__My_Server__do.*"},
	} {
		m, expression := Compile(tc.event, text)
		got, ok, err := m.Match(subjects)
		if got != tc.fits || ok != (tc.fits != "") || err != nil || expression != tc.expression {
			t.Errorf("%s %q: fits %q, expression %q; want %q, %q", tc.event, text, got, expression, tc.fits, tc.expression)
		}
	}
	if m, _ := Compile("PreToolUse", "mcp__My Server__do it"); !slices.Equal(m.Names, []string{"mcp__My_Server__do_it"}) {
		t.Errorf("names %q", m.Names)
	}
	if _, ok, _ := (Matcher{All: true}).Match(nil); !ok {
		t.Error("a matcher for everything does not fit an event without a name")
	}
}

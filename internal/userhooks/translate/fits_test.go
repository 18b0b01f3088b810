package translate

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// All events and subjects of calls are announced: a hook process that starts nothing
// for other names must miss no hook.
func TestCallsHaveAnnouncedSubjects(t *testing.T) {
	announced := ToolSubjects()
	tried := map[string]bool{}
	for _, tt := range reversible {
		names, known := announced[tt.tool]
		if !known {
			continue
		}
		tried[tt.tool] = true
		for _, dialect := range []string{"classic", "next", "sdk"} {
			if dialect != "sdk" && tt.in[0] != '{' {
				continue // parameters are an object there
			}
			c := call(t, pre(t, dialect, tt.tool, tt.in), here)
			for _, e := range c.Events {
				if !slices.Contains(EventsOf(hook.KindToolStart), e.Name) {
					t.Errorf("%s %s: event %s is not announced", tt.tool, tt.in, e.Name)
				}
				for _, s := range e.Subjects {
					if !slices.Contains(names, s) {
						t.Errorf("%s %s, %s: %s is not among %q", tt.tool, tt.in, dialect, s, names)
					}
				}
			}
		}
	}
	for _, tool := range []string{"editor", "apply_patch", "run_commands", "read_files", "search_codebase", "fetch_web_content", "spawn_agent", "use_skill"} {
		if !tried[tool] {
			t.Errorf("no call of %s was tried", tool)
		}
	}
	for _, tool := range []string{mcpByName, "brand_new_tool", "s__t"} {
		if names, ok := announced[tool]; ok {
			t.Errorf("%s: announced as %q, but its calls can have any name", tool, names)
		}
	}
}

package settings

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// TestTOMLPartIsAddedAndTakenOut edits requirements of an administrator's.
func TestTOMLPartIsAddedAndTakenOut(t *testing.T) {
	a := &Spec{Agent: hook.Agent{Name: "Test Agent"}, Events: append(Events("Stop"), Event{Name: "End", Timeout: 1})}
	w := a.wanted("linux", "/usr/bin/claude-hook", Version{})
	byHand := "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = '/usr/bin/claude-hook Stop'\n"
	tests := map[string]struct {
		text   string
		header int // of [hooks] afterwards
		fails  string
	}{
		"no file":             {"", 1, ""},
		"other settings":      {"a = 1 # mine\n", 1, ""},
		"no line's end":       {"a = 1", 1, ""},
		"hooks of others":     {"[hooks]\nmanaged_dir = \"/opt\"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"/opt/x\"\n", 1, ""},
		"blanks in a header":  {"[ hooks ] # mine\nmanaged_dir = \"/opt\"\n", 0, ""},
		"a quoted header":     {"[\"hooks\"]\nmanaged_dir = \"/opt\"\n[[\"hooks\".'Stop']]\n", 0, ""},
		"a header in a text":  {"a = \"\"\"\n[hooks]\n\"\"\"\n", 2, ""},
		"a key in a text":     {"a = '''\nhooks = 1\n'''\n", 1, ""},
		"another's key":       {"[x]\nhooks.a = 1\n", 1, ""},
		"an event's value":    {"[hooks]\nmanaged_dir = \"/opt\"\nStop = []\n", 0, "takes no more"},
		"dotted keys":         {"hooks.managed_dir = \"/opt\"\n", 0, "takes no more"},
		"an inline table":     {"a = 1\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"values behind lists": {"a = [\n  [1, \"]\"],\n  [2] # ]\n]\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"a bracket in a text": {"a = \"\"\"say \"[\" to\n\"\"\"\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"a text in a list":    {"a = [\n  \"\"\"\n  ]\n  \"\"\",\n]\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"a list in a remark":  {"a = \"\"\"\n\"\"\" # [\nb = [ # \"\"\"\n  [\"x\"]]\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"quotes in a remark":  {"# a \"\"\" b [\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"quotes in a text":    {"a = \"'''\"\n\"b=[\" = \"\\\"[\"\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"a quote at an end":   {"a = [\"\"\"\nb\"\"\"\"]\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"an escaped quote":    {"a = \"\"\"\\\"\"\" [\n\"\"\"\nhooks = { Stop = [] }\n", 0, "takes no more"},
		"a list, no header":   {"a = [\n  [\"hooks\"]\n]\n", 1, ""},
		"hooks by hand":       {byHand, 0, "written by hand"},
		"a part cut in two":   {tomlMark + "\nx\n", 0, "is missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			added, changes, err := a.editTOML(install.File{Data: []byte(tt.text)}, w, false, inManaged)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || len(changes) != 2 || strings.Count(string(added), "[hooks]\n") != tt.header {
				t.Fatalf("%v, %v:\n%s", err, changes, added)
			}
			again, _, err := a.editTOML(install.File{Data: added}, w, false, inManaged)
			if diff := cmp.Diff(string(added), string(again)); diff != "" || err != nil {
				t.Errorf("a second time, %v:\n%s", err, diff)
			}
			states, err := a.hookStates("linux", a.tomlHooks(added), "", inManaged)
			for _, h := range states {
				if h.State != install.StateOutdated || !strings.Contains(h.Reason, "is gone") && h.State != install.StateInstalled {
					t.Errorf("%s is %s %s, %v", h.Event, h.State, h.Reason, err)
				}
			}
			windows := strings.ReplaceAll(string(added), "\n", "\r\n")
			if out, _, err := a.editTOML(install.File{Data: []byte(windows)}, w, true, inManaged); err != nil || strings.Contains(string(out), "claude-hook") {
				t.Errorf("taken out with other line ends, %v:\n%s", err, out)
			}
			bare := regexp.MustCompile("(?m)^#.*\n").ReplaceAllString(string(added), "")
			if out, _, err := a.editTOML(install.File{Data: []byte(bare)}, w, true, inManaged); err == nil {
				t.Errorf("hooks without their comments stay in silence:\n%s", out)
			}
			out, _, err := a.editTOML(install.File{Data: added}, w, true, inManaged)
			if diff := cmp.Diff(strings.TrimSpace(tt.text), strings.TrimSpace(string(out))); diff != "" || err != nil {
				t.Errorf("taken out, %v:\n%s", err, diff)
			}
		})
	}
}

// TestTOMLListIsAddedAndTakenOut edits settings of a user's, to the byte.
func TestTOMLListIsAddedAndTakenOut(t *testing.T) {
	a := &Spec{
		Agent: hook.Agent{Name: "Test Agent", Word: "test"}, Listed: true,
		Events: append(Events("Stop"), Event{Name: "Begin", Since: Version{2, 0, 0}}),
	}
	w := a.wanted("linux", "/usr/bin/claude-hook", Version{})
	const others = "[[hooks]]\nevent = \"Stop\"\ncommand = \"/opt/x\" # mine\n"
	for name, tt := range map[string]struct{ text, fails string }{
		"no file":           {"", ""},
		"other settings":    {"a = 1 # mine\n\n[x]\nb = 2\n", ""},
		"no line's end":     {"a = 1", ""},
		"empty lines":       {"a = 1\n\n\n", ""},
		"hooks of others":   {others, ""},
		"Windows' lines":    {strings.ReplaceAll(others, "\n", "\r\n"), ""},
		"a key in a text":   {"a = '''\nhooks = 1\n'''\n", ""},
		"another's key":     {"[x]\nhooks = 1\n", ""},
		"an inline list":    {"hooks = [{event = \"Stop\", command = \"x\"}]\n", "write them as tables [[hooks]]"},
		"a quoted key":      {"\"hooks\" = []\n", "write them as tables [[hooks]]"},
		"a table":           {"[hooks]\nStop = 1\n", "write them as tables [[hooks]]"},
		"a part cut in two": {tomlMark + "\nx\n", "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(text []byte, w wantedHandler, undo bool) []byte {
				out, _, err := a.editTOML(install.File{Data: text}, w, undo, inManaged)
				if failed := err != nil; failed != (tt.fails != "") || failed && !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want %q", err, tt.fails)
				}
				return out
			}
			added := edit([]byte(tt.text), w, false)
			if tt.fails != "" {
				return
			}
			if n := strings.Count(string(added), "/usr/bin/claude-hook"); n != 2 {
				t.Errorf("%d hooks in\n%s", n, added)
			}
			if diff := cmp.Diff(string(added), string(edit(added, w, false))); diff != "" {
				t.Errorf("a second time:\n%s", diff)
			}
			if diff := cmp.Diff(tt.text, string(edit(added, w, true))); diff != "" {
				t.Errorf("taken out:\n%s", diff)
			}
			windows := func(text string) string {
				return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
			}
			if diff := cmp.Diff(windows(tt.text), string(edit([]byte(windows(string(added))), w, true))); diff != "" {
				t.Errorf("taken out with other line ends:\n%s", diff)
			}
			behind := tt.text + "[y]\n"
			if strings.TrimSuffix(tt.text, "\n") == tt.text && tt.text != "" {
				behind = tt.text + "\n[y]\n"
			}
			if diff := cmp.Diff(behind, string(edit(append(bytes.Clone(added), "[y]\n"...), w, true))); diff != "" {
				t.Errorf("taken out before what was written since:\n%s", diff)
			}
			bare := []byte(regexp.MustCompile("(?m)^#.*\n").ReplaceAllString(string(added), ""))
			if out := edit(bare, w, true); strings.Contains(string(out), "claude-hook") || strings.Contains(tt.text, "/opt/x") != strings.Contains(string(out), "/opt/x") {
				t.Errorf("taken out without its comments:\n%s", out)
			}
			if out := string(edit(append(bare, "\n# mine, too\n[y]\n"...), w, true)); !strings.Contains(out, "# mine, too\n[y]\n") || strings.Contains(out, "claude-hook") {
				t.Errorf("taken out before a comment:\n%s", out)
			}
			if out := edit(bare, w, false); strings.Count(string(out), "/usr/bin/claude-hook") != 2 {
				t.Errorf("installed again without its comments:\n%s", out)
			}
			mine := bytes.Replace(added, []byte("timeout = 10"), []byte("timeout = 30"), 1)
			forced := w
			forced.force = true
			if diff := cmp.Diff(string(mine), string(edit(mine, w, false))) + cmp.Diff(string(added), string(edit(mine, forced, false))); diff != "" {
				t.Errorf("edited, without and with --force:\n%s", diff)
			}
			old := edit(added, a.wanted("linux", "/usr/bin/claude-hook", Version{1, 9, 0}), false)
			if strings.Contains(string(old), "Begin") || !strings.Contains(string(old), "Stop") {
				t.Errorf("for a version without an event:\n%s", old)
			}
		})
	}
}

// TestHandlersWithoutGroups puts hooks into the file of an agent that skips one with groups.
func TestHandlersWithoutGroups(t *testing.T) {
	a := &Spec{Agent: hook.Agent{Name: "Test Agent"}, Events: Events("stop"), Members: []string{"version"}, ManagedEmpty: "{\"version\": 1}\n", ManagedFlat: true}
	w := a.wanted("linux", "/usr/bin/claude-hook", Version{})
	w.flat = true
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	added, _, err := a.editJSON(install.File{}, w, false)
	if err != nil || !strings.Contains(string(added), `"version": 1`) || strings.Count(string(added), "hooks") != 1 {
		t.Fatalf("%v:\n%s", err, added)
	}
	for name, before := range map[string]string{"alone": "", "beside another's": `{"version": 1, "hooks": {"stop": [{"type": "command", "command": "/opt/x"}]}}`} {
		t.Run(name, func(t *testing.T) {
			found := install.File{Data: []byte(before)}
			if before != "" {
				found.Info = info
			}
			added, _, err := a.editJSON(found, w, false)
			if err != nil {
				t.Fatal(err)
			}
			again, changes, err := a.editJSON(install.File{Data: added, Info: info}, w, false)
			if diff := cmp.Diff(string(added), string(again)); diff != "" || err != nil || changes[0].op != install.OpKeep {
				t.Errorf("a second time, %v, %v:\n%s", err, changes, diff)
			}
			out, _, err := a.editJSON(install.File{Data: added, Info: info}, w, true)
			if diff := cmp.Diff(before, string(out)); diff != "" || err != nil {
				t.Errorf("taken out, %v:\n%s", err, diff)
			}
		})
	}
}

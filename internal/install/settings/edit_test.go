package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

const testHook = "/opt/hookspan/claude-hook"

// anyProgram takes each program of hookspan's name for hookspan's.
func anyProgram(string) bool { return true }

// testing.TB and *rapid.T have these in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func installText(t failer, text string, w wantedHandler, empty emptied) (string, []change, emptied) {
	t.Helper()
	e, err := testAgent().open([]byte(text), empty, anyProgram)
	if err != nil {
		t.Fatalf("open %q: %v", text, err)
	}
	changes, err := e.install(w)
	if err != nil {
		t.Fatalf("install into %q: %v", text, err)
	}
	return string(e.text), changes, e.empty
}

func uninstallText(t failer, text string, empty emptied) string {
	t.Helper()
	e, err := testAgent().open([]byte(text), empty, anyProgram)
	if err != nil {
		t.Fatalf("open %q: %v", text, err)
	}
	if _, err := e.uninstall(); err != nil {
		t.Fatalf("uninstall from %q: %v", text, err)
	}
	return string(e.text)
}

// decode reads a text with its numbers as they are spelled.
func decode(t failer, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, jsonedit.ByteOrderMark)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return v
}

// without takes hookspan's groups out of decoded settings, and what is empty
// then.
func without(v any) any {
	root, ok := v.(map[string]any)
	if !ok {
		return v
	}
	hooks, ok := root[hooksKey].(map[string]any)
	if !ok {
		return v
	}
	for event, list := range hooks {
		groups, _ := list.([]any)
		groups = slices.DeleteFunc(groups, func(g any) bool {
			b, _ := json.Marshal(g)
			return bytes.Contains(b, []byte(testHook))
		})
		if hooks[event] = groups; len(groups) == 0 {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 {
		delete(root, hooksKey)
	}
	return root
}

func TestInstallIntoSettings(t *testing.T) {
	full := testAgent().wanted("linux", testHook, Version{2, 1, 329})
	data, err := os.ReadFile("testdata/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"nothing":           "{}\n",
		"loose nothing":     " { \n } ",
		"a setting":         "{\n  \"model\": \"opus\"\n}\n",
		"a real file":       string(data),
		"tabs, no end":      "{\n\t\"a\": 1.0e+2,\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [] }\n\t\t]\n\t}\n}",
		"CRLF, four spaces": "{\r\n    \"a\": 1\r\n}\r\n",
		"one line":          `{"z":1,"a":{"b":[1,2]}}`,
		"empty hooks":       "{\"hooks\": {  }}",
		"empty events":      "{\n  \"hooks\": {\n    \"Stop\": [\n    ],\n    \"SessionEnd\":[ ]\n  }\n}",
		"hooks not last":    "{\n  \"hooks\": {},\n  \"x\": 1\n}",
		"hooks twice":       `{"hooks":{"Stop":[]},"a":1,"hooks":{}}`,
		"escaped key":       `{"h\u006foks":{"St\u006fp":[]}}`,
		"mark":              jsonedit.ByteOrderMark + "{\n  \"a\": 1\n}\n",
		"odd groups":        `{"hooks":{"Stop":[1,null,"x",{"hooks":{}},{"hooks":[null,{"type":"command"}]}]}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			after, changes, empty := installText(t, text, full, nil)
			if len(changes) != len(testAgent().Events) {
				t.Errorf("%d changes, want one for each of %d events", len(changes), len(testAgent().Events))
			}
			e, err := testAgent().open([]byte(after), nil, anyProgram)
			if err != nil {
				t.Fatalf("the result cannot be read: %v", err)
			}
			var events []string
			for _, f := range e.find() {
				if state, reason := full.judge(f.handler, f.event, f.matcher); state != install.StateInstalled {
					t.Errorf("%s is %s: %s", f.event, state, reason)
				}
				events = append(events, f.event)
			}
			slices.Sort(events)
			var want []string
			for _, ev := range testAgent().Events {
				want = append(want, ev.Name)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			again, changes, _ := installText(t, after, full, empty)
			if again != after || slices.ContainsFunc(changes, func(c change) bool { return c.op != install.OpKeep }) {
				t.Errorf("a second install changes something: %v", changes)
			}
			if diff := cmp.Diff(text, uninstallText(t, after, empty)); diff != "" {
				t.Errorf("after uninstalling (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstalledText(t *testing.T) {
	w := testAgent().wanted("linux", testHook, Version{1, 0, 100})
	got, _, _ := installText(t, "{\n  \"model\": \"opus\"\n}\n", w, nil)
	want := "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n" +
		"            \"type\": \"command\",\n            \"command\": \"GOMEMLIMIT= GODEBUG= '/opt/hookspan/claude-hook' SessionStart 2>/dev/null || cat >/dev/null\",\n            \"timeout\": 10\n" +
		"          }\n        ]\n      }\n    ],\n    \"UserPromptSubmit\": [\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("text:\n%s\nwant it to begin with:\n%s", got, want)
	}
	if strings.Contains(got, "StopFailure") || !strings.Contains(got, "'/opt/hookspan/claude-hook' SessionEnd") {
		t.Errorf("an old version gets the wrong events:\n%s", got)
	}
	// What an agent in JavaScript writes when it changes a setting is the same text.
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(got), "", "  "); err != nil || b.String() != got {
		t.Errorf("not laid out as JSON.stringify does (%v):\n%s", err, got)
	}
}

func TestInstallUpdatesEntries(t *testing.T) {
	known := testAgent().wanted("linux", testHook, Version{2, 1, 329})
	old := testAgent().wanted("linux", testHook, Version{2, 1, 100})
	unknown := testAgent().wanted("linux", testHook, Version{})
	forced := known
	forced.force = true
	const (
		args  = `{"type":"command","command":"/usr/bin/env","args":["GOMEMLIMIT=","GODEBUG=","/opt/hookspan/claude-hook","Stop"],"timeout":10}`
		good  = `{"type":"command","command":"GOMEMLIMIT= GODEBUG= '/opt/hookspan/claude-hook' Stop 2>/dev/null || cat >/dev/null","timeout":10}`
		guard = `{"type":"command","command":"guard.sh"}`
	)
	tests := map[string]struct {
		w            wantedHandler
		groups, want string
		op           install.Op
		reason       string
	}{
		"as it should be":    {known, `{"hooks":[` + good + `]}`, `{"hooks":[` + good + `]}`, install.OpKeep, ""},
		"other program":      {known, `{"hooks":[{"type":"command","command":"/old/claude-hook","args":["Stop"],"timeout":10}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "starts /old/claude-hook"},
		"bare name":          {known, `{"hooks":[{"type":"command","command":"claude-hook Stop","timeout":10}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "starts claude-hook"},
		"Windows program":    {known, `{"hooks":[{"type":"command","command":"C:\\x y\\claude-hook.exe","args":["Stop"],"timeout":10}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, `starts C:\x y`},
		"args":               {known, `{"hooks":[` + args + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "env alone prints all variables"},
		"args, old version":  {old, `{"hooks":[` + args + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "before 2.1.139"},
		"args, unknown":      {unknown, `{"hooks":[` + args + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "has args"},
		"unknown version":    {unknown, `{"hooks":[` + good + `]}`, `{"hooks":[` + good + `]}`, install.OpKeep, ""},
		"other event":        {known, `{"hooks":[` + strings.Replace(good, "Stop", "SessionEnd", 1) + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, `reports "SessionEnd"`},
		"in the background":  {known, `{"hooks":[` + strings.TrimSuffix(good, "}") + `,"async":true}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "has async true"},
		"without a guard":    {known, `{"hooks":[{"type":"command","command":"/opt/hookspan/claude-hook Stop","timeout":10}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "malformed GOMEMLIMIT"},
		"shell, no guard":    {unknown, `{"hooks":[{"type":"command","command":"'/opt/hookspan/claude-hook' Stop","timeout":10}]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "malformed GOMEMLIMIT"},
		"without a timeout":  {known, `{"hooks":[` + strings.Replace(good, `,"timeout":10`, "", 1) + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "has no timeout"},
		"double":             {known, `{"hooks":[` + good + `]},{"hooks":[` + good + `]}`, `{"hooks":[` + good + `]}`, install.OpKeep, ""},
		"double in a group":  {known, `{"hooks":[` + args + `,` + good + `]}`, `{"hooks":[` + good + `]}`, install.OpKeep, ""},
		"beside the user's":  {known, `{"hooks":[` + args + `,` + guard + `]}`, `{"hooks":[` + good + `,` + guard + `]}`, install.OpUpdate, "has args"},
		"matcher for all":    {known, `{"matcher":"*","hooks":[` + good + `]}`, `{"matcher":"*","hooks":[` + good + `]}`, install.OpKeep, ""},
		"matcher":            {known, `{"matcher":"Bash","hooks":[` + good + `]}`, `{"matcher":"Bash","hooks":[` + good + `]}`, install.OpEdited, `the matcher "Bash"`},
		"matcher, forced":    {forced, `{"matcher":"Bash","hooks":[` + guard + `,` + good + `]}`, `{"matcher":"Bash","hooks":[` + guard + `]},{"hooks":[` + good + `]}`, install.OpUpdate, `the matcher "Bash"`},
		"more members":       {known, `{"hooks":[` + strings.TrimSuffix(good, "}") + `,"statusMessage":"x"}]}`, `{"hooks":[` + strings.TrimSuffix(good, "}") + `,"statusMessage":"x"}]}`, install.OpEdited, "has additional members: statusMessage"},
		"more, other place":  {known, `{"hooks":[{"if":"Bash(*)","type":"command","command":"/old/claude-hook","timeout":7.50}]}`, `{"hooks":[{"type":"command","command":"GOMEMLIMIT= GODEBUG= '/opt/hookspan/claude-hook' Stop 2>/dev/null || cat >/dev/null","timeout":7.50,"if":"Bash(*)"}]}`, install.OpUpdate, "starts /old"},
		"other timeout":      {known, `{"hooks":[` + strings.Replace(good, "10", "30", 1) + `]}`, `{"hooks":[` + strings.Replace(good, "10", "30", 1) + `]}`, install.OpEdited, "another timeout"},
		"timeout, forced":    {forced, `{"hooks":[` + strings.Replace(good, "10", "30", 1) + `]}`, `{"hooks":[` + good + `]}`, install.OpUpdate, "another timeout"},
		"a bridge's handler": {known, `{"hooks":[{"type":"command","command":"claude-hook --port 3043"}]}`, `{"hooks":[{"type":"command","command":"claude-hook --port 3043"}]},{"hooks":[` + good + `]}`, install.OpCreate, ""},
		"another's script":   {known, `{"hooks":[{"type":"command","command":"node /x/claude-hook.cjs"}]}`, `{"hooks":[{"type":"command","command":"node /x/claude-hook.cjs"}]},{"hooks":[` + good + `]}`, install.OpCreate, ""},
		"another type":       {known, `{"hooks":[{"type":"http","command":"claude-hook"}]}`, `{"hooks":[{"type":"http","command":"claude-hook"}]},{"hooks":[` + good + `]}`, install.OpCreate, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, changes, _ := installText(t, `{"hooks":{"Stop":[`+tt.groups+`]}}`, tt.w, nil)
			want := `{"hooks":{"Stop":[` + tt.want + `]`
			if !strings.HasPrefix(got, want+`,"`) {
				t.Errorf("text %.400s\nwant %s", got, want)
			}
			i := slices.IndexFunc(changes, func(c change) bool { return c.event == "Stop" && c.op != install.OpRemove })
			if i < 0 || changes[i].op != tt.op || !strings.Contains(changes[i].reason, tt.reason) {
				t.Errorf("changes %v, want %s with %q", changes, tt.op, tt.reason)
			}
		})
	}
}

func TestInstallRemovesHooksOfOtherEvents(t *testing.T) {
	w := testAgent().wanted("linux", testHook, Version{})
	text := `{"hooks":{"WorktreeCreate":[{"hooks":[{"type":"command","command":"/x/claude-hook","args":["WorktreeCreate"]}]}],"MessageDisplay":[{"hooks":[{"type":"command","command":"claude-hook"},{"type":"command","command":"mine"}]}]}}`
	got, _, _ := installText(t, text, w, nil)
	if !strings.HasPrefix(got, `{"hooks":{"MessageDisplay":[{"hooks":[{"type":"command","command":"mine"}]}],"SessionStart":`) {
		t.Errorf("text %.300s", got)
	}
}

// A program of that name elsewhere may be the user's guard.
func TestOnlyInstalledProgramsAreHookspans(t *testing.T) {
	line := func(command string) string {
		return `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":` + jsonedit.Quote(command) + `,"timeout":10}]}]}}`
	}
	ours := func(program string) bool { return program == testHook }
	for _, tt := range []struct {
		command       string
		ours, foreign bool
	}{
		{testHook + " PreToolUse", true, false},
		{testHook + " Stop", true, false},
		{"/opt/corp/claude-hook guard", false, true},
		{"/opt/corp/claude-hook PreToolUse", false, true},
		{"claude-hook PreToolUse", false, true},
		{testHook + " PreToolUse && /opt/corp/guard", false, false},
		{testHook + " PreToolUse; exit 2", false, false},
		{testHook + " --port 3043", false, false},
		{"/opt/corp/claude-hook2 guard", false, false},
	} {
		e, err := testAgent().open([]byte(line(tt.command)), nil, ours)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(e.find()) == 1; got != tt.ours {
			t.Errorf("%s: hookspan's %v, want %v", tt.command, got, tt.ours)
		}
		if got := len(e.foreign()) == 1; got != tt.foreign {
			t.Errorf("%s: named %v, want %v", tt.command, got, tt.foreign)
		}
		if _, err := e.install(testAgent().wanted("linux", testHook, Version{1, 0, 0})); err != nil {
			t.Fatal(err)
		}
		if _, err := e.uninstall(); err != nil {
			t.Fatal(err)
		}
		if left := bytes.Contains(e.text, []byte(jsonedit.Quote(tt.command))); left == tt.ours {
			t.Errorf("%s: left %v after an install and an uninstall, want %v", tt.command, left, !tt.ours)
		}
	}
}

func TestInstallRefusesMalformedHooks(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"settings":    {`[]`, "found an array, want an object"},
		"hooks":       {"{\n  \"hooks\": []\n}", "line 2, column 12: hooks is an array, want an object of events"},
		"hooks null":  {`{"hooks":null}`, "hooks is null, want an object"},
		"event":       {`{"hooks":{"Stop":{"hooks":[]}}}`, "hooks.Stop is an object, want an array of groups"},
		"other event": {`{"hooks":{"Setup":"x"}}`, "hooks.Setup is a string, want an array"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := testAgent().open([]byte(tt.text), nil, anyProgram)
			if err == nil {
				_, err = e.install(testAgent().wanted("linux", testHook, Version{}))
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestInstallRefusesMembersThatVoidTheFile(t *testing.T) {
	agent := &Spec{Members: []string{"version"}, Events: Events("Stop")}
	e, err := agent.open([]byte("{\n  \"version\": 1,\n  \"model\": 2\n}"), nil, anyProgram)
	if err == nil {
		_, err = e.install(agent.wanted("linux", testHook, Version{}))
	}
	if want := `line 3, column 3: found "model", want hooks and version alone`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestUninstallAfterOtherEdits takes hooks out of settings that the user went on
// with, and that the agent wrote anew.
func TestUninstallAfterOtherEdits(t *testing.T) {
	w := testAgent().wanted("linux", testHook, Version{})
	const before = "{\n\t\"a\": 1,\n\t\"hooks\": {}\n}\n"
	text, _, empty := installText(t, before, w, nil)
	t.Run("a hook behind hookspan's", func(t *testing.T) {
		mine := strings.Replace(text, "\"SessionEnd\": [\n\t\t\t{", "\"SessionEnd\": [\n\t\t\t{\"matcher\": \"x\"},\n\t\t\t{", 1)
		mine = strings.Replace(mine, "\"a\": 1", "\"a\": 2", 1)
		want := "{\n\t\"a\": 2,\n\t\"hooks\": {\n\t\t\"SessionEnd\": [\n\t\t\t{\"matcher\": \"x\"}\n\t\t]\n\t}\n}\n"
		if diff := cmp.Diff(want, uninstallText(t, mine, empty)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("laid out anew", func(t *testing.T) {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("{\n  \"a\": 1,\n  \"hooks\": {}\n}\n", uninstallText(t, b.String(), empty)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("without a record", func(t *testing.T) {
		if diff := cmp.Diff("{\n\t\"a\": 1\n}\n", uninstallText(t, text, nil)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// space draws white space as JSON allows it.
func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n  ", "\r\n\t", "\t \n"}).Draw(t, "space")
}

// oddValue draws a JSON value with odd white space and spellings.
func oddValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth <= 0 {
		kind = min(kind, 3)
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"0", "-1.50", "1E+2", "12345678901234567890"}).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 2, 3:
		return rapid.SampledFrom([]string{`""`, `"x"`, `"\u00e4\/"`, `"ä{[\"]}"`, `"//"`}).Draw(t, "string")
	case 4:
		return oddContainer(t, "[", "]", rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return oddValue(t, depth-1) }), 0, 3).Draw(t, "elements"))
	default:
		return oddContainer(t, "{", "}", rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return oddMember(t, rapid.SampledFrom([]string{"a", "b", "c d", "model", "ü"}).Draw(t, "key"), oddValue(t, depth-1))
		}), 0, 3).Draw(t, "members"))
	}
}

func oddMember(t *rapid.T, key, value string) string {
	return jsonedit.Quote(key) + space(t) + ":" + space(t) + value
}

func oddContainer(t *rapid.T, open, end string, parts []string) string {
	var b strings.Builder
	b.WriteString(open + space(t))
	for i, p := range parts {
		if i > 0 {
			b.WriteString("," + space(t))
		}
		b.WriteString(p + space(t))
	}
	b.WriteString(end)
	return b.String()
}

// oddSettings draws settings with the user's hooks.
func oddSettings(t *rapid.T) string {
	var members []string
	for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"env", "model", "permissions", "a"}), 0, 3).Draw(t, "keys") {
		members = append(members, oddMember(t, key, oddValue(t, 2)))
	}
	if rapid.Bool().Draw(t, "has hooks") {
		var events []string
		for _, ev := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Stop", "PreToolUse", "SessionStart", "Setup", "SessionEnd"}), 0, 4, rapid.ID).Draw(t, "events") {
			var groups []string
			for range rapid.IntRange(0, 2).Draw(t, "groups") {
				group := []string{oddMember(t, "hooks", oddContainer(t, "[", "]", []string{
					oddContainer(t, "{", "}", []string{oddMember(t, "type", `"command"`), oddMember(t, "command", `"guard.sh"`)}),
				}))}
				if rapid.Bool().Draw(t, "matcher") {
					group = append(group, oddMember(t, "matcher", `"Bash"`))
				}
				groups = append(groups, oddContainer(t, "{", "}", group))
			}
			events = append(events, oddMember(t, ev, oddContainer(t, "[", "]", groups)))
		}
		at := rapid.IntRange(0, len(members)).Draw(t, "at")
		members = slices.Insert(members, at, oddMember(t, "hooks", oddContainer(t, "{", "}", events)))
	}
	mark := rapid.SampledFrom([]string{"", "", jsonedit.ByteOrderMark}).Draw(t, "mark")
	return mark + space(t) + oddContainer(t, "{", "}", members) + space(t)
}

func drawWanted(t *rapid.T, label string) wantedHandler {
	v := rapid.SampledFrom([]Version{{}, {1, 0, 0}, {2, 1, 80}, {2, 1, 329}}).Draw(t, label+" version")
	w := testAgent().wanted("linux", testHook, v)
	w.force = rapid.Bool().Draw(t, label+" force")
	return w
}

// TestUninstallRestoresBytes installs into settings of any layout, more than
// once and for several versions of the agent, and takes the hooks out again.
func TestUninstallRestoresBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := oddSettings(t)
		after, empty := text, emptied(nil)
		for i := range rapid.IntRange(1, 3).Draw(t, "installs") {
			after, _, empty = installText(t, after, drawWanted(t, fmt.Sprint(i)), empty)
		}
		if diff := cmp.Diff(without(decode(t, text)), without(decode(t, after))); diff != "" {
			t.Fatalf("installing changed more than its own entries (-want +got):\n%s", diff)
		}
		if got := uninstallText(t, after, empty); got != text {
			t.Fatalf("uninstalled\n%q\nwant\n%q\ninstalled\n%q", got, text, after)
		}
	})
}

// sprinkle draws comments between the tokens of a JSON text.
func sprinkle(t *rapid.T, text string) string {
	comments := []string{"/* x */", " // one, two\n", "// \"{ [\r\n", "/* a,\n } b */", "\t/**/ // \"hooks\": [\n", "//\n  "}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		b.WriteByte(c)
		switch {
		case quoted && c == '\\':
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		}
		if !quoted && strings.IndexByte("{}[],:\"", c) >= 0 && rapid.IntRange(0, 5).Draw(t, "comment here") == 0 {
			b.WriteString(rapid.SampledFrom(comments).Draw(t, "comment"))
		}
	}
	return b.String()
}

// commentsOf are a text's comments without the white space at their ends.
func commentsOf(text []byte) (out []string) {
	for _, c := range jsonedit.Comments(text) {
		out = append(out, strings.TrimRight(c, " \t"))
	}
	return out
}

// commented is an agent whose settings may have comments.
func commented(t *rapid.T) (*Spec, wantedHandler) {
	agent := testAgent()
	agent.Comments, agent.ExecSince = true, Version{}
	agent.Timeout = rapid.SampledFrom([]int{0, 10_000}).Draw(t, "timeout")
	w := agent.wanted("linux", testHook, Version{})
	w.force = rapid.Bool().Draw(t, "force")
	return agent, w
}

// TestUninstallRestoresBytesWithComments installs into settings of any layout, with
// comments anywhere, and takes the hooks out again. No comment is missing meanwhile.
func TestUninstallRestoresBytesWithComments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "// mine \"{\n" + sprinkle(t, strings.TrimPrefix(oddSettings(t), jsonedit.ByteOrderMark)) + "/* } */"
		agent, w := commented(t)
		e, err := agent.open([]byte(text), nil, anyProgram)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if _, err := e.install(w); err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, f := range e.find() {
			events = append(events, f.event)
		}
		for _, ev := range agent.Events {
			if !slices.Contains(events, ev.Name) {
				t.Fatalf("no hook for %s in\n%s", ev.Name, e.text)
			}
		}
		if !json.Valid(jsonedit.WithoutComments(e.text)) {
			t.Fatalf("installed settings are no JSON:\n%s", e.text)
		}
		if diff := cmp.Diff(jsonedit.Comments([]byte(text)), jsonedit.Comments(e.text)); diff != "" {
			t.Fatalf("comments after installing (-want +got):\n%s\n%s", diff, e.text)
		}
		after, err := agent.open(e.text, e.empty, anyProgram)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := after.uninstall(); err != nil {
			t.Fatal(err)
		}
		if string(after.text) != text {
			t.Fatalf("uninstalled\n%q\nwant\n%q\ninstalled\n%q", after.text, text, e.text)
		}
	})
}

// TestUninstallKeepsLaterComments takes hooks out of settings that got comments
// after the install, inside hookspan's entries too.
func TestUninstallKeepsLaterComments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimPrefix(oddSettings(t), jsonedit.ByteOrderMark)
		agent, w := commented(t)
		e, err := agent.open([]byte(text), nil, anyProgram)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.install(w); err != nil {
			t.Fatal(err)
		}
		later := sprinkle(t, string(e.text))
		comments := commentsOf([]byte(later))
		again, err := agent.open([]byte(later), e.empty, anyProgram)
		if err != nil {
			t.Fatal(err)
		}
		w.binary, w.force = "/new/claude-hook", true
		if _, err := again.install(w); err != nil {
			t.Fatalf("install again: %v in\n%s", err, later)
		}
		if diff := cmp.Diff(comments, commentsOf(again.text)); diff != "" {
			t.Fatalf("comments after installing again (-want +got):\n%s\n%s", diff, again.text)
		}
		if _, err := again.uninstall(); err != nil {
			t.Fatalf("uninstall: %v in\n%s", err, again.text)
		}
		if diff := cmp.Diff(comments, commentsOf(again.text)); diff != "" {
			t.Fatalf("comments after uninstalling (-want +got):\n%s\nof\n%s\nis\n%s", diff, later, again.text)
		}
		if diff := cmp.Diff(without(decode(t, text)), without(decode(t, string(jsonedit.WithoutComments(again.text))))); diff != "" {
			t.Fatalf("uninstalling changed more than its own entries (-want +got):\n%s", diff)
		}
	})
}

func FuzzInstallSettings(f *testing.F) {
	for _, seed := range []string{
		"{}", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"claude-hook"}]}]}}`,
		"{\n\"a\":1\r\n}", `{"hooks":{"Stop":[],"Stop":[ ]}}`, `{"a":1,}`, `{"hooks":1}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","args":["Stop"],"command":"/x/claude-hook","timeout":1}]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := testAgent().open(text, nil, anyProgram)
		if err != nil {
			return
		}
		mine := len(e.find())
		w := testAgent().wanted("linux", testHook, Version{2, 1, 329})
		if _, err := e.install(w); err != nil {
			if err := e.check(); err == nil {
				t.Fatalf("refused without a reason: %v", err)
			}
			return
		}
		after := e.text
		again, err := testAgent().open(after, e.empty, anyProgram)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.install(w); err != nil || !bytes.Equal(again.text, after) {
			t.Fatalf("a second install (%v) makes\n%q\nof\n%q", err, again.text, after)
		}
		if _, err := again.uninstall(); err != nil {
			t.Fatal(err)
		}
		if left := len(again.find()); left > 0 {
			t.Errorf("%d handlers are left", left)
		}
		if mine == 0 && !bytes.Equal(again.text, text) {
			t.Errorf("uninstalled\n%q\nwant\n%q", again.text, text)
		}
	})
}

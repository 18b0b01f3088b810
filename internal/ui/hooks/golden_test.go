//go:build !windows

package hooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/hookstest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/otelmap"
)

// story is what a page does with the hooks of a home folder, and what it is answered.
type story struct {
	*testing.T
	home    *hookstest.Home
	store   *store.Store
	catalog *hooks.Catalog
	editor  *hooks.Editor
	now     time.Time
	said    []string
	out     strings.Builder
	// brief leaves differences out.
	brief bool
	sums  map[string]string
}

func newStory(t *testing.T) *story {
	s := &story{T: t, home: hookstest.New(t), store: openStore(t), now: time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC), sums: make(map[string]string)}
	s.catalog = s.home.Catalog(s.store)
	s.catalog.Process.Now = func() time.Time { return s.now }
	s.editor = &hooks.Editor{Catalog: s.catalog, Say: func(text string) { s.said = append(s.said, text) }}
	return s
}

var (
	digests = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	fileIDs = regexp.MustCompile(`\b[0-9a-f]{16}\b`)
	randoms = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)
	codes   = regexp.MustCompile(`\bcode [A-Z2-7]{4}-[A-Z2-7]{4}\b`)
	takes   = regexp.MustCompile(`\b[0-9.]+ (µs|ms|s)\b`)
	folders = regexp.MustCompile(`[^"\\]*hookspan-test-[0-9]+`)
)

// write writes what was said, with a name for all that is random.
func (s *story) write(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), s.home.Dir, "HOME")
	text = digests.ReplaceAllStringFunc(text, func(sum string) string {
		if s.sums[sum] == "" {
			s.sums[sum] = fmt.Sprintf("SHA-%d", len(s.sums)+1)
		}
		return s.sums[sum]
	})
	text = folders.ReplaceAllString(text, "TEST")
	text = codes.ReplaceAllString(randoms.ReplaceAllString(fileIDs.ReplaceAllString(text, "FILE"), "RANDOM"), "code CODE")
	s.out.WriteString(text)
}

func (s *story) json(v any) {
	s.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		s.Fatal(err)
	}
	s.write("%s\n", b)
}

// fail writes an error.
func (s *story) fail(err error) {
	var e *hooks.Error
	if !errors.As(err, &e) {
		s.Fatal(err)
	}
	s.write("refused (%d): %s", e.Reason, e.Text)
	if e.Hint != "" {
		s.write("; %s", e.Hint)
	}
	s.write("\n")
}

func (s *story) list() *hooks.Listing {
	s.Helper()
	return list(s.T, s.catalog)
}

// file is the listed file that ends with a name.
func (s *story) file(name string) hooks.File {
	s.Helper()
	for _, f := range s.list().Files {
		if f.Path == filepath.Join(s.home.Dir, filepath.FromSlash(name)) {
			return f
		}
	}
	s.Fatalf("%s is not listed", name)
	return hooks.File{}
}

// ask previews a change of a file and writes what is shown.
func (s *story) ask(what, name string, r hooks.Request) (p *hooks.Preview, f hooks.File) {
	s.Helper()
	s.said = nil
	s.write("== %s\n", what)
	if name != "" {
		f = s.file(name)
		r.File, r.SHA256 = f.ID, f.SHA256
	}
	p, err := s.editor.Preview(s.Context(), r)
	if err != nil {
		s.fail(err)
		return nil, f
	}
	shown := *p
	shown.Diff = ""
	if s.json(shown); !s.brief {
		s.write("%s", p.Diff)
	}
	return p, f
}

// confirm makes the change that was shown.
func (s *story) confirm(p *hooks.Preview) *hooks.Done {
	s.Helper()
	code := ""
	if p.Code {
		code = codeIn(s.said)
	}
	done, err := s.editor.Apply(s.Context(), hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: strings.ToLower(strings.ReplaceAll(code, "-", " "))})
	for _, text := range s.said {
		s.write("terminal: %s\n", text)
	}
	if err != nil {
		s.fail(err)
		return nil
	}
	if done.Result != nil {
		for i := range done.Result.Runs {
			done.Result.Runs[i].Ending = takes.ReplaceAllString(done.Result.Runs[i].Ending, "TIME")
		}
	}
	s.json(done)
	return done
}

// do previews a change and makes it.
func (s *story) do(what, name string, r hooks.Request) {
	s.Helper()
	p, f := s.ask(what, name, r)
	if p == nil || s.confirm(p) == nil || f.Path == "" {
		return
	}
	text, err := os.ReadFile(f.Path)
	s.write("-- %s: %s", f.Path, text)
	if err != nil {
		s.write("gone")
	}
	s.write("\n")
}

func TestStoryOfChanges(t *testing.T) {
	s := newStory(t)
	const cline, claude, project = ".cline/hooks.json", ".claude/settings.json", "code/shop/.cline/hooks.json"
	all := hooks.Request{
		Kind: "add", Event: new(" PostToolUse "), Matcher: new(" Bash "), Command: new(" ./done.sh "), Args: &[]string{"a", "b c"}, If: new(" Bash(npm *) "), Timeout: new(1.5), Async: new(true),
	}
	s.do("add a command with everything", cline, all)
	s.do("undo that", cline, hooks.Request{Kind: "undo"})
	s.do("undo it again", cline, hooks.Request{Kind: "undo"})
	s.do("add it to Claude Code's", claude, all)
	s.do("add an address", cline, hooks.Request{Kind: "add", Event: new("Stop"), URL: new("http://127.0.0.1:1/x"), Args: &[]string{"a"}, Async: new(true)})
	s.do("add what will not work", cline, hooks.Request{Kind: "add", Event: new("PreToolUse"), Matcher: new("bash"), Command: new("/no/such/program")})
	s.do("change a command", cline, hooks.Request{Kind: "change", Hook: 1, Command: new(" ./other.sh "), Matcher: new("Edit"), Timeout: new(0.0)})
	s.do("change an event", cline, hooks.Request{Kind: "change", Hook: 1, Event: new("PostToolUse"), If: new("Edit(*.go)"), Async: new(true)})
	s.do("change to nothing that runs", claude, hooks.Request{Kind: "change", Hook: 0, Event: new("Nothing")})
	s.do("change a prompt's matcher", claude, hooks.Request{Kind: "change", Hook: 1, Matcher: new("x")})
	s.do("the longest time", cline, hooks.Request{Kind: "change", Hook: 0, Timeout: new(86400.0)})
	s.do("longer", cline, hooks.Request{Kind: "change", Hook: 0, Timeout: new(86400.5)})
	s.do("switch the second off", cline, hooks.Request{Kind: "off", Hook: 1})
	s.do("switch the first off", cline, hooks.Request{Kind: "off", Hook: 0})
	off := s.file(cline).SwitchedOff
	s.json(off)
	s.do("switch the second on", cline, hooks.Request{Kind: "on", Off: off[0].ID})
	s.do("undo that", cline, hooks.Request{Kind: "undo"})
	s.home.Write(cline, strings.Replace(s.home.Read(cline), "\n", "\n\n", 1), 0o600)
	s.do("switch the first on, when the file has changed", cline, hooks.Request{Kind: "on", Off: off[1].ID})
	s.do("add to a project that is not trusted", project, hooks.Request{Kind: "add", Event: new("Stop"), Command: new("true")})
	s.do("trust it", project, hooks.Request{Kind: "trust"})
	s.do("trust it again", project, hooks.Request{Kind: "trust"})
	s.do("add to one that is", project, hooks.Request{Kind: "add", Event: new("Notification"), Command: new("true")})
	s.do("trust it no more", project, hooks.Request{Kind: "untrust"})
	s.do("and no more", project, hooks.Request{Kind: "untrust"})
	s.home.Write(project, `{"env":{"A":"b\nc"},"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://h/","headers":{"B":"2","A":"1"},"allowedEnvVars":["X","Y"]}]}]}}`, 0o644)
	s.do("trust what sends", project, hooks.Request{Kind: "trust"})
	s.do("a file that is new", "code/shop/.claude/settings.json", hooks.Request{Kind: "add", Event: new("Stop"), Command: new("true")})
	s.do("undo that, so that it is gone", "code/shop/.claude/settings.json", hooks.Request{Kind: "undo"})
	s.do("trust a file that is not there", "code/shop/.claude/settings.json", hooks.Request{Kind: "trust"})
	s.do("a change", cline, hooks.Request{Kind: "add", Event: new("Stop"), Command: new("true")})
	s.home.Write(cline, s.home.Read(cline)+"\n", 0o600)
	s.do("undo it, when the file has changed", cline, hooks.Request{Kind: "undo"})
	s.home.Write(project, "{}", 0o644)
	s.do("add to a project's file without hooks", project, hooks.Request{Kind: "add", Event: new("Stop"), Command: new("true")})
	if err := os.Remove(filepath.Join(s.home.Dir, filepath.FromSlash(project))); err != nil {
		t.Fatal(err)
	}
	s.do("trust a project's file that is not there", project, hooks.Request{Kind: "trust"})
	golden.Check(t, "changes.txt", s.out.String())
}

// TestStoryOfRefusals: a change is made once, in time, with its code, and of a file that is
// as it was shown.
func TestStoryOfRefusals(t *testing.T) {
	s := newStory(t)
	s.brief = true
	const cline = ".cline/hooks.json"
	before := s.home.Read(cline)
	add := hooks.Request{Kind: "add", Event: new("Stop"), Command: new("true")}
	wrong := func(what string, c hooks.Confirmation) {
		s.write("-- %s: ", what)
		if _, err := s.editor.Apply(t.Context(), c); err != nil {
			s.fail(err)
		} else {
			t.Errorf("%s: it was made", what)
		}
	}
	p, _ := s.ask("three wrong codes", cline, add)
	for range 4 {
		wrong("a wrong code", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: "AAAA-AAAA"})
	}
	p, _ = s.ask("a wrong digest, then another change", cline, add)
	wrong("another digest", hooks.Confirmation{ID: p.ID, SHA256: "x", Code: codeIn(s.said)})
	wrong("another id", hooks.Confirmation{ID: "x", SHA256: p.SHA256, Code: codeIn(s.said)})
	code := codeIn(s.said)
	s.ask("another", cline, add)
	wrong("the first", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: code})
	p, _ = s.ask("too late", cline, add)
	s.now = s.now.Add(10*time.Minute + 1)
	wrong("after ten minutes", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: codeIn(s.said)})
	p, _ = s.ask("a file that was changed meanwhile", cline, add)
	s.home.Write(cline, before+"\n", 0o600)
	wrong("changed", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: codeIn(s.said)})
	p, _ = s.ask("a file that is torn meanwhile", cline, add)
	s.home.Write(cline, "{", 0o600)
	wrong("torn", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: codeIn(s.said)})
	s.ask("a file that is torn", cline, add)
	s.home.Write(cline, before, 0o600)
	p, _ = s.ask("at the last moment", cline, add)
	s.now = s.now.Add(10 * time.Minute)
	s.confirm(p)
	wrong("twice", hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: codeIn(s.said)})
	r := add
	r.Kind = "remove"
	s.ask("an unknown kind", cline, r)
	s.wrongChanges()
	golden.Check(t, "refusals.txt", s.out.String())
}

// TestStoryOfTests has tests of hooks of both agents, of every event and verdict.
func TestStoryOfTests(t *testing.T) {
	s := newStory(t)
	hook := func(command string) string { return `{"type":"command","command":` + fmt.Sprintf("%q", command) + `}` }
	var clineEvents, claudeEvents []string
	for _, event := range hooks.TestEvents["cline"] {
		clineEvents = append(clineEvents, fmt.Sprintf(`%q:[{"hooks":[%s]}]`, event, hook("cat")))
	}
	for _, event := range hooks.TestEvents["claude-code"] {
		claudeEvents = append(claudeEvents, fmt.Sprintf(`%q:[{"hooks":[%s]}]`, event, hook("cat >&2; exit 0")))
	}
	s.home.Write(".cline/hooks.json", `{"hooks":{`+strings.Join(clineEvents, ",")+`}}`, 0o600)
	s.home.Write(".claude/settings.json", `{"env":{"TEAM":"shop"},"hooks":{`+strings.Join(claudeEvents, ",")+`}}`, 0o600)
	for _, agent := range []string{"cline", "claude-code"} {
		tools := map[string]string{"cline": "execute_command", "claude-code": "Bash"}
		for _, event := range hooks.TestEvents[agent] {
			s.do("test "+agent+" "+event, "", hooks.Request{Kind: "test", Agent: agent, Event: &event, Tool: tools[agent], Input: `{"command": "ls"}`, Text: "the text"})
		}
	}
	event := "PreToolUse"
	for _, output := range []string{
		`{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"deny","permissionDecisionReason":"not  here"}}`,
		`{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"ask","permissionDecisionReason":"sure?"}}`,
		`{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"allow"}}`,
		`{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"defer"}}`,
		`{"hookSpecificOutput":{"hookEventName":"EVENT","additionalContext":"mind the step"}}`,
		`{"decision":"block","reason":"no"}`, `{"continue":false,"stopReason":"enough"}`, ``,
	} {
		names := []string{"PreToolUse"}
		if strings.Contains(output, "block") {
			names = []string{"UserPromptSubmit", "Stop", "SubagentStop", "PostToolUse"}
		}
		for _, name := range names {
			s.home.Write(".claude/settings.json", `{"hooks":{`+fmt.Sprintf(`%q:[{"hooks":[%s]}]`, name, hook("echo '"+strings.ReplaceAll(output, "EVENT", name)+"'"))+`}}`, 0o600)
			p, err := s.editor.Preview(t.Context(), hooks.Request{Kind: "test", Agent: "claude-code", Event: &name, Tool: "Bash"})
			if err != nil {
				t.Fatal(err)
			}
			done, err := s.editor.Apply(t.Context(), hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: codeIn(s.said)})
			if err != nil {
				t.Fatal(err)
			}
			s.write("%s, %s: %s %q\n", name, output, done.Result.Effect, done.Result.Runs[0].Verdict)
		}
	}
	s.home.Write(".claude/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[`+hook("true edit")+`]},{"hooks":[{"type":"prompt","prompt":"ok?"},`+hook("/opt/hookspan/claude-hook PreToolUse")+`]}]}}`, 0o600)
	s.home.Write("code/shop/.claude/settings.local.json", "{", 0o600)
	s.home.Write(".claude/plugins/installed_plugins.json", `{"version":2,"plugins":{"on@market":[{"scope":"user","installPath":"HOME/plugins/on"}],"off@market":{"installPath":"HOME/plugins/off"}}}`, 0o600)
	s.home.Write("plugins/on/hooks/hooks.json", `{"hooks":{"PreToolUse":[{"hooks":[`+hook("true run")+`]}]}}`, 0o644)
	s.do("what a test of Claude Code's does not start", "", hooks.Request{Kind: "test", Agent: "claude-code", Event: &event, Tool: "Bash"})
	s.ask("in a project, as its file", "code/shop/.cline/hooks.json", hooks.Request{Kind: "test", Agent: "claude-code", Event: &event, Tool: "Edit"})
	for what, r := range []hooks.Request{
		{Kind: "test"},
		{Kind: "test", Agent: "x", Event: &event},
		{Kind: "test", Agent: "claude-code", Event: &event, Tool: " "},
		{Kind: "test", Agent: "cline", Event: &event, Tool: "execute_command", Input: "7"},
		{Kind: "test", Agent: "cline", Event: &event, Tool: "execute_command", Input: "null"},
		{Kind: "test", Agent: "cline", Event: &event, Tool: "execute_command", Input: `{"a"`},
		{Kind: "test", Agent: "cline", Event: &event, Tool: "no_such_tool"},
		{Kind: "test", Agent: "cline", Event: &event, File: "x"},
		{Kind: "test", Agent: "claude-code", Event: new("Setup"), Tool: "Bash"},
	} {
		s.ask(fmt.Sprintf("wrong test %d", what), "", r)
	}
	p, _ := s.ask("hooks that change meanwhile", "", hooks.Request{Kind: "test", Agent: "cline", Event: &event, Tool: "execute_command"})
	s.home.Write(".cline/hooks.json", hookstest.ClineHooks, 0o600)
	s.confirm(p)
	s.do("a hook that denies", "", hooks.Request{Kind: "test", Agent: "cline", Event: &event, Tool: "execute_command", Input: `{"command":"rm -rf /"}`})
	golden.Check(t, "tests.txt", s.out.String())
}

// TestStoryOfListing lists files of every kind, the runs of hooks, and what fits a call.
func TestStoryOfListing(t *testing.T) {
	s := newStory(t)
	hook := func(event, more string) string {
		return `{"hooks":{"` + event + `":[{"hooks":[{"type":"command","command":"true"` + more + `}]}]}}`
	}
	s.home.Write("managed/managed-settings.json", hook("PreToolUse", ""), 0o644)
	s.home.Write("code/shop/.claude/settings.local.json", hook("PostToolBatch", ""), 0o600)
	s.home.Write("code/shop/.claude/settings.json", "{\n  \"hooks\": [1,}\n", 0o644)
	s.home.Write("code/other/.claude/settings.json", hook("Stop", ""), 0o644)
	s.home.Write("code/other/.cline/hooks.json", hook("Stop", `,"async":true,"once":true,"timeout":3`), 0o644)
	s.home.Write(".claude/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[
		{"type":"command","command":"/opt/hookspan/claude-hook PreToolUse"},{"type":"command","command":"sh","args":["-c","exit 0"],"if":"Bash(rm *)","timeout":2.5,"async":true},
		{"type":"http","url":"http://127.0.0.1:1/","headers":{"X":"secret"}},{"type":"prompt","prompt":"ok?"}]}],"Stopp":[{"hooks":[{"type":"command","command":"true"}]}]}}`, 0o600)
	run := func(ago time.Duration, status, decision string, took int64) *tracepb.Span_Event {
		return &tracepb.Span_Event{Name: otelmap.EventHook, TimeUnixNano: otlp.UnixNano(s.now.Add(-ago)), Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyHookEvent, "PreToolUse"), otlp.String(otelmap.KeyHookCommand, filepath.Join(s.home.Dir, "hooks/guard.sh")), otlp.String(otelmap.KeyHookSource, filepath.Join(s.home.Dir, ".cline/hooks.json")),
			otlp.String(otelmap.KeyHookStatus, status), otlp.String(otelmap.KeyHookDecision, decision), otlp.Int(otelmap.KeyHookDuration, took),
		}}
	}
	trace := func(n byte, dir string, events ...*tracepb.Span_Event) *tracepb.ResourceSpans {
		return &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
			TraceId: []byte{n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, SpanId: []byte{n, 1, 2, 3, 4, 5, 6, 7}, Name: "invoke_agent cline", StartTimeUnixNano: otlp.UnixNano(s.now.Add(-31 * time.Hour)), EndTimeUnixNano: otlp.UnixNano(s.now), Events: events,
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted), otlp.String(otelmap.KeyWorkingDirectory, dir),
			},
		}}}}}
	}
	var events []*tracepb.Span_Event
	for i := range 21 {
		events = append(events, run(time.Duration(i)*time.Hour+time.Minute, "ok", "", int64(100+i)))
	}
	events = append(events, run(24*time.Hour, "error", "", 5), run(24*time.Hour+1, "ok", "deny", 999), run(2*time.Hour, "timeout", "deny", 60_000), run(3*time.Hour, "not_started", "", 1))
	if err := s.store.UploadTraces(t.Context(), []*tracepb.ResourceSpans{trace(1, filepath.Join(s.home.Dir, "code/other"), events...), trace(2, "relative"), trace(3, s.home.Dir), trace(4, "/no/such/folder")}); err != nil {
		t.Fatal(err)
	}
	s.json(s.list())
	recent, err := s.catalog.Recent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.write("%d recent runs, the last %+v\n", len(recent), recent[0])
	s.write("%s\n", strings.Join(s.catalog.Paths(), "\n"))
	for _, c := range []struct{ tool, arguments string }{
		{"Bash", ""}, {"Bash", `{"command":"rm x"}`}, {"Bash", `{"command":"ls"}`}, {"Read", ""}, {"execute_command", `{"command":"ls"}`}, {"Bash", "7"}, {"Bash", "null"}, {"no_such_tool", ""},
	} {
		s.write("== %s %s, known %t\n", c.tool, c.arguments, hooks.Known(c.tool))
		l := s.list()
		if err := s.catalog.Fit(l, c.tool, c.arguments); err != nil {
			s.fail(err)
			continue
		}
		for _, f := range l.Files {
			for _, h := range f.Hooks {
				s.write("%t %s: %s %s: %s\n", *h.Fits, f.Path, h.Event, h.Text, h.Why)
			}
		}
	}
	golden.Check(t, "listing.txt", s.out.String())
}

// TestProjectsAreFoundAgainAfterAMoment: to look for them takes long.
func TestProjectsAreFoundAgainAfterAMoment(t *testing.T) {
	s := newStory(t)
	s.home.Write("code/late/.cline/hooks.json", hookstest.ProjectHooks, 0o644)
	count := func() int { return len(s.list().Files) }
	before := count()
	span := &tracepb.Span{
		TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), StartTimeUnixNano: otlp.UnixNano(s.now), EndTimeUnixNano: otlp.UnixNano(s.now),
		Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyWorkingDirectory, filepath.Join(s.home.Dir, "code/late")),
		},
	}
	if err := s.store.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}}); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(5 * time.Second)
	if n := count(); n != before {
		t.Errorf("after five seconds %d files, want %d", n, before)
	}
	s.now = s.now.Add(1)
	if n := count(); n != before+1 {
		t.Errorf("after more than five seconds %d files, want %d", n, before+1)
	}
}

//go:build !windows

package userhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// idle reports that the hook process starts no program.
func (w *world) idle(raw hook.Raw) bool { return w.program(raw) == "" }

// program asks as the hook process does, with the state folder of that name.
func (w *world) program(raw hook.Raw) string {
	project := filepath.Join(w.path("project"), ".cline", "hooks.json")
	return hooksession.Program(raw, w.path("state"), w.Trust.Path, []string{w.path("home/.cline/hooks.json")}, []string{project}, cline.Peek(nil, raw.Event).Kind == hook.KindToolStart, w.Now)
}

// transcript is the session's conversation as hooks find it.
func (h *Hooks) transcript(t interface{ Fatal(...any) }, session string) string {
	data, err := os.ReadFile(hooksession.At(h.Dir, session, h.Now).Transcript())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

func TestHTTPHooksNeedTheFullRunner(t *testing.T) {
	const requests = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1"}]}]}}`
	w := newWorld(t)
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", "true"))
	w.run(w.event("TaskResume", ""))
	if got := w.program(w.command("a")); got != hooksession.Small {
		t.Errorf("a command hook: %q, want %q", got, hooksession.Small)
	}
	w.write("home/.cline/hooks.json", requests)
	if out := w.Run(t.Context(), w.command("b")); !out.Unanswered || len(out.Result.Runs) > 0 {
		t.Errorf("an http hook without Post: %+v, want no answer", out)
	}
	w.run(w.event("TaskResume", ""))
	if got := w.program(w.command("c")); got != hooksession.Full {
		t.Errorf("an http hook: %q, want %q", got, hooksession.Full)
	}
	w.Post = func(context.Context, string, map[string]string, []byte, int64) (int, []byte, error) {
		return 200, []byte(`{"decision":"block","reason":"no"}`), nil
	}
	if out := w.run(w.command("d")); !out.Answer.Reply.Cancel {
		t.Errorf("an http hook with Post: %+v, want its denial", out.Answer)
	}
}

// A rule on a host takes the parser of addresses, which the small program does not link.
func TestRulesOnHostsNeedTheFullRunner(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true","if":"WebFetch(domain:a.example)"}]}]}}`)
	if out := w.Run(t.Context(), w.command("a")); !out.Unanswered || len(out.Result.Runs) > 0 {
		t.Errorf("%+v, want no answer", out)
	}
	w.run(w.event("TaskResume", ""))
	if got := w.program(w.command("b")); got != hooksession.Full {
		t.Errorf("%q, want %q", got, hooksession.Full)
	}
}

func TestIdleEventsStartNoRunner(t *testing.T) {
	read := func(w *world) hook.Raw {
		return w.event("PreToolUse", `,"preToolUse":{"toolName":"read_file","parameters":{"path":"a"}}`)
	}
	own := func(text string) func(*world) {
		return func(w *world) { w.write("home/.cline/hooks.json", text) }
	}
	trusted := func(w *world) {
		w.write("project/.cline/hooks.json", hookFile("PreToolUse", "Bash", "true"))
		if err := w.Trust.Add(w.path("project/.cline/hooks.json"), []byte(hookFile("PreToolUse", "Bash", "true"))); err != nil {
			w.t.Fatal(err)
		}
	}
	nothing := func(*world) {}
	for name, tc := range map[string]struct {
		before, between func(*world)
		event           func(*world) hook.Raw
		want            bool
	}{
		"another event":                {own(hookFile("Stop", "", "true")), nothing, read, true},
		"a matcher for another tool":   {own(hookFile("PreToolUse", "Bash|Edit", "true")), nothing, read, true},
		"all hooks are switched off":   {own(`{"disableAllHooks":true,"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`), nothing, read, true},
		"another tool, a trusted file": {trusted, nothing, read, true},
		"an event that Claude has not": {own(hookFile("PreToolUse", "", "true")), nothing, func(w *world) hook.Raw { return w.event("PreCompact", "") }, true},
		"Claude's name of the tool":    {own(hookFile("PreToolUse", "Read", "true")), nothing, read, false},
		"Cline's name of the tool":     {own(hookFile("PreToolUse", "read_file", "true")), nothing, read, false},
		"the name in another dialect":  {own(hookFile("PreToolUse", "read_files", "true")), nothing, read, false},
		"every tool":                   {own(hookFile("PreToolUse", "*", "true")), nothing, read, false},
		"a regular expression":         {own(hookFile("PreToolUse", "^Bash$", "true")), nothing, read, false},
		"an invalid expression":        {own(hookFile("PreToolUse", "(", "true")), nothing, read, false},
		"a source":                     {own(hookFile("SessionStart", "resume", "true")), nothing, func(w *world) hook.Raw { return w.event("TaskStart", "") }, false},
		"a tool of no table": {own(hookFile("PreToolUse", "Bash", "true")), nothing, func(w *world) hook.Raw {
			return w.event("PreToolUse", `,"preToolUse":{"toolName":"new","parameters":{}}`)
		}, false},
		"a file with a problem":         {own(hookFile("PreToolUs", "", "true")), nothing, read, false},
		"a file that cannot be read":    {own(`{"hooks":`), nothing, read, false},
		"an untrusted file":             {func(w *world) { w.write("project/.cline/hooks.json", hookFile("Stop", "", "true")) }, nothing, read, false},
		"a file that has changed":       {own(hookFile("Stop", "", "true")), own(hookFile("Stop", "", "trua")), read, false},
		"a file that was added":         {own(hookFile("Stop", "", "true")), trusted, read, false},
		"a list of trust that changed":  {trusted, func(w *world) { w.write("config/trusted-hooks.json", `{"version":1,"files":[]}`) }, read, false},
		"a link in place of the file":   {trusted, func(w *world) { w.link("project/.cline/hooks.json") }, read, false},
		"a payload that cannot be read": {own(hookFile("Stop", "", "true")), nothing, func(w *world) hook.Raw { return hook.Raw{Payload: []byte("{"), Event: "PreToolUse", StoredAt: w.Now()} }, false},
		"a text that waits": {own(hookFile("Stop", "", "true")), func(w *world) {
			s := hooksession.At(w.Dir, "17", w.Now)
			if err := s.Open(); err != nil {
				w.t.Fatal(err)
			}
			if err := s.Keep([]string{"text"}); err != nil {
				w.t.Fatal(err)
			}
		}, read, false},
		"no state folder": {own(hookFile("Stop", "", "true")), func(w *world) {
			if err := os.RemoveAll(w.path("state")); err != nil {
				w.t.Fatal(err)
			}
			w.write("state", "")
		}, read, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.before(w)
			if w.idle(w.command("first")) {
				t.Error("idle before the runner has seen the files")
			}
			w.run(w.event("TaskResume", ""))
			tc.between(w)
			if got := w.idle(tc.event(w)); got != tc.want {
				t.Errorf("idle: %v, want %v", got, tc.want)
			}
		})
	}
}

// link moves a file and puts a link to it in its place.
func (w *world) link(name string) {
	path := w.path(name)
	if err := os.Rename(path, path+".moved"); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(path+".moved", path); err != nil {
		w.t.Fatal(err)
	}
}

// TestIdleDecidesAsTheRunner gives the same events of one session to the runner, and
// to another runner only where the hook process finds that one may be needed. Both
// must run the same hooks, give the same answers and keep the same conversation.
func TestIdleDecidesAsTheRunner(t *testing.T) {
	matchers := rapid.SampledFrom([]string{
		"", "*", "Bash", "Read|Edit", "Write", "MultiEdit", "editor", "write_to_file", "apply_patch", "run_commands", "startup", "resume",
		"mcp__github__get_issue", "mcp__.*", "^(?!Read$).*", "(", "Bash,", "|", "LS", "Task", "other", "general-purpose", "permission_prompt",
	})
	names := slices.Repeat(sample.EventNames(), 4)
	events := rapid.SampledFrom(append(names, slices.Concat(slices.Repeat([]string{"PreToolUse"}, 20), []string{"Setup", "Nonsense"})...))
	file := rapid.Custom(func(t *rapid.T) string {
		groups := map[string][]any{}
		for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
			h := map[string]any{"type": "command", "command": fmt.Sprintf("exit %d # %d", rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "exit"), i)}
			if rapid.IntRange(0, 4).Draw(t, "context") == 0 {
				h["command"] = `echo '{"hookSpecificOutput":{"additionalContext":"x"}}' # ` + fmt.Sprint(i)
			}
			event := events.Draw(t, "event")
			groups[event] = append(groups[event], map[string]any{"matcher": matchers.Draw(t, "matcher"), "hooks": []any{h}})
		}
		doc := map[string]any{"hooks": groups}
		switch rapid.IntRange(0, 40).Draw(t, "member") {
		case 0:
			doc["disableAllHooks"] = true
		case 1:
			doc["env"] = map[string]any{"OTEL_X": "1"}
		case 2:
			doc["env"] = map[string]any{"X": "1"}
		case 3:
			doc["hooks"] = []any{}
		}
		text, _ := json.Marshal(doc)
		return string(text)
	})
	idle, runs := 0, 0
	rapid.Check(t, func(t2 *rapid.T) {
		w := newWorld(t)
		always := *w.Hooks
		always.Dir = w.path("state2/hooks")
		now := w.Now()
		w.Now = func() time.Time { return now }
		always.Now = w.Now
		dialect := rapid.SampledFrom([]string{sample.Classic, sample.Next, sample.SDK}).Draw(t2, "dialect")
		session := ""
		event := func(p sample.Payload) {
			now = now.Add(time.Second)
			p.Now, p.Root, p.Dialect = now, w.path("project"), dialect
			if p.Complete() != nil {
				return // the dialect has no such event
			}
			payload, err := p.Encode()
			if err != nil {
				return
			}
			raw := hook.Raw{Payload: payload, Event: p.Event.HookFile(), StoredAt: now, Cwd: w.path("project")}
			session = cline.Peek(payload, raw.Event).Session
			want := always.Run(t2.Context(), raw)
			if w.idle(raw) {
				idle++
				if len(want.Result.Runs) > 0 || len(want.Problems) > 0 || want.Answer.Reply != (hook.Reply{}) || len(want.Sources.Broken()) > 0 {
					t2.Fatalf("idle, but the runner ran %d hooks, found %q and answered %+v\n%s", len(want.Result.Runs), want.Problems, want.Answer.Reply, payload)
				}
				return
			}
			runs++
			got := w.Run(t2.Context(), raw)
			if diff := cmp.Diff(ran(want), ran(got)); diff != "" {
				t2.Fatalf("(-always +idle):\n%s\n%s", diff, payload)
			}
		}
		configure := func() {
			w.write("home/.cline/hooks.json", file.Draw(t2, "own file"))
			text := file.Draw(t2, "project's file")
			w.write("project/.cline/hooks.json", text)
			if rapid.IntRange(0, 9).Draw(t2, "trusted") > 0 {
				if err := w.Trust.Add(w.path("project/.cline/hooks.json"), []byte(text)); err != nil {
					t2.Fatal(err)
				}
			}
		}
		configure()
		for range rapid.IntRange(1, 12).Draw(t2, "events") {
			if rapid.IntRange(0, 15).Draw(t2, "edit") == 0 {
				configure()
			}
			tool := rapid.SampledFrom(sample.Tools()).Draw(t2, "tool")
			event(sample.Payload{Event: rapid.SampledFrom(sample.Events()).Draw(t2, "event"), Tool: tool.Name, Input: json.RawMessage(tool.Example), Text: "text"})
		}
		// The runner takes the events that were postponed.
		w.write("home/.cline/hooks.json", hookFile("Stop", "", "exit 0"))
		e, err := sample.FindEvent("Stop")
		if err != nil {
			t2.Fatal(err)
		}
		event(sample.Payload{Event: e, Text: "text"})
		if diff := cmp.Diff(strings.Split(always.transcript(t2, session), "\n"), strings.Split(strings.ReplaceAll(w.transcript(t2, session), w.Dir, always.Dir), "\n")); diff != "" {
			t2.Fatalf("transcript (-always +idle):\n%s", diff)
		}
	})
	if idle == 0 || runs == 0 {
		t.Errorf("%d events were idle and %d started the runner", idle, runs)
	}
	t.Logf("%d events were idle, %d started the runner", idle, runs)
}

// ran is what an event has come to, without times.
func ran(o Outcome) any {
	type run struct {
		Event    int
		Command  string
		Decision string
	}
	out := struct {
		Runs     []run
		Reply    hook.Reply
		Problems []string
	}{Reply: o.Answer.Reply, Problems: o.Problems}
	denied := -1
	for _, r := range o.Result.Runs {
		if denied >= 0 && r.Event > denied {
			break // whether it had begun when the denial came depends on the machine
		}
		if r.Verdict.Decision == verdict.Deny {
			denied = r.Event
		}
		out.Runs = append(out.Runs, run{r.Event, r.Handler.Command, string(r.Verdict.Decision)})
	}
	return out
}

// The small program does not link the tables by which a file of another spelling is found.
func TestFilesThatAreMissingNeedTheRunner(t *testing.T) {
	w := newWorld(t)
	w.Conditions, w.Environ = hookrun.Conditions{}, []string{"PATH=" + os.Getenv("PATH")}
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", "true"))
	w.write("project/there", "")
	for i, tt := range []struct {
		tool, file string
		want       bool
	}{{"read_files", "there", false}, {"read_files", "key\u00a0x", true}, {"editor", "new", false}} {
		raw := hook.Raw{Event: "tool_call", Cwd: w.path("project"), StoredAt: w.Now(), Payload: fmt.Appendf(nil,
			`{"hookName":"tool_call","clineVersion":"3.0.58","timestamp":"2026-08-01T12:00:0%d.000Z","taskId":"17","workspaceRoots":[%q],"tool_call":{"id":"%d","name":%q,"input":{"path":%q}}}`,
			i, w.path("project"), i, tt.tool, w.path("project/"+tt.file))}
		if out := w.Run(t.Context(), raw); out.Unanswered != tt.want || out.Unanswered == (len(out.Result.Runs) > 0) {
			t.Errorf("%s %s: unanswered %v, %d hooks ran, %v", tt.tool, tt.file, out.Unanswered, len(out.Result.Runs), out.Problems)
		}
	}
}

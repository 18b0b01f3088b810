//go:build !windows

package userhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookcheck"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
)

// world is a home, a project and the hooks in them.
type world struct {
	*Hooks
	t    *testing.T
	root string
	n    int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir()}
	w.Hooks = &Hooks{
		Setup: Setup{Conditions: conditions, Faults: hookcheck.Check, Home: w.path("home"), GOOS: "linux", Trust: hookfile.Trust{Path: w.path("config/trusted-hooks.json")}}, Dir: w.path("state/hooks"),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "OUT=" + w.path("out"), "TRACEPARENT=old"},
		Now:     func() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) },
	}
	for _, dir := range []string{"home/.cline", "project/.cline", "state", "config", "out"} {
		if err := os.MkdirAll(w.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// hook is a hooks.json with one command on an event.
func hookFile(event, matcher, command string) string {
	b, _ := json.Marshal(map[string]any{"hooks": map[string]any{event: []any{map[string]any{
		"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 20}},
	}}}})
	return string(b)
}

// event is a classic payload of its own moment.
func (w *world) event(name, body string) hook.Raw {
	w.n++
	payload := fmt.Sprintf(`{"clineVersion":"3.89.2","hookName":%q,"timestamp":"%d","taskId":"17","workspaceRoots":[%q]%s}`,
		name, 1776506405123+w.n, w.path("project"), body)
	return hook.Raw{Payload: []byte(payload), Event: name, Cwd: w.path("project"), StoredAt: w.Now()}
}

func (w *world) command(line string) hook.Raw {
	params, _ := json.Marshal(map[string]string{"command": line})
	return w.event("PreToolUse", `,"preToolUse":{"toolName":"execute_command","parameters":`+string(params)+`}`)
}

func (w *world) run(raw hook.Raw) Outcome {
	w.t.Helper()
	return w.Run(context.Background(), raw)
}

const deny = `cat >/dev/null; echo "not here" >&2; exit 2`

func TestADeniedCallStopsTheTask(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "Bash", deny))
	out := w.run(w.command("rm -rf /"))
	if diff := cmp.Diff(hook.Reply{Cancel: true, ErrorMessage: "not here"}, out.Answer.Reply); diff != "" || len(out.Problems) > 0 {
		t.Errorf("reply (-want +got):\n%sproblems %q", diff, out.Problems)
	}
	payload, err := out.Record(42, true)
	if err != nil {
		t.Fatal(err)
	}
	events, err := cline.Decode(hook.Raw{Payload: payload, Event: cline.HookRunsEvent})
	if err != nil || len(events) != 1 {
		t.Fatalf("record %s: %v", payload, err)
	}
	ev := events[0]
	want := &hook.HookAnswer{Cancelled: true, By: deny, Reason: "not here"}
	if diff := cmp.Diff(want, ev.Answer); diff != "" || ev.About != 42 || ev.Session != "17" {
		t.Errorf("record about %d of %q, answer (-want +got):\n%s", ev.About, ev.Session, diff)
	}
	if len(ev.HookRuns) != 1 {
		t.Fatalf("runs: %+v", ev.HookRuns)
	}
	r := ev.HookRuns[0]
	r.Started, r.Duration = time.Time{}, 0
	if diff := cmp.Diff(hook.HookRun{
		Event: "PreToolUse", Tool: "Bash", Matcher: "Bash", Command: deny, Source: w.path("home/.cline/hooks.json"),
		Exit: 2, Status: hook.HookOK, Decision: "deny", Reason: "not here",
	}, r); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

func TestARecordSaysWhoDenied(t *testing.T) {
	for name, tc := range map[string]struct{ output, reason string }{
		"a hook that denies": {
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not here"}}`,
			"not here",
		},
		"a hook whose input the host cannot take": {
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}`,
			"a hook changed the input of Bash",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			command := "printf %s '" + tc.output + "'"
			w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", command))
			raw := w.command("rm -rf build")
			out := w.run(raw)
			payload, err := out.Record(7, true)
			if err != nil {
				t.Fatal(err)
			}
			events, err := cline.Decode(hook.Raw{Payload: payload, Event: cline.HookRunsEvent})
			if err != nil || len(events) != 1 || events[0].Answer == nil {
				t.Fatalf("%s: %v, %+v", payload, err, events)
			}
			a := events[0].Answer
			if !a.Cancelled || a.By != command || !strings.HasPrefix(a.Reason, tc.reason) {
				t.Errorf("the record says %+v, want it denied by %q because of %q", a, command, tc.reason)
			}
		})
	}
}

func TestACopyOfAnEventRunsNoHookAgain(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "Bash", `cat >/dev/null; echo x >>"$OUT/ran"; exit 2`))
	raw := w.command("ls")
	first, second, next := w.run(raw), w.run(raw), w.run(w.command("ls"))
	if !first.Answer.Reply.Cancel || second.Answer.Reply != first.Answer.Reply || len(second.Result.Runs) > 0 || !next.Answer.Reply.Cancel {
		t.Errorf("%+v, %+v, %+v; want the copy to get the verdict on the first, and the next event its own", first.Answer.Reply, second.Answer.Reply, next.Answer.Reply)
	}
	if ran, _ := os.ReadFile(w.path("out/ran")); string(ran) != "x\nx\n" {
		t.Errorf("the hook ran %d times, want 2", len(ran)/2)
	}
}

// The variables of trusted files reach all hooks, a project's over the user's,
// and nothing of hookspan's can be set by them.
func TestHooksGetTheVariablesOfTrustedFiles(t *testing.T) {
	const show = `cat >/dev/null; env >"$OUT/env"`
	withEnv := func(file, env string) string { return strings.Replace(file, "{", `{"env":`+env+`,`, 1) }
	w := newWorld(t)
	w.Environ = append(w.Environ, "BOTH=outside", "ONLY=outside")
	w.write("home/.cline/hooks.json", withEnv(hookFile("PreToolUse", "Bash", show),
		`{"BOTH":"user","MINE":"a b$HOME","COUNT":3,"HOOKSPAN_HOOKS":"false","OTEL_X":"1","infinium_agent_id":"x","CLAUDE_PROJECT_DIR":"/x","TRACEPARENT":"file"}`))
	project := withEnv(hookFile("Stop", "", "true"), `{"BOTH":"project","THEIRS":"1"}`)
	w.write("project/.cline/hooks.json", project)
	w.Parent = func(string) string { return "span" }
	environ := func() map[string]string {
		t.Helper()
		w.run(w.command("ls"))
		out, err := os.ReadFile(w.path("out/env"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch strings.ToUpper(name) {
			case "BOTH", "ONLY", "MINE", "COUNT", "THEIRS", "HOOKSPAN_HOOKS", "OTEL_X", "INFINIUM_AGENT_ID", "CLAUDE_PROJECT_DIR", "TRACEPARENT":
				got[name] = value
			}
		}
		return got
	}
	want := map[string]string{
		"BOTH": "user", "ONLY": "outside", "MINE": "a b$HOME", "COUNT": "3", "CLAUDE_PROJECT_DIR": w.path("project"), "TRACEPARENT": "span",
	}
	if diff := cmp.Diff(want, environ()); diff != "" {
		t.Errorf("the project is not trusted (-want +got):\n%s", diff)
	}
	if err := w.Trust.Add(w.path("project/.cline/hooks.json"), []byte(project)); err != nil {
		t.Fatal(err)
	}
	want["BOTH"], want["THEIRS"] = "project", "1"
	if diff := cmp.Diff(want, environ()); diff != "" {
		t.Errorf("the project is trusted (-want +got):\n%s", diff)
	}
}

func TestAProjectsHooksTakeTrust(t *testing.T) {
	w := newWorld(t)
	file := w.path("project/.cline/hooks.json")
	text := hookFile("PreToolUse", "", deny)
	w.write("project/.cline/hooks.json", text)
	out := w.run(w.command("ls"))
	if out.Answer.Reply.Cancel || len(out.Problems) != 1 || !strings.Contains(out.Problems[0], "hookspan hooks trust") {
		t.Errorf("untrusted: reply %+v, problems %q", out.Answer.Reply, out.Problems)
	}
	if err := w.Trust.Add(file, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if out := w.run(w.command("ls")); !out.Answer.Reply.Cancel || len(out.Problems) > 0 {
		t.Errorf("trusted: reply %+v, problems %q", out.Answer.Reply, out.Problems)
	}
	w.write("project/.cline/hooks.json", text+"\n")
	if out := w.run(w.command("ls")); out.Answer.Reply.Cancel {
		t.Error("an edit does not revoke the trust")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.write("elsewhere", text+"\n")
	if err := os.Symlink(w.path("elsewhere"), file); err != nil {
		t.Fatal(err)
	}
	if err := w.Trust.Add(file, []byte(text+"\n")); err != nil {
		t.Fatal(err)
	}
	if out := w.run(w.command("ls")); out.Answer.Reply.Cancel {
		t.Error("a project's file that is a link counts")
	}
}

func TestSwitchingHooksOff(t *testing.T) {
	off := func(text string) string { return strings.Replace(text, "{", `{"disableAllHooks":true,`, 1) }
	w := newWorld(t)
	user := hookFile("PreToolUse", "", `cat >/dev/null; echo user >&2; exit 2`)
	project := off(hookFile("PreToolUse", "", `cat >/dev/null; echo project >&2; exit 2`))
	w.write("home/.cline/hooks.json", user)
	w.write("project/.cline/hooks.json", project)
	if err := w.Trust.Add(w.path("project/.cline/hooks.json"), []byte(project)); err != nil {
		t.Fatal(err)
	}
	if got := w.run(w.command("ls")).Answer.Reply.ErrorMessage; got != "user" {
		t.Errorf("a project that switches hooks off: denied by %q, want by the user's own alone", got)
	}
	w.write("home/.cline/hooks.json", off(user))
	if out := w.run(w.command("ls")); out.Answer.Reply.Cancel || len(out.Result.Runs) > 0 {
		t.Errorf("a user who switches hooks off: %+v", out.Answer.Reply)
	}
}

func onError(deny bool) hookrun.OnError {
	if deny {
		return hookrun.OnErrorDeny
	}
	return ""
}

func TestAFileThatCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		deny   bool
		raw    func(w *world) hook.Raw
		cancel bool
	}{
		"the call goes on":     {false, func(w *world) hook.Raw { return w.command("ls") }, false},
		"the call is denied":   {true, func(w *world) hook.Raw { return w.command("ls") }, true},
		"the prompt is denied": {true, func(w *world) hook.Raw { return w.event("UserPromptSubmit", `,"userPromptSubmit":{"prompt":"x"}`) }, true},
		"a result is not denied": {true, func(w *world) hook.Raw {
			return w.event("PostToolUse", `,"postToolUse":{"toolName":"read_file","success":true}`)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Settings.OnError = onError(tc.deny)
			w.write("home/.cline/hooks.json", "{\n  \"hooks\": }\n")
			out := w.run(tc.raw(w))
			if out.Answer.Reply.Cancel != tc.cancel {
				t.Errorf("reply %+v, want cancel %v", out.Answer.Reply, tc.cancel)
			}
			where := w.path("home/.cline/hooks.json") + `": line 2, column 12: `
			if len(out.Problems) != 1 || !strings.Contains(out.Problems[0], where) {
				t.Errorf("problems %q, want one at %s", out.Problems, where)
			}
			if tc.cancel && !strings.Contains(out.Answer.Reply.ErrorMessage, where) {
				t.Errorf("reason %q does not name %s", out.Answer.Reply.ErrorMessage, where)
			}
		})
	}
}

func TestWhatDeniesWhereHooksCannotBeAsked(t *testing.T) {
	few := &os.PathError{Op: "open", Path: "hooks.json", Err: syscall.EMFILE}
	for name, tc := range map[string]struct {
		kind   hook.Kind
		errs   []error
		denied map[hookrun.OnError]bool
	}{
		"no descriptor for one file": {hook.KindToolStart, []error{errNoEvent, few}, map[hookrun.OnError]bool{"": true, hookrun.OnErrorLimits: true, hookrun.OnErrorDeny: true}},
		"nothing is wrong":           {hook.KindToolStart, nil, nil},
		"no descriptor for a call":   {hook.KindToolStart, []error{few}, map[hookrun.OnError]bool{"": true, hookrun.OnErrorLimits: true, hookrun.OnErrorDeny: true}},
		"a mistake in the file":      {hook.KindToolStart, []error{errNoEvent}, map[hookrun.OnError]bool{hookrun.OnErrorDeny: true}},
		"no descriptor for a prompt": {hook.KindPrompt, []error{few}, map[hookrun.OnError]bool{hookrun.OnErrorDeny: true}},
		"no descriptor for a result": {hook.KindToolEnd, []error{few}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, policy := range []hookrun.OnError{"", hookrun.OnErrorLimits, hookrun.OnErrorAllow, hookrun.OnErrorDeny} {
				h := &Hooks{Settings: Settings{OnError: policy}}
				if got := h.deny(Outcome{}, tc.kind, tc.errs...).Answer.Reply.Cancel; got != tc.denied[policy] {
					t.Errorf("on error %q: denied %t", policy, got)
				}
			}
		})
	}
	w := newWorld(t)
	sources := Sources{{Path: w.path("project/.cline/hooks.json"), Project: true, Err: few}, {Path: "x", Project: true, Err: errNoEvent}}
	if got := sources.Broken(); len(got) != 1 || !errors.Is(got[0], few) {
		t.Errorf("broken: %v, want the project's file that may be trusted", got)
	}
}

// CLINE_DIR adds hooks, and takes none away.
func TestAVariableTakesNoGuardAway(t *testing.T) {
	for name, tc := range map[string]struct {
		home, moved string
		reasons     string
	}{
		"an empty folder":                  {hookFile("PreToolUse", "", "echo home >&2; exit 2"), "", "home"},
		"a file that is switched off":      {hookFile("PreToolUse", "", "echo home >&2; exit 2"), `{"disableAllHooks":true,"hooks":{}}`, "home"},
		"a file with hooks":                {hookFile("PreToolUse", "", "echo home >&2; exit 2"), hookFile("PreToolUse", "", "true"), "home"},
		"a file with a guard":              {hookFile("PreToolUse", "", "true"), hookFile("PreToolUse", "", "echo moved >&2; exit 2"), "moved"},
		"no file at home":                  {"", hookFile("PreToolUse", "", "echo moved >&2; exit 2"), "moved"},
		"switched off at home, for all":    {`{"disableAllHooks":true,"hooks":{}}`, hookFile("PreToolUse", "", "echo moved >&2; exit 2"), ""},
		"a project's guard, one moved off": {"", `{"disableAllHooks":true,"hooks":{}}`, "project"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ClineDir = w.path("moved")
			if tc.home != "" {
				w.write("home/.cline/hooks.json", tc.home)
			}
			if err := os.Mkdir(w.path("moved"), 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.moved != "" {
				w.write("moved/hooks.json", tc.moved)
			}
			if tc.reasons == "project" {
				guard := hookFile("PreToolUse", "", "echo project >&2; exit 2")
				w.write("project/.cline/hooks.json", guard)
				if err := w.Trust.Add(w.path("project/.cline/hooks.json"), []byte(guard)); err != nil {
					t.Fatal(err)
				}
			}
			reply := w.run(w.command("ls")).Answer.Reply
			if reply.Cancel != (tc.reasons != "") || !strings.Contains(reply.ErrorMessage, tc.reasons) {
				t.Errorf("%+v, want it denied by %q", reply, tc.reasons)
			}
		})
	}
}

// A link that leads nowhere, and a file that cannot be opened, may hold a guard.
func TestCallIsDeniedWhereTheUsersFileCannotBeRead(t *testing.T) {
	for name, put := range map[string]func(*world, string) error{
		"a link that leads nowhere": func(w *world, file string) error { return os.Symlink(w.path("dotfiles/hooks.json"), file) },
		"a folder in its place":     func(_ *world, file string) error { return os.Mkdir(file, 0o700) },
	} {
		for policy, denied := range map[hookrun.OnError]bool{"": true, hookrun.OnErrorLimits: true, hookrun.OnErrorAllow: false, hookrun.OnErrorDeny: true} {
			w := newWorld(t)
			w.Settings.OnError = policy
			w.write("home/.cline/settings.json", "{}")
			if err := put(w, w.path("home/.cline/hooks.json")); err != nil {
				t.Fatal(err)
			}
			if got := w.program(w.command("a")); got != hooksession.Full {
				t.Errorf("%s: %q decides, want %q", name, got, hooksession.Full)
			}
			out := w.run(w.command("ls"))
			if out.Answer.Reply.Cancel != denied || len(out.Problems) == 0 || !strings.Contains(out.Problems[0], "hooks.json") {
				t.Errorf("%s, on error %q: %+v, %q; want denied %t and the problem", name, policy, out.Answer.Reply, out.Problems, denied)
			}
			if out := w.run(w.event("PostToolUse", `,"postToolUse":{"toolName":"execute_command","parameters":{"command":"ls"},"result":"","success":true}`)); out.Answer.Reply.Cancel {
				t.Errorf("%s, on error %q: a result is denied", name, policy)
			}
		}
	}
}

func TestACallWhosePayloadCannotBeReadIsDeniedWhereThereIsAGuard(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, tc := range map[string]struct {
		event, hooks, body string
		policy             hookrun.OnError
		denied             bool
	}{
		"a call as deep as no parser goes": {"PreToolUse", hookFile("PreToolUse", "", "exit 2"), `,"preToolUse":{"toolName":"x","parameters":{"a":` + deep + `}}`, "", true},
		"a call that is no JSON":           {"PreToolUse", hookFile("PreToolUse", "", "exit 2"), `,`, "", true},
		"a guard that may be left out":     {"PreToolUse", hookFile("PreToolUse", "", "exit 2"), `,`, hookrun.OnErrorAllow, false},
		"no guard":                         {"PreToolUse", hookFile("PostToolUse", "", "exit 2"), `,`, "", false},
		"no file":                          {"PreToolUse", "", `,`, "", false},
		"a result":                         {"PostToolUse", hookFile("PreToolUse", "", "exit 2"), `,`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Settings.OnError = tc.policy
			if tc.hooks != "" {
				w.write("home/.cline/hooks.json", tc.hooks)
			}
			if got := w.run(w.event(tc.event, tc.body)).Answer.Reply; got.Cancel != tc.denied {
				t.Errorf("%+v, want denied %t", got, tc.denied)
			}
		})
	}
}

func TestTheTimeForHooksBeginsWhenTheHostStartsToWait(t *testing.T) {
	w := newWorld(t)
	now := w.Now()
	for name, tc := range map[string]struct{ began, want time.Time }{
		"not told":          {time.Time{}, now},
		"some seconds ago":  {now.Add(-4 * time.Second), now.Add(-4 * time.Second)},
		"long ago":          {now.Add(-time.Hour), now.Add(-maxAhead)},
		"a clock set back":  {now.Add(time.Hour), now},
		"this very instant": {now, now},
	} {
		if w.Began = tc.began; !w.started().Equal(tc.want) {
			t.Errorf("%s: %v, want %v", name, w.started(), tc.want)
		}
	}
}

func TestAPayloadThatIsNoEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		event       string
		deny, stops bool
	}{
		"a call is denied":               {"PreToolUse", false, true},
		"a call is denied if wanted":     {"PreToolUse", true, true},
		"a prompt goes on":               {"UserPromptSubmit", false, false},
		"the SDK's call as well":         {"tool_call", true, true},
		"a prompt as well":               {"UserPromptSubmit", true, true},
		"the end of a call goes on":      {"PostToolUse", true, false},
		"an event of no known name also": {"Whatever", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Settings.OnError = onError(tc.deny)
			w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", deny))
			out := w.run(hook.Raw{Payload: []byte(`{"preToolUse":{"toolName":`), Event: tc.event})
			if out.Answer.Reply.Cancel != tc.stops || len(out.Problems) != 1 {
				t.Errorf("reply %+v, problems %q", out.Answer.Reply, out.Problems)
			}
			if b, err := out.Record(1, true); b != nil || err != nil {
				t.Errorf("record %s, %v", b, err)
			}
		})
	}
}

// TestContextThatAnEventCannotCarry comes with the session's next tool event.
func TestContextThatAnEventCannotCarry(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", `{"hooks":{
		"Stop":[{"hooks":[{"type":"command","command":"cat >/dev/null; echo '{\"decision\":\"block\",\"reason\":\"run the tests\"}'"}]}],
		"PostToolUse":[{"hooks":[{"type":"command","command":"cat >/dev/null; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"and lint\"}}'"}]}]}}`)
	done := w.run(w.event("TaskComplete", `,"taskComplete":{"taskMetadata":{"result":"done"}}`))
	if done.Answer.Reply.Cancel || done.Answer.Reply.Context != "" || len(done.Problems) != 1 {
		t.Errorf("end: reply %+v, problems %q", done.Answer.Reply, done.Problems)
	}
	post := func() string {
		return w.run(w.event("PostToolUse", `,"postToolUse":{"toolName":"execute_command","parameters":{"command":"ls"},"result":"x","success":true}`)).Answer.Reply.Context
	}
	if got := post(); got != "run the tests\n\nand lint" {
		t.Errorf("next tool: context %q", got)
	}
	if got := post(); got != "and lint" {
		t.Errorf("the one after: context %q", got)
	}
}

func TestWhatHooksGet(t *testing.T) {
	w := newWorld(t)
	w.Parent = func(string) string { return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }
	save := `cat >"$OUT/$(date +%N)"; { echo "$CLAUDE_PROJECT_DIR"; pwd; echo "$TRACEPARENT"; cat "$(ls "$OUT"/../state/hooks/cline/*/transcript.jsonl)"; } >"$OUT/saw"`
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", save))
	w.run(w.event("UserPromptSubmit", `,"userPromptSubmit":{"prompt":"list the files"}`))
	w.run(w.command("ls"))
	saw, err := os.ReadFile(w.path("out/saw"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(saw)), "\n")
	if len(lines) != 5 {
		t.Fatalf("saw %q", saw)
	}
	if diff := cmp.Diff([]string{w.path("project"), w.path("project"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, lines[:3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, want := range []string{"list the files", "tool_use"} {
		if row := lines[3+i]; !json.Valid([]byte(row)) || !strings.Contains(row, want) {
			t.Errorf("transcript row %d: %s, want JSON with %q", i, row, want)
		}
	}
}

func TestOnlyHooksThatRunAskForAParent(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.Parent = func(string) string { asked++; return "" }
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "Read", "cat >/dev/null"))
	w.run(w.command("ls"))
	if asked != 0 {
		t.Error("asked where no hook fits the event")
	}
	w.run(w.event("PreToolUse", `,"preToolUse":{"toolName":"read_file","parameters":{"path":"a"}}`))
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

func TestASessionStartsOnceForHooks(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", `{"hooks":{"SessionStart":[{"hooks":[
		{"type":"command","command":"cat >>\"$OUT/sources\"; echo >>\"$OUT/sources\""},
		{"type":"command","once":true,"command":"cat >/dev/null; echo x >>\"$OUT/once\""}]}]}}`)
	for range 2 {
		w.run(w.event("TaskStart", `,"taskStart":{"taskMetadata":{"initialTask":"x"}}`))
	}
	data, err := os.ReadFile(w.path("out/sources"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for line := range strings.Lines(string(data)) {
		var ev struct{ Source string }
		if json.Unmarshal([]byte(line), &ev) == nil {
			sources = append(sources, ev.Source)
		}
	}
	if diff := cmp.Diff([]string{"startup"}, sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if once, _ := os.ReadFile(w.path("out/once")); string(once) != "x\n" {
		t.Errorf("a hook that runs once ran %d times", len(once)/2)
	}
}

func TestASessionEndsOnceForHooks(t *testing.T) {
	w := newWorld(t)
	w.write("home/.cline/hooks.json", hookFile("SessionEnd", "", "echo end >> \"$OUT/ends\""))
	sdk := func(name string) hook.Raw {
		w.n++
		return hook.Raw{Event: name, Cwd: w.path("project"), StoredAt: w.Now(), Payload: fmt.Appendf(nil,
			`{"clineVersion":"3.0.57","hookName":%q,"timestamp":"2026-08-01T12:00:%02dZ","taskId":"17","workspaceRoots":[%q]}`,
			name, w.n, w.path("project"))}
	}
	for i, step := range []struct {
		event string
		ends  int
	}{
		{"agent_start", 0}, {"agent_abort", 1}, {"session_shutdown", 1}, {"agent_start", 1}, {"session_shutdown", 2},
	} {
		w.run(sdk(step.event))
		out, _ := os.ReadFile(w.path("out/ends"))
		if got := strings.Count(string(out), "end"); got != step.ends {
			t.Errorf("step %d, %s: the hook ran %d times so far, want %d", i, step.event, got, step.ends)
		}
	}
}

func TestWithoutAFolderNothingIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.Dir = ""
	w.write("home/.cline/hooks.json", hookFile("PreToolUse", "", deny))
	raw := w.command("ls")
	for range 2 {
		if out := w.run(raw); !out.Answer.Reply.Cancel {
			t.Errorf("reply %+v, problems %q", out.Answer.Reply, out.Problems)
		}
	}
	if left, err := os.ReadDir(w.path("state")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

package hookrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// on is a shell hook with an event and a matcher.
func on(event, matcher, line string) hookfile.Handler {
	h := shell(line)
	h.Event, h.Matcher = event, matcher
	return h
}

// answers are the outputs of runs, in their order.
func answers(res Result) []string {
	var out []string
	for _, r := range res.Runs {
		out = append(out, strings.TrimSpace(strconv.Itoa(r.Event)+" "+r.Output.Stdout))
	}
	return out
}

func TestHooksRunInParallelToTheEnd(t *testing.T) {
	w := newWorld(t)
	ready, goOn := w.fifo(t, "ready"), w.fifo(t, "go")
	var hooks []hookfile.Handler
	for i := range 8 {
		h := shell(fmt.Sprintf("echo > ready; read x < go; echo %d", i))
		if i == 0 {
			// A denial does not stop the others.
			h.Command = "echo > ready; echo 0; echo no >&2; exit 2"
		}
		h.Timeout = time.Minute
		hooks = append(hooks, h)
	}
	done := make(chan Result, 1)
	go func() { done <- w.Run(t.Context(), hooks, []Event{toolCall("{}")}) }()
	// No hook continues before all have started.
	await(t, ready, 8)
	if _, err := goOn.WriteString(strings.Repeat("\n", 7)); err != nil {
		t.Fatal(err)
	}
	res := <-done
	if d := cmp.Diff([]string{"0 0", "0 1", "0 2", "0 3", "0 4", "0 5", "0 6", "0 7"}, answers(res)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if v := res.Verdicts[0]; v.Decision != verdict.Deny || v.Reason != "no" {
		t.Errorf("%+v, want it denied", v)
	}
	w.gone(t)
}

func TestRunsAreInOrder(t *testing.T) {
	w := newWorld(t)
	a, b := on(preToolUse, "Bash", "echo a"), on(preToolUse, "execute_command", "echo b")
	stop := on("Stop", "", "echo stop")
	again, other := a, a
	again.Matcher, again.File = "", "other.json"
	other.Shell = "bash"
	form := a
	form.Args = []string{}
	form.Command = "true"
	hooks := []hookfile.Handler{b, stop, a, again, other, form, on("Stop", "", "echo a"), on(preToolUse, "Edit", "echo never")}
	both := Event{Name: preToolUse, Subjects: []string{"Bash", "execute_command"}, Payload: []byte("{}")}
	second := both
	second.Input = []byte(`{"command":"other"}`)
	events := []Event{both, {Name: "Stop", Payload: []byte("{}")}, second, {Name: "SessionEnd"}}
	want := []string{"0 b", "0 a", "0 a", "0", "1 stop", "1 a", "2 b", "2 a", "2 a", "2"}
	for range 3 {
		res := w.Run(t.Context(), hooks, events)
		if d := cmp.Diff(want, answers(res)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if len(res.Verdicts) != len(events) {
			t.Errorf("%d verdicts, want one for each event", len(res.Verdicts))
		}
	}
}

func TestVerdictsAreMergedInConfigurationOrder(t *testing.T) {
	w := newWorld(t)
	w.fifo(t, "first")
	say := func(decision, reason string) string {
		return fmt.Sprintf(`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s",`+
			`"permissionDecisionReason":"%s","additionalContext":"%s"}}'`, decision, reason, reason)
	}
	hooks := []hookfile.Handler{
		shell("read x < first; " + say("allow", "a")),
		shell("read x < first; " + say("deny", "b")),
		shell("echo > first; echo > first; " + say("ask", "c")),
		shell("exit 1"),
	}
	v := w.Run(t.Context(), hooks, []Event{toolCall("{}")}).Verdicts[0]
	if v.Decision != verdict.Deny || !strings.Contains(v.Reason, "b") {
		t.Errorf("%+v, want b's refusal", v)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, v.Context); d != "" {
		t.Errorf("context (-want +got):\n%s", d)
	}
	if len(v.Errors) != 1 {
		t.Errorf("errors: %q, want that of the last", v.Errors)
	}
}

func TestStrictExit(t *testing.T) {
	w := newWorld(t)
	w.StrictExit = true
	if run := w.one(t.Context(), t, shell("echo no >&2; exit 1"), "{}"); run.Verdict.Decision != verdict.Deny {
		t.Errorf("%+v, want it denied", run.Verdict)
	}
}

func TestMatcherErrorIsReported(t *testing.T) {
	w := newWorld(t)
	call := toolCall("{}")
	hooks := []hookfile.Handler{on(preToolUse, "([", "echo never"), on(preToolUse, "", "echo fine")}
	for policy, deny := range map[OnError]bool{"": false, OnErrorLimits: false, OnErrorAllow: false, OnErrorDeny: true} {
		w.OnError = policy
		res := w.Run(t.Context(), hooks, []Event{call})
		if d := cmp.Diff([]string{"0", "0 fine"}, answers(res)); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		bad, v := res.Runs[0], res.Verdicts[0]
		if bad.Err == "" || bad.Output.Stdout != "" || len(v.Errors) == 0 || !strings.Contains(bad.Err, "matcher") {
			t.Errorf("%+v, %+v; want the error and no run", bad, v)
		}
		if (v.Decision == verdict.Deny) != deny || deny && !strings.Contains(v.Reason, bad.Err) {
			t.Errorf("on error %q: %+v", policy, v)
		}
	}
	// Another event continues in any case.
	hooks[0].Event, call.Name = "PostToolUse", "PostToolUse"
	if v := w.Run(t.Context(), hooks, []Event{call}).Verdicts[0]; v.Decision != verdict.NoDecision || len(v.Errors) == 0 {
		t.Errorf("%+v, want the error alone", v)
	}
}

// TestGuardRunsWhereItsMatcherGivesUp has an expression that needs years.
func TestGuardRunsWhereItsMatcherGivesUp(t *testing.T) {
	w := newWorld(t)
	call := toolCall("{}")
	call.Subjects = []string{strings.Repeat("a", 200) + "!"}
	guard := on(preToolUse, `^(\w+\s?)*$`, "echo no >&2; exit 2")
	for policy := range map[OnError]bool{"": true, OnErrorAllow: true, OnErrorDeny: true} {
		w.OnError = policy
		res := w.Run(t.Context(), []hookfile.Handler{guard}, []Event{call})
		if run, v := res.Runs[0], res.Verdicts[0]; v.Decision != verdict.Deny || v.Reason != "no" || !strings.Contains(run.Doubt, "gives up") || run.Err != "" {
			t.Errorf("on error %q: %+v, %+v; want the guard's denial and the doubt", policy, run, v)
		}
	}
	// A rule still narrows it, and a hook that guards nothing does not run.
	call.Tool, call.Input = "Bash", []byte(`{"command":"ls"}`)
	guard.If = "Bash(rm *)"
	if got := w.Select([]hookfile.Handler{guard}, []Event{call}); got[0].Matched {
		t.Errorf("%s", got[0])
	}
	guard.If, guard.Event, call.Name = "", "PostToolUse", "PostToolUse"
	if run := w.Run(t.Context(), []hookfile.Handler{guard}, []Event{call}).Runs[0]; run.Output.Exit != 0 || !strings.Contains(run.Err, "gives up") {
		t.Errorf("%+v, want it not run and an error", run)
	}
}

// A guard that could not be started is asked the next time, and one that was started is not.
func TestOnceLastsFromTheStart(t *testing.T) {
	w := newWorld(t)
	var calls []bool
	w.Claim = func(context.Context, string) (func(bool), bool) {
		return func(started bool) { calls = append(calls, started) }, true
	}
	missing := hookfile.Handler{Event: preToolUse, Type: hookfile.TypeCommand, Command: "no-such-program-here", Args: []string{}, Once: true}
	background := shell("cat >/dev/null")
	background.Async, background.Once = true, true
	failing := shell("exit 1")
	failing.Once = true
	for name, tc := range map[string]struct {
		hook hookfile.Handler
		want []bool
	}{"a missing program": {missing, []bool{false}}, "a program": {failing, []bool{true}}, "one that is not waited for": {background, []bool{true}}} {
		calls = nil
		w.Run(t.Context(), []hookfile.Handler{tc.hook}, operations(3))
		if d := cmp.Diff(tc.want, calls); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestSelect(t *testing.T) {
	git := on(preToolUse, "Bash", "git")
	git.If = "Bash(git *)"
	broken := on(preToolUse, "", "broken")
	broken.If = "Bash(git"
	wrong := on("Stop", "", "stop")
	wrong.If = "Bash"
	hooks := []hookfile.Handler{
		on(preToolUse, "Bash", "a"), on(preToolUse, "^Ba", "a"), on(preToolUse, "Edit|Write", "b"), on(preToolUse, "(", "c"),
		git, broken, wrong, on("SessionStart", "", "never"),
	}
	call := func(command string) Event {
		e := toolCall("{}")
		e.Subjects = []string{"Bash", "execute_command"}
		e.Input = []byte(`{"command":"` + command + `"}`)
		return e
	}
	r := Runner{Conditions: conditions}
	var got []string
	for _, m := range r.Select(hooks, []Event{call("git status"), call("ls"), {Name: "Stop"}}) {
		got = append(got, fmt.Sprintf("%d %s %t: %s", m.Event, m.Handler.Command, m.Matched, m.Why))
	}
	rest := func(event int, git string) []string {
		n := strconv.Itoa(event)
		return []string{
			n + ` a true: matcher "Bash" fits Bash`,
			n + ` a false: the same hook runs for this event already`,
			n + ` b false: matcher "Edit|Write" fits none of Bash, execute_command`,
			n + ` c false: matcher "(" is no JavaScript regular expression: `,
			n + git,
			n + ` broken false: if "Bash(git": want one rule`,
		}
	}
	want := append(rest(0, ` git true: matcher "Bash" fits Bash; rule Bash(git *): it fits "git status"`),
		rest(1, ` git false: matcher "Bash" fits Bash; rule Bash(git *): it fits no command`)...)
	want = append(want, `2 stop false: a hook with "if" runs on tool events only, and Stop is none`)
	if d := cmp.Diff(want, got, cmp.Comparer(func(want, got string) bool {
		return strings.HasPrefix(got, want) || strings.HasPrefix(want, got)
	})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRuleErrorIsReported(t *testing.T) {
	w := newWorld(t)
	h := shell("echo never")
	h.If = "Bash(git"
	if run := w.one(t.Context(), t, h, "{}"); !strings.Contains(run.Err, "want one rule") || run.Output.Stdout != "" {
		t.Errorf("%+v, want it not run and an error", run)
	}
}

func TestOnceHandlerRunsOnlyIfClaimed(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	asked := map[string]int{}
	w.Claim = func(_ context.Context, key string) (func(bool), bool) {
		mu.Lock()
		defer mu.Unlock()
		asked[key]++
		return func(bool) {}, asked[key] == 1
	}
	once, other := shell("echo once"), shell("echo other")
	once.Once, other.Once = true, true
	hooks := []hookfile.Handler{once, other, shell("echo always")}
	if d := cmp.Diff([]string{"0 once", "0 other", "0 always"}, answers(w.Run(t.Context(), hooks, []Event{toolCall("{}")}))); d != "" {
		t.Errorf("first (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"0 always"}, answers(w.Run(t.Context(), hooks, []Event{toolCall("{}")}))); d != "" {
		t.Errorf("second (-want +got):\n%s", d)
	}
	if len(asked) != 2 {
		t.Errorf("asked for %d keys, want 2: %v", len(asked), asked)
	}
	w.Claim = nil
	if got := answers(w.Run(t.Context(), hooks, []Event{toolCall("{}")})); len(got) != 3 {
		t.Errorf("without memory: %q, want all", got)
	}
}

func TestUnknownTypeIsAnError(t *testing.T) {
	w := newWorld(t)
	for _, async := range []bool{false, true} {
		h := hookfile.Handler{Event: preToolUse, Type: "prompt", Async: async}
		run := w.one(t.Context(), t, h, "{}")
		if !strings.Contains(run.Err, `type "prompt" does not run here; use command or http`) {
			t.Errorf("async %t: %q", async, run.Err)
		}
	}
}

func TestTraceReportsEachStep(t *testing.T) {
	w := newWorld(t)
	var lines []string
	// Trace needs no lock.
	w.Trace = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	once := shell("echo again")
	once.Once = true
	w.Claim = func(context.Context, string) (func(bool), bool) { return nil, false }
	hooks := []hookfile.Handler{on(preToolUse, "Bash", "echo no >&2; exit 2"), on(preToolUse, "Edit", "x"), on(preToolUse, "(", "x"), once, shell("true")}
	w.Run(t.Context(), hooks, []Event{toolCall("{}")})
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		`hooks.json:1: PreToolUse: run: matcher "Bash" fits Bash`, `: skip: matcher "Edit" fits none of Bash`, `: skip: matcher "(" is no JavaScript`,
		`hooks.json:1: PreToolUse: skip: it ran in this session already`, `: start, time limit 1m0s`, `exit 2, failed false, timed out false, verdict "deny"`,
		`PreToolUse: verdict of 3 hooks: "deny" no`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no line with %s in\n%s", want, all)
		}
	}
	if n := strings.Count(all, ": end after "); n != 2 {
		t.Errorf("%d ends, want 2", n)
	}
}

func TestCancelledRunStartsNothing(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	res := w.Run(ctx, []hookfile.Handler{shell("touch ran"), shell("touch ran too")}, []Event{toolCall("{}")})
	if !slices.ContainsFunc(res.Runs, func(r Run) bool { return r.Err != "" && r.Output.Failed }) || len(res.Runs) != 2 {
		t.Errorf("%+v, want it said that they were cancelled", res.Runs)
	}
	if got := w.left(t); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

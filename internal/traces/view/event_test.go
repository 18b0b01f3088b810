package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
)

func sampleEvents() []hook.Event {
	at := func(s int, e hook.Event) hook.Event {
		e.StoredAt = t0.Add(time.Duration(s) * time.Second)
		e.Host, e.Session, e.Cwd = "claude-code", "3f2a9c", "/home/me/work/shop-api"
		return e
	}
	call := func(id, name, input string) *hook.Tool {
		return &hook.Tool{ID: id, Name: name, Input: input, Duration: hook.UnknownDuration}
	}
	failed := call("2", "Bash", `{"command":"npm test"}`)
	failed.Status, failed.Error, failed.Duration = hook.ToolFailed, "exit code 1\x1b[2J\nFAIL auth.test.ts", 4*time.Second
	ok := call("1", "Read", `{"file_path":"/home/me/work/shop-api/auth.ts"}`)
	ok.Output, ok.Duration = "1 import x", 12*time.Millisecond
	return []hook.Event{
		at(0, hook.Event{Kind: hook.KindSessionStart, Name: "SessionStart"}),
		at(1, hook.Event{Kind: hook.KindPrompt, Name: "UserPromptSubmit", Prompt: "Fix the login\nof 日本 " + strings.Repeat("users ", 30)}),
		at(2, hook.Event{Kind: hook.KindToolStart, Name: "PreToolUse", Tool: call("1", "Read", ok.Input)}),
		at(2, hook.Event{Kind: hook.KindToolEnd, Name: "PostToolUse", Tool: ok}),
		at(3, hook.Event{Kind: hook.KindAside, Name: "MessageDelta"}),
		at(3, hook.Event{Kind: hook.KindPermission, Name: "PermissionRequest", Tool: call("", "mcp__a_long_name_of_a_server__tool", `{"query":"x"}`)}),
		at(4, hook.Event{Kind: hook.KindRunStart, Name: "SubagentStart", ParentAgent: hook.ParentUnknown, Agent: "a", AgentType: "explore"}),
		at(5, hook.Event{Kind: hook.KindToolEnd, Name: "PostToolUseFailure", Tool: failed}),
		at(6, hook.Event{Kind: hook.KindHookRuns, Name: "hookspan", HookRuns: []hook.HookRun{{Command: "fine.sh", Status: hook.HookOK}}}),
		at(6, hook.Event{Kind: hook.KindHookRuns, Name: "hookspan", Answer: &hook.HookAnswer{Cancelled: true, By: "guard.sh", Reason: "not on Friday"}}),
		at(7, hook.Event{Kind: hook.KindHookRuns, Name: "hookspan", HookRuns: []hook.HookRun{{Tool: "Bash", Command: "slow.sh", Status: hook.HookTimeout, Duration: time.Minute}}}),
		at(8, hook.Event{Kind: hook.KindRunComplete, Name: "Stop", Result: "All tests pass."}),
		at(8, hook.Event{Kind: hook.KindNotification, Name: "Notification", Message: "All tests pass."}),
		at(9, hook.Event{Kind: hook.KindRunError, Name: "StopFailure", ErrorType: "overloaded", Message: "529"}),
		at(10, hook.Event{Kind: hook.KindUnknown, Name: "Odd"}),
	}
}

func eventLines(o Options) string {
	o.Location = time.UTC
	var lines EventLines
	var b strings.Builder
	for _, e := range sampleEvents() {
		if l, ok := lines.Of(&e); ok {
			b.WriteString(Event(&l, o) + "\n")
		}
	}
	return b.String()
}

func TestEventGolden(t *testing.T) {
	for name, o := range map[string]Options{"40": {Width: 40}, "80": {Width: 80}, "120": {Width: 120}, "piped": {}, "ascii": {Width: 80, ASCII: true}, "color": {Width: 80, Color: true}} {
		t.Run(name, func(t *testing.T) { golden.Check(t, "events-"+name+".txt", eventLines(o)) })
	}
}

func TestEventKeepsToItsWidth(t *testing.T) {
	for w := 40; w <= 160; w++ {
		text := eventLines(Options{Width: w})
		for l := range strings.Lines(text) {
			if got := termtext.Width(strings.TrimSuffix(l, "\n")); got > w {
				t.Errorf("width %d: a line takes %d columns: %q", w, got, l)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Fatal("a result controls the terminal")
		}
	}
}

// TestEventKeepsTheColumnOfTools has tools with names of different lengths, whose details
// begin in one column of a terminal. A pipe gets whole names.
func TestEventKeepsTheColumnOfTools(t *testing.T) {
	for _, tool := range []string{"Read", "run_shell_command", "search_file_content", "mcp__a_long_name_of_a_server__tool"} {
		e := EventLine{Kind: hook.KindToolStart.String(), Status: "running", Tool: tool, Input: `{"command":"npm test"}`}
		for width, column := range map[int]int{60: 35, 80: 55, 120: 62, 160: 62} {
			got := Event(&e, Options{Width: width, Location: time.UTC})
			before, _, found := strings.Cut(got, "npm test")
			if at := termtext.Width(before); !found || at != column {
				t.Errorf("%s at width %d: the detail begins in column %d, want %d: %q", tool, width, at, column, got)
			}
		}
		if got := Event(&e, Options{Location: time.UTC}); !strings.Contains(got, tool+" ") || !strings.HasSuffix(got, "  npm test") {
			t.Errorf("in a pipe: %q", got)
		}
	}
}

func TestEventLineCountsTheRun(t *testing.T) {
	var lines EventLines
	var end EventLine
	for _, e := range sampleEvents() {
		if l, ok := lines.Of(&e); ok && e.Kind == hook.KindRunComplete {
			end = l
		}
	}
	if end.Calls != 2 || end.Failures != 1 || end.Took != 7*time.Second {
		t.Errorf("%d calls, %d failures, %s, want 2, 1 and 7s", end.Calls, end.Failures, end.Took)
	}
	end.Blank()
	if end.Text != "" {
		t.Error("a blank line has a text")
	}
}

// TestEventLineMeasuresEachRun has runs of one session: one that ends, with the session,
// one of a session that was resumed, one that has no end, and one that fails.
func TestEventLineMeasuresEachRun(t *testing.T) {
	at := func(s int, e hook.Event) hook.Event {
		e.Host, e.Session, e.StoredAt = "codex", "3f2a9c", t0.Add(time.Duration(s)*time.Second)
		return e
	}
	call := &hook.Tool{ID: "1", Name: "Bash", Status: hook.ToolOK}
	var lines EventLines
	var ends []EventLine
	for _, e := range []hook.Event{
		at(0, hook.Event{Kind: hook.KindSessionStart}),
		at(10, hook.Event{Kind: hook.KindPrompt, Turn: "a", Prompt: "one"}),
		at(11, hook.Event{Kind: hook.KindToolEnd, Turn: "a", Tool: call}),
		at(12, hook.Event{Kind: hook.KindRunComplete, Turn: "a", Result: "done"}),
		at(13, hook.Event{Kind: hook.KindSessionEnd}),
		at(100, hook.Event{Kind: hook.KindSessionStart}),
		at(101, hook.Event{Kind: hook.KindPrompt, Turn: "b", Prompt: "two"}),
		at(104, hook.Event{Kind: hook.KindRunComplete, Turn: "b", Result: "done"}),
		at(110, hook.Event{Kind: hook.KindPrompt, Turn: "c", Prompt: "never ended"}),
		at(111, hook.Event{Kind: hook.KindToolEnd, Turn: "c", Tool: call}),
		at(112, hook.Event{Kind: hook.KindToolEnd, Turn: "of the subagent", Agent: "x", Tool: call}),
		at(120, hook.Event{Kind: hook.KindPrompt, Turn: "d", Prompt: "four"}),
		at(124, hook.Event{Kind: hook.KindRunError, Turn: "d", ErrorType: "APIError", Message: "refused"}),
		at(125, hook.Event{Kind: hook.KindRunError, Turn: "d", ErrorType: "APIError", Message: "refused"}),
	} {
		if l, ok := lines.Of(&e); ok && (e.Kind == hook.KindRunComplete || e.Kind == hook.KindRunError) {
			ends = append(ends, EventLine{Text: l.Text, Took: l.Took, Calls: l.Calls})
		}
	}
	want := []EventLine{
		{Text: "done", Took: 2 * time.Second, Calls: 1}, {Text: "done", Took: 3 * time.Second}, {Text: "APIError: refused", Took: 4 * time.Second},
	}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// TestEventLineCountsCallsWithoutAnEnd has, beside a call that ended and was reported
// twice, one that never ended, one that a hook denied and one that the user did.
func TestEventLineCountsCallsWithoutAnEnd(t *testing.T) {
	call := func(id string) *hook.Tool { return &hook.Tool{ID: id, Name: "Bash", Status: hook.ToolOK} }
	for kind, want := range map[hook.Kind]EventLine{
		hook.KindRunComplete: {Calls: 4, Failures: 1, Denials: 2}, hook.KindRunCancel: {Calls: 4, Denials: 3},
	} {
		var lines EventLines
		var got EventLine
		for _, e := range []hook.Event{
			{Kind: hook.KindPrompt, Prompt: "one"},
			{Kind: hook.KindToolStart, Tool: call("1")},
			{Kind: hook.KindToolEnd, Tool: call("1")},
			{Kind: hook.KindToolEnd, Tool: call("1")},
			{Kind: hook.KindToolStart, Tool: call("2"), Hash: 7},
			{Kind: hook.KindHookRuns, About: 7, Answer: &hook.HookAnswer{Cancelled: true}},
			{Kind: hook.KindToolStart, Tool: call("3")},
			{Kind: hook.KindPermission, Tool: call("3")},
			{Kind: hook.KindToolStart, Tool: call("4")},
			{Kind: hook.KindToolStart, Tool: call("5"), Agent: "in the background"},
			{Kind: kind},
		} {
			e.Host, e.Session, e.StoredAt = "claude-code", "s", t0
			if l, ok := lines.Of(&e); ok && e.Kind == kind {
				got = EventLine{Calls: l.Calls, Failures: l.Failures, Denials: l.Denials}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestEventLineCountsCallsWhoseIDComesAgain has calls with one id: the next reply of some models
// counts its calls anew.
func TestEventLineCountsCallsWhoseIDComesAgain(t *testing.T) {
	type events []hook.Event
	tool := func(input string, status hook.ToolStatus) *hook.Tool {
		return &hook.Tool{ID: "call_0", Name: "Bash", Input: input, Status: status}
	}
	start := func(s int, input string) hook.Event {
		return hook.Event{Kind: hook.KindToolStart, StoredAt: t0.Add(time.Duration(s) * time.Second), Hash: 7, Tool: tool(input, hook.ToolUnknown)}
	}
	end := func(input string, status hook.ToolStatus) hook.Event {
		return hook.Event{Kind: hook.KindToolEnd, Tool: tool(input, status)}
	}
	asked := func(id, input string) hook.Event {
		e := hook.Event{Kind: hook.KindPermission, Tool: tool(input, hook.ToolUnknown)}
		e.Tool.ID = id
		return e
	}
	of := func(agent string, e hook.Event) hook.Event {
		e.Agent = agent
		return e
	}
	plain := func(s int, hash uint64, input string) hook.Event {
		e := start(s, input)
		e.Hash, e.Tool.ID = hash, ""
		return e
	}
	denied := hook.Event{Kind: hook.KindHookRuns, About: 7, Answer: &hook.HookAnswer{Cancelled: true}}
	for name, c := range map[string]struct {
		events events
		want   EventLine
	}{
		"two calls":                     {events{start(0, "ls"), end("ls", hook.ToolOK), start(9, "rm"), end("rm", hook.ToolFailed)}, EventLine{Calls: 2, Failures: 1}},
		"two equal calls":               {events{start(0, "ls"), end("ls", hook.ToolOK), start(9, "ls"), end("ls", hook.ToolFailed)}, EventLine{Calls: 2, Failures: 1}},
		"without starts":                {events{end("ls", hook.ToolOK), end("rm", hook.ToolFailed)}, EventLine{Calls: 2, Failures: 1}},
		"copies":                        {events{start(0, "ls"), start(1, "ls"), end("ls", hook.ToolFailed), end("ls", hook.ToolOK)}, EventLine{Calls: 1, Failures: 1}},
		"the first denied by the user":  {events{start(0, "rm"), asked("call_0", "rm"), start(9, "ls"), end("ls", hook.ToolOK)}, EventLine{Calls: 2, Denials: 1}},
		"the second denied by a hook":   {events{start(0, "ls"), end("ls", hook.ToolOK), start(9, "ls"), denied}, EventLine{Calls: 2, Denials: 1}},
		"denied by a hook, with an end": {events{start(0, "rm"), denied, end("rm", hook.ToolDenied), start(9, "ls"), end("ls", hook.ToolOK)}, EventLine{Calls: 2, Denials: 1}},
		"the second asked about by what it is": {
			events{start(0, "ls"), start(9, "rm"), asked("", "rm"), end("ls", hook.ToolOK)}, EventLine{Calls: 2, Denials: 1},
		},
		"other calls a moment later, without ids": {events{plain(0, 7, "ls"), plain(0, 7, "ls"), plain(0, 8, "ls")}, EventLine{Calls: 2, Failures: 2}},
		"asked about, one after the other":        {events{plain(0, 7, "ls"), plain(0, 8, "rm"), asked("", "du"), asked("", "df")}, EventLine{Calls: 2, Denials: 2}},
		"asked about in another spelling":         {events{start(0, "rm"), asked("", "/rm")}, EventLine{Calls: 1, Denials: 1}},
		"a subagent asks about its own":           {events{start(0, "ls"), of("a", asked("call_0", "rm")), of("a", asked("", "ls"))}, EventLine{Calls: 1, Failures: 1}},
		"a subagent's meanwhile": {
			events{start(0, "ls"), of("a", end("rm", hook.ToolFailed)), of("a", start(1, "df")), end("ls", hook.ToolOK), end("cd", hook.ToolOK)}, EventLine{Calls: 3, Failures: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines EventLines
			var got EventLine
			for _, e := range append(c.events, hook.Event{Kind: hook.KindRunComplete}) {
				if l, ok := lines.Of(&e); ok && e.Kind == hook.KindRunComplete {
					got = EventLine{Calls: l.Calls, Failures: l.Failures, Denials: l.Denials}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventSaysWhatARunDidWhereItsAnswerDoesNotFit(t *testing.T) {
	e := EventLine{
		Time: t0, Agent: "opencode", Session: "3f2a9c", Directory: "/home/me/shop", Kind: hook.KindRunComplete.String(), Status: "ok",
		Text: "All done", Calls: 9, Failures: 4, Denials: 1, Took: 3 * time.Second,
	}
	if got := Event(&e, Options{Width: 80, Location: time.UTC}); !strings.HasSuffix(got, "  9 calls, 4 failed, 1 denied, 3.0s") {
		t.Errorf("line %q", got)
	}
}

func TestEventNamesAgentsShortly(t *testing.T) {
	for agent, want := range map[string]string{
		"copilot-cli": "copilot ", "claude-code": "claude ", "opencode": "opencode ", "pi": "pi ", "a-longer-name": "a-longe… ",
	} {
		e := EventLine{Time: t0, Agent: agent, Kind: hook.KindPrompt.String(), Text: "hi"}
		if got := Event(&e, Options{Width: 80, Location: time.UTC}); !strings.HasPrefix(got[len("00:00:00 "):], want) {
			t.Errorf("%s: line %q", agent, got)
		}
		if got := Event(&e, Options{Location: time.UTC}); !strings.Contains(got, agent[:min(len(agent), agentWidth-1)]) {
			t.Errorf("%s, in a pipe: line %q", agent, got)
		}
	}
}

func TestEventLineIsCleaned(t *testing.T) {
	l := EventLine{Directory: "secret", Session: "secret", Event: "secret", Subagent: "secret", Tool: "secret", CallID: "secret", Input: "secret", Text: "secret"}
	l.Clean(func(text string) string { return strings.ReplaceAll(text, "secret", "") })
	if (l != EventLine{}) {
		t.Errorf("left is %+v", l)
	}
}

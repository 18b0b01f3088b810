package otelmap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
)

// ran is the record of hooks that began 10 ms after the event that they are
// about.
func ran(e hook.Event, answer hook.HookAnswer, runs ...hook.HookRun) hook.Event {
	for i := range runs {
		if runs[i].Started.IsZero() {
			runs[i].Started = e.At().Add(10 * time.Millisecond)
		}
		if runs[i].Status == "" {
			runs[i].Status = hook.HookOK
		}
	}
	return hook.Event{
		Host: e.Host, Session: e.Session, Kind: hook.KindHookRuns, Name: "HookRuns", Time: e.Time,
		StoredAt: e.StoredAt.Add(50 * time.Millisecond), Hash: e.Hash + 1<<50,
		About: e.Hash, HookRuns: runs, Answer: &answer,
	}
}

// ranFirst is the record of one hook that began some milliseconds after the
// event.
func ranFirst(e hook.Event, ms int, answer hook.HookAnswer) hook.Event {
	return ran(e, answer, hook.HookRun{
		Event: e.Name, Command: answer.By, Exit: 0, Duration: 7 * time.Millisecond,
		Started: e.At().Add(time.Duration(ms) * time.Millisecond),
	})
}

func denies(e hook.Event, command, reason string) hook.Event {
	return ran(e, hook.HookAnswer{Cancelled: true, By: command, Reason: reason}, hook.HookRun{
		Event: "PreToolUse", Tool: "Bash", Matcher: "Bash", Command: command, Source: "/p/.cline/hooks.json",
		Duration: 30 * time.Millisecond, Exit: 2, Decision: "deny", Reason: reason,
	})
}

// hookLines gives the user's hooks as "span: command decision@ms".
func hookLines(spans []*tracepb.Span) []string {
	var out []string
	for _, s := range spans {
		for _, e := range s.Events {
			if e.Name == EventHook {
				line := s.Name + ": " + eventAttr(e, KeyHookCommand) + " " + eventAttr(e, KeyHookDecision)
				out = append(out, fmt.Sprintf("%s@%d", strings.TrimSpace(line), otlp.Time(e.TimeUnixNano).Sub(epoch).Milliseconds()))
			}
		}
	}
	return out
}

func eventAttr(e *tracepb.Span_Event, key string) string {
	for _, kv := range e.Attributes {
		if kv.Key == key {
			return otlpstub.Value(kv.Value).String()
		}
	}
	return ""
}

func attr(s *tracepb.Span, key string) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return otlpstub.Value(kv.Value).String()
		}
	}
	return ""
}

func logRun(e hook.Event, command string) hook.Event {
	return ran(e, hook.HookAnswer{}, hook.HookRun{Command: command})
}

func TestHooksAreEventsOfTheirSpans(t *testing.T) {
	const (
		start, ask, pre, post, done = hook.KindRunStart, hook.KindPrompt, hook.KindToolStart, hook.KindToolEnd, hook.KindRunComplete
	)
	begin, asked, end := ev(0, start), ev(1, ask), ev(9, done)
	pre1, post1 := tool(2, pre, "a", ""), tool(3, post, "a", "")
	agentPre := sub(tool(4, pre, "b", "x"), "p", "lead")
	agentEnd := sub(ev(6, done), "p", "lead")
	timeless := func(sec float64) hook.Event {
		e := tool(sec, post, "c", fmt.Sprint(sec))
		e.StoredAt, e.Time, e.Hash = e.Time, time.Time{}, 77
		return e
	}
	tests := []struct {
		name   string
		events []hook.Event
		want   []string
	}{
		{
			"each on the span of its event",
			[]hook.Event{
				begin, logRun(begin, "s"), asked, logRun(asked, "u"), pre1, logRun(pre1, "r"), post1, logRun(post1, "o"), end, logRun(end, "e"),
			},
			[]string{
				"invoke_agent cline: s@10", "invoke_agent cline: u@1010", "invoke_agent cline: e@9010",
				"execute_tool a: r@2010", "execute_tool a: o@3010",
			},
		},
		{
			"a subagent's calls have their own, its end the root's",
			[]hook.Event{begin, sub(ev(3, start), "p", "lead"), agentPre, logRun(agentPre, "r"), agentEnd, logRun(agentEnd, "e"), end},
			[]string{"invoke_agent cline: e@6010", "execute_tool b: r@4010"},
		},
		{
			"two hook files that both ran them count once, the first",
			[]hook.Event{
				begin, pre1, pre1, ran(pre1, hook.HookAnswer{}, hook.HookRun{Command: "second", Started: pre1.Time.Add(time.Second)}),
				logRun(pre1, "first"), logRun(pre1, "first"), post1, end,
			},
			[]string{"execute_tool a: first@2010"},
		},
		{
			"of two of which one denied, that one counts",
			[]hook.Event{begin, pre1, logRun(pre1, "first"), func() hook.Event {
				e := denies(pre1, "guard", "no")
				e.HookRuns[0].Started = pre1.Time.Add(20 * time.Millisecond)
				return e
			}(), end},
			[]string{"execute_tool a: guard deny@2020"},
		},
		{
			"of equal events without a time, the one that was stored just before",
			[]hook.Event{begin, timeless(2), timeless(4), timeless(6), logRun(timeless(4), "h"), end},
			[]string{"execute_tool c: h@4010"},
		},
		{
			"even if a later one is logged before it",
			[]hook.Event{begin, timeless(6), timeless(4), timeless(2), logRun(timeless(2), "h"), end},
			[]string{"execute_tool c: h@2010"},
		},
		{
			"a hook file that had nothing to run does not hide the one that had",
			[]hook.Event{
				begin, pre1, ran(pre1, hook.HookAnswer{}),
				ran(pre1, hook.HookAnswer{}, hook.HookRun{Command: "first", Started: pre1.Time.Add(time.Second)}), end,
			},
			[]string{"execute_tool a: first@3000"},
		},
		{
			"records of an unknown event are ignored",
			[]hook.Event{begin, logRun(pre1, "x"), end},
			nil,
		},
		{
			"without a run they mean nothing",
			[]hook.Event{begin, pre1, ran(pre1, hook.HookAnswer{InputChanged: true}), end},
			nil,
		},
		{
			"after the end they do not reopen the run",
			[]hook.Event{begin, end, logRun(begin, "late")},
			[]string{"invoke_agent cline: late@10"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(Options{}, Carry{}, logged(tt.events...))
			runs := b.Runs(far)
			if len(runs) != 1 || runs[0].Outcome != OutcomeCompleted {
				t.Fatalf("%d runs, the first %s; want one that completed", len(runs), runs[0].Outcome)
			}
			if diff := cmp.Diff(tt.want, hookLines(spansOf(b, runs[0], nil))); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHooksAloneMakeNoRun(t *testing.T) {
	b := build(Options{}, Carry{}, logged(denies(tool(1, hook.KindToolStart, "a", ""), "guard", "no")))
	if runs := b.Runs(far); len(runs) != 0 {
		t.Errorf("%d runs of a record alone", len(runs))
	}
	if off, _ := b.Boundary(func(RunID) bool { return false }, 100); off != 100 {
		t.Errorf("the next reader starts at %d, want behind the record", off)
	}
}

// TestRunIsIdleOnlyAfterItsHooks: a run is sent once it has been still, and
// Stop hooks are recorded after the event that ended it.
func TestRunIsIdleOnlyAfterItsHooks(t *testing.T) {
	end := ev(5, hook.KindRunComplete)
	rec := logRun(end, "tests.sh")
	rec.StoredAt = end.StoredAt.Add(20 * time.Second)
	b := build(Options{}, Carry{}, logged(ev(0, hook.KindRunStart), end, rec))
	if r := b.Runs(far)[0]; !r.EndedAt.Equal(rec.StoredAt) {
		t.Errorf("still since %s, want %s", r.EndedAt, rec.StoredAt)
	}
}

func TestHookEventAttributes(t *testing.T) {
	start := ev(0, hook.KindRunStart)
	rec := ran(start, hook.HookAnswer{},
		hook.HookRun{
			Event: "PreToolUse", Tool: "Bash", Matcher: "Bash|Write", Command: strings.Repeat("x", 300), Source: "/p/hooks.json",
			Duration: 1234567 * time.Microsecond, Exit: 2, Decision: "deny", Reason: "never",
		},
		hook.HookRun{Command: "bg", Exit: hook.NoExit, Status: hook.HookAsync},
		hook.HookRun{Command: "zero"},
	)
	cut := "hookspan.hook.command=" + strings.Repeat("x", 199) + "…"
	for capture, want := range map[Capture][]string{
		CapturePreview: {
			"event=PreToolUse tool=Bash matcher=Bash|Write " + strings.TrimPrefix(cut, "hookspan.hook.") +
				" source=/p/hooks.json status=ok exit_code=2 duration_ms=1234 decision=deny reason=never",
			"command=bg status=async", "command=zero status=ok exit_code=0 duration_ms=0",
		},
		CaptureNone: {
			"event=PreToolUse tool=Bash source=/p/hooks.json status=ok exit_code=2 duration_ms=1234 decision=deny",
			"status=async", "status=ok exit_code=0 duration_ms=0",
		},
	} {
		b := build(Options{Capture: capture}, Carry{}, logged(start, rec))
		var got []string
		for _, e := range spansOf(b, b.Runs(far)[0], nil)[0].Events {
			if e.Name != EventHook {
				continue
			}
			var parts []string
			for _, kv := range e.Attributes {
				parts = append(parts, strings.TrimPrefix(kv.Key, "hookspan.hook.")+"="+otlpstub.Value(kv.Value).String())
			}
			got = append(got, strings.Join(parts, " "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("capture %s (-want +got):\n%s", capture, diff)
		}
	}
}

func TestDeniedCallNamesTheHook(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	start := ev(0, hook.KindRunStart)
	call := tool(2, pre, "execute_command", "")
	sdk := tool(2, pre, "run_commands", "id1")
	ended := func(status hook.ToolStatus) hook.Event {
		e := tool(3, post, "run_commands", "id1")
		e.Tool.Input, e.Tool.Output, e.Tool.Status = `{"commands":["echo no; exit 1"]}`, "no", status
		return e
	}
	soft := denies(sdk, "./guard.sh", "no")
	soft.Answer = &hook.HookAnswer{SoftDenied: true, By: "./guard.sh", Reason: "no"}
	changed := ran(sdk, hook.HookAnswer{InputChanged: true}, hook.HookRun{Command: "fmt"})
	silent := ran(call, hook.HookAnswer{Cancelled: true}, hook.HookRun{Command: "x", Status: hook.HookError, Exit: 1})

	type want struct {
		Error, Message, DeniedBy, Changed, StoppedBy, Input, Result string
		Ms                                                          int64
	}
	tests := []struct {
		name   string
		events []hook.Event
		want   want
	}{
		{
			"classic stops the task: no end is ever reported",
			[]hook.Event{call, denies(call, "./guard.sh", "not on main"), ev(4, hook.KindRunCancel)},
			want{
				Error: ErrorToolDenied, Message: "denied by ./guard.sh: not on main", DeniedBy: "./guard.sh",
				StoppedBy: "./guard.sh", Input: `{"path":"execute_command"}`, Ms: 40,
			},
		},
		{
			"a task that says nothing more",
			[]hook.Event{call, denies(call, "./guard.sh", "")},
			want{
				Error: ErrorToolDenied, Message: "denied by ./guard.sh", DeniedBy: "./guard.sh",
				StoppedBy: "./guard.sh", Input: `{"path":"execute_command"}`, Ms: 40,
			},
		},
		{
			"by an unnamed hook",
			[]hook.Event{call, silent, ev(4, hook.KindRunCancel)},
			want{Error: ErrorToolDenied, Message: "denied by a hook", Input: `{"path":"execute_command"}`, Ms: 10},
		},
		{
			"a soft deny shows what was asked for and what took its place",
			[]hook.Event{sdk, soft, ended(hook.ToolFailed), ev(4, hook.KindRunComplete)},
			want{
				Error: ErrorToolDenied, Message: "denied by ./guard.sh: no", DeniedBy: "./guard.sh",
				Input: `{"path":"run_commands"}`, Ms: 1000,
			},
		},
		{
			"a call that went well in spite of it was not denied",
			[]hook.Event{sdk, denies(sdk, "./guard.sh", "no"), ended(hook.ToolOK), ev(4, hook.KindRunComplete)},
			want{StoppedBy: "./guard.sh", Input: `{"commands":["echo no; exit 1"]}`, Result: "no", Ms: 1000},
		},
		{
			"an input that was changed",
			[]hook.Event{sdk, changed, ended(hook.ToolOK), ev(4, hook.KindRunComplete)},
			want{Changed: "true", Input: `{"commands":["echo no; exit 1"]}`, Result: "no", Ms: 1000},
		},
		{
			"a stop after the call is no denial of it",
			[]hook.Event{sdk, ended(hook.ToolFailed), denies(ended(hook.ToolFailed), "stop.sh", "enough"), ev(4, hook.KindRunCancel)},
			want{Error: ErrorTool, Message: "no", StoppedBy: "stop.sh", Input: `{"commands":["echo no; exit 1"]}`, Ms: 1000},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(Options{}, Carry{}, logged(slices.Concat([]hook.Event{start}, tt.events)...))
			spans := spansOf(b, b.Runs(far)[0], nil)
			if len(spans) != 2 {
				t.Fatalf("%d spans, want the root and the call", len(spans))
			}
			s := spans[1]
			got := want{
				Error: attr(s, KeyErrorType), Message: s.Status.Message,
				DeniedBy: attr(s, KeyHookDeniedBy), Changed: attr(s, KeyHookInputChanged),
				StoppedBy: attr(spans[0], KeyHookStoppedBy),
				Input:     attr(s, KeyToolArguments), Result: attr(s, KeyToolResult),
				Ms: otlp.End(s).Sub(otlp.Start(s)).Milliseconds(),
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
			if otlp.End(s).After(otlp.End(spans[0])) {
				t.Errorf("the call ends at %s, after its run at %s", otlp.End(s), otlp.End(spans[0]))
			}
		})
	}
}

// TestHooksChangeNoRun wants the same runs and spans whether the user had hooks or
// not. Their times are not compared, and so neither are the parents of agents,
// which are found by time: a denied call starts none.
func TestHooksChangeNoRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := hooked(rt)
		shape := func(events []hook.Event) []string {
			b := build(Options{}, Carry{}, events)
			var out []string
			for _, r := range b.Runs(last(events).Add(time.Hour)) {
				out = append(out, r.ID.String()+" "+r.Outcome)
				for _, s := range spansOf(b, r, nil) {
					out = append(out, s.Name+" "+otlp.SpanID(s))
				}
			}
			slices.Sort(out)
			return out
		}
		without := slices.DeleteFunc(slices.Clone(events), func(e hook.Event) bool { return e.Kind == hook.KindHookRuns })
		if diff := cmp.Diff(shape(without), shape(events)); diff != "" {
			rt.Fatalf("runs differ (-without +with hooks):\n%s", diff)
		}
	})
}

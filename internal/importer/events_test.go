package importer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/otelmap"
)

// t0 is when the tests' sessions begin.
var t0 = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// outline writes events one a line: second, kind, and what tells them apart.
func outline(events []hook.Event) string {
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%d %s", int(e.StoredAt.Sub(t0)/time.Second), e.Kind)
		for _, f := range [][2]string{
			{"turn", e.Turn},
			{"key", e.Key},
			{"agent", e.Agent},
			{"parent", e.ParentAgent},
			{"type", e.AgentType},
			{"prompt", e.Prompt},
			{"result", e.Result},
			{"error", e.ErrorType},
			{"message", e.Message},
		} {
			if f[1] != "" {
				fmt.Fprintf(&out, " %s=%s", f[0], f[1])
			}
		}
		if t := e.Tool; t != nil {
			fmt.Fprintf(&out, " tool=%s/%s/%s", t.ID, t.Name, t.Input)
			if e.Kind == hook.KindToolEnd {
				fmt.Fprintf(&out, " status=%d output=%s started=%s failure=%s", t.Status, t.Output, t.Agent, t.Error)
			}
		}
		for _, a := range e.Attrs {
			fmt.Fprintf(&out, " %s=%v", a.Key, a.Value)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, host, dialect string
		tr                  hook.Transcript
		want                string
	}{
		{
			name: "a turn of Claude Code with a tool that fails", host: HostClaude, dialect: DialectClaude,
			tr: hook.Transcript{
				Prompts: []hook.Prompt{{At: at(0), Text: "go", Turn: "p1"}},
				ToolResults: []hook.ToolResult{{
					ID: "t1", Turn: "p1", Name: "Bash", Input: "{}", Text: "Exit code 3", Status: hook.ToolFailed, Asked: at(1), At: at(2),
				}},
				Ends:        []hook.TurnEnd{{Turn: "p1", At: at(3), Kind: hook.KindRunComplete, Result: "done"}},
				Compactions: []time.Time{at(2), {}},
			},
			want: `0 prompt turn=p1 key=UserPromptSubmit/p1/4cd0e21a9a0795a1 prompt=go
1 tool_start turn=p1 tool=t1/Bash/{}
2 tool_end turn=p1 tool=t1/Bash/{} status=1 output=Exit code 3 started= failure=Exit code 3
2 compact
3 run_complete turn=p1 key=Stop/p1 result=done
`,
		},
		{
			name: "a background agent outlives its turn", host: HostClaude, dialect: DialectClaude,
			tr: hook.Transcript{
				Prompts: []hook.Prompt{
					{At: at(0), Text: "go", Turn: "p1"},
					{At: at(6), Text: "<reminder>", Turn: "p2", Injected: true},
				},
				ToolResults: []hook.ToolResult{
					{ID: "t1", Turn: "p1", Name: "Agent", Asked: at(1), At: at(2)},
					{ID: "t2", Turn: "p1", Agent: "a1", Name: "Read", Asked: at(3), At: at(4)},
				},
				Agents: []hook.Subagent{{ID: "a1", Type: "helper", CallID: "t1", Turn: "p1", Task: "look", Result: "seen", Start: at(1), End: at(5)}},
				Ends: []hook.TurnEnd{
					{Turn: "p1", At: at(3), Kind: hook.KindRunComplete, Result: "delegated"},
					{Turn: "p2", At: at(7), Kind: hook.KindRunError, ErrorType: "server_error", Message: "500"},
				},
			},
			want: `0 prompt turn=p1 key=UserPromptSubmit/p1/4cd0e21a9a0795a1 prompt=go
1 tool_start turn=p1 tool=t1/Agent/
1 run_start turn=p1 key=SubagentStart/a1 agent=a1 parent=? type=helper prompt=look
2 tool_end turn=p1 tool=t1/Agent/ status=0 output= started=a1 failure=
3 tool_start turn=p1 agent=a1 parent=? type=helper tool=t2/Read/
3 run_complete turn=p1 key=Stop/p1 result=delegated
4 tool_end turn=p1 agent=a1 parent=? type=helper tool=t2/Read/ status=0 output= started= failure=
5 run_complete turn=p1 key=SubagentStop/a1 agent=a1 parent=? type=helper result=seen
6 prompt turn=p2 key=UserPromptSubmit/p2/d9e8aef31db12ebc prompt=<reminder> hookspan.prompt.injected=true
7 run_error turn=p2 error=server_error message=500
`,
		},
		{
			name: "of the prompts of one turn the user's count", host: HostClaude, dialect: DialectClaude,
			tr: hook.Transcript{Prompts: []hook.Prompt{
				{At: at(0), Text: "reminder", Turn: "p1", Injected: true},
				{At: at(1), Text: "mine", Turn: "p1"},
				{At: at(2), Text: "more", Turn: "p1"},
			}},
			want: "1 prompt turn=p1 key=UserPromptSubmit/p1/3fd30542fe3f61b1 prompt=mine\n2 prompt turn=p1 key=UserPromptSubmit/p1/187897ce0afcf20b prompt=more\n",
		},
		{
			name: "an interrupted turn, one that went on, and moments that are not known", host: HostClaude, dialect: DialectClaude,
			tr: hook.Transcript{
				Prompts: []hook.Prompt{{At: at(0), Text: "old"}, {At: at(4), Text: "older"}, {Text: "never"}},
				ToolResults: []hook.ToolResult{
					{Name: "Bash", At: at(2)},
					{ID: "t2", Name: "Bash", Asked: at(3)},
					{ID: "t3", Name: "Bash"},
					{ID: "t4", Name: "Bash", Asked: at(6), At: at(5)},
				},
				Ends: []hook.TurnEnd{
					{At: at(1), Kind: hook.KindRunResume},
					{At: at(3), Kind: hook.KindSessionEnd},
					{Kind: hook.KindRunComplete},
				},
			},
			want: `0 prompt prompt=old
2 tool_start tool=/Bash/
2 tool_end tool=/Bash/ status=0 output= started= failure=
3 tool_start tool=t2/Bash/
3 session_end
4 prompt prompt=older
5 tool_start tool=t4/Bash/
5 tool_end tool=t4/Bash/ status=0 output= started= failure=
`,
		},
		{
			name: "a classic task with two completions and a cancel", host: HostCline, dialect: DialectClassic,
			tr: hook.Transcript{
				Prompts:  []hook.Prompt{{At: at(0), Text: "fix"}, {At: at(5), Text: "more"}},
				Requests: []hook.Request{{Start: at(5), End: at(6), Error: "user_cancelled"}, {Start: at(7), End: at(8), Error: "streaming_failed"}},
				ToolResults: []hook.ToolResult{
					{Name: "read_file", Input: `{"path":"a"}`, Text: "x", Asked: at(1), At: at(2)},
					{Name: "list_files", Asked: at(3), At: at(90)},
				},
				Ends: []hook.TurnEnd{{At: at(4), Kind: hook.KindRunComplete, Result: "fixed"}},
			},
			want: `0 run_start prompt=fix
0 prompt prompt=fix
1 tool_start tool=/read_file/{"path":"a"}
2 tool_end tool=/read_file/{"path":"a"} status=0 output=x started= failure=
3 tool_start tool=/list_files/
4 tool_end tool=/list_files/ status=0 output= started= failure=
4 run_complete result=fixed
5 prompt prompt=more
6 run_cancel
`,
		},
		{
			name: "a classic task that only its requests tell of", host: HostCline, dialect: DialectClassic,
			tr:   hook.Transcript{Requests: []hook.Request{{Start: at(2), End: at(3)}, {Start: at(1), End: at(2)}}},
			want: "1 run_start\n",
		},
		{
			name: "an SDK session: one run for each prompt, but for one given at work", host: HostCline, dialect: DialectSDK,
			tr: hook.Transcript{
				Prompts: []hook.Prompt{{At: at(0), Text: "one"}, {At: at(10), Text: "two"}, {At: at(12), Text: "hurry"}},
				Requests: []hook.Request{
					{Start: at(0), End: at(1), ToolCallIDs: []string{"c1"}},
					{Start: at(2), End: at(3), Text: "first answer"},
					{Start: at(10), End: at(11), ToolCallIDs: []string{"c1"}},
					{Start: at(12), End: at(14), Agent: "s1", Text: "sub done"},
				},
				ToolResults: []hook.ToolResult{{ID: "c1", Name: "run", At: at(2)}, {ID: "c1", Name: "run", At: at(15)}},
				Ends:        []hook.TurnEnd{{At: at(16), Kind: hook.KindSessionEnd}},
			},
			want: `0 run_start prompt=one
0 prompt prompt=one
1 tool_start tool=c1/run/
2 tool_end tool=c1/run/ status=0 output= started= failure=
3 run_complete result=first answer
10 run_start prompt=two
10 prompt prompt=two
11 tool_start tool=c1/run/
12 run_start agent=s1 parent=?
12 prompt prompt=hurry
14 run_complete agent=s1 parent=? result=sub done
15 tool_end tool=c1/run/ status=0 output= started= failure=
16 session_end
`,
		},
		{
			name: "the window that is closed long after the answer ends no run", host: HostCline, dialect: DialectSDK,
			tr: hook.Transcript{
				Prompts:  []hook.Prompt{{At: at(0), Text: "one"}},
				Requests: []hook.Request{{Start: at(0), End: at(1), Text: "answer"}},
				Ends:     []hook.TurnEnd{{At: at(99), Kind: hook.KindSessionEnd}},
			},
			want: "0 run_start prompt=one\n0 prompt prompt=one\n1 run_complete result=answer\n",
		},
		{
			name: "an answer and the next prompt in one moment", host: HostCline, dialect: DialectSDK,
			tr: hook.Transcript{
				Prompts:  []hook.Prompt{{At: at(0), Text: "one"}, {At: at(1), Text: "two"}},
				Requests: []hook.Request{{Start: at(0), End: at(1), Text: "answer"}},
			},
			want: "0 run_start prompt=one\n0 prompt prompt=one\n1 run_complete result=answer\n1 run_start prompt=two\n" +
				"1 prompt prompt=two\n",
		},
		{
			name: "an agent that has no name is none", host: HostClaude, dialect: DialectClaude,
			tr: hook.Transcript{Agents: []hook.Subagent{{Start: at(0), End: at(1)}}},
		},
		{name: "nothing", host: HostCline, dialect: DialectSDK},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.tr.Session = "s"
			events := Events(c.host, c.dialect, &c.tr)
			if d := cmp.Diff(c.want, outline(events)); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
		})
	}
}

// anyTranscript draws transcripts, moments that are missing included.
func anyTranscript(rt *rapid.T) *hook.Transcript {
	moment := func(name string) time.Time {
		if s := rapid.IntRange(-1, 40).Draw(rt, name); s >= 0 {
			return at(s * 100)
		}
		return time.Time{}
	}
	word := rapid.SampledFrom([]string{"", "a", "b", "c"})
	tr := &hook.Transcript{Session: "s"}
	for range rapid.IntRange(0, 4).Draw(rt, "prompts") {
		tr.Prompts = append(tr.Prompts, hook.Prompt{At: moment("prompt"), Turn: word.Draw(rt, "turn"), Text: "p", Injected: rapid.Bool().Draw(rt, "injected")})
	}
	for range rapid.IntRange(0, 5).Draw(rt, "calls") {
		start := moment("call")
		c := hook.Request{ID: "m", Start: start, Agent: word.Draw(rt, "agent"), Error: rapid.SampledFrom([]string{"", "user_cancelled"}).Draw(rt, "error")}
		if !start.IsZero() {
			c.End = start.Add(time.Second)
		}
		if rapid.Bool().Draw(rt, "tools") {
			c.ToolCallIDs = []string{word.Draw(rt, "call id")}
		}
		tr.Requests = append(tr.Requests, c)
	}
	for range rapid.IntRange(0, 5).Draw(rt, "results") {
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{
			ID: word.Draw(rt, "id"), Agent: word.Draw(rt, "agent"), Turn: word.Draw(rt, "turn"), Name: "run",
			Asked: moment("asked"), At: moment("at"), Status: hook.ToolStatus(rapid.IntRange(0, 3).Draw(rt, "status")), //nolint:gosec // In range.
		})
	}
	for range rapid.IntRange(0, 2).Draw(rt, "agents") {
		tr.Agents = append(tr.Agents, hook.Subagent{ID: word.Draw(rt, "id"), Turn: word.Draw(rt, "turn"), Start: moment("start"), End: moment("end")})
	}
	kinds := []hook.Kind{hook.KindRunComplete, hook.KindRunError, hook.KindSessionEnd, hook.KindRunResume}
	for range rapid.IntRange(0, 3).Draw(rt, "ends") {
		tr.Ends = append(tr.Ends, hook.TurnEnd{Turn: word.Draw(rt, "turn"), At: moment("end"), Kind: rapid.SampledFrom(kinds).Draw(rt, "kind")})
	}
	return tr
}

var forms = []struct{ host, dialect string }{
	{HostClaude, DialectClaude}, {HostCline, DialectClassic}, {HostCline, DialectSDK},
}

// TestEventsAreInOrderAndWhole checks of any transcript what otelmap relies on,
// and that the spans made of it can be sent.
func TestEventsAreInOrderAndWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr, form := anyTranscript(rt), rapid.SampledFrom(forms).Draw(rt, "form")
		events := Events(form.host, form.dialect, tr)
		if d := cmp.Diff(events, Events(form.host, form.dialect, tr)); d != "" {
			rt.Fatalf("the same transcript gives other events:\n%s", d)
		}
		b := otelmap.NewBuilder(form.host, "s", otelmap.Options{Agent: agentstest.Mapping(form.host)}, otelmap.Carry{})
		last := time.Time{}
		for i, e := range events {
			switch {
			case e.StoredAt.IsZero() || e.At().IsZero():
				rt.Fatalf("event %d has no time: %+v", i, e)
			case e.StoredAt.Before(last):
				rt.Fatalf("event %d at %s comes after one at %s", i, e.StoredAt, last)
			case e.Offset != int64(i):
				rt.Fatalf("event %d has offset %d", i, e.Offset)
			case (e.Agent != "") != (e.ParentAgent != ""):
				rt.Fatalf("event %d: agent %q, parent %q", i, e.Agent, e.ParentAgent)
			case (e.Tool != nil) != (e.Kind == hook.KindToolStart || e.Kind == hook.KindToolEnd):
				rt.Fatalf("event %d of kind %s has tool %v", i, e.Kind, e.Tool)
			}
			last = e.StoredAt
			b.Add(e)
		}
		for _, r := range b.Runs(at(1_000_000)) {
			if !r.Ended {
				rt.Fatalf("run %s is still open after days", r.ID)
			}
			for s := range otlp.Spans([]*tracepb.ResourceSpans{b.Spans(r, tr)}) {
				if otlp.Start(s).IsZero() || otlp.End(s).Before(otlp.Start(s)) {
					rt.Fatalf("span %s from %s to %s", s.Name, otlp.Start(s), otlp.End(s))
				}
			}
		}
	})
}

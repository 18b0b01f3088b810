package hookscli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/hookscli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// call is a call of the hook of row "r" before a command, in the workspace /ws.
func call(ws string) hookscli.Seen {
	return hookscli.Seen{
		Row: "r", ProjectDir: ws, Cwd: ws,
		TraceParent: "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01",
		Fields: map[string]any{
			"session_id": "s1", "transcript_path": ws + "/t", "cwd": ws, "hook_event_name": "PreToolUse", "tool_name": "Bash",
			"tool_input": map[string]any{"command": "cat " + ws + "/x"}, "tool_use_id": "u1",
		},
		Transcript: []string{`{"type":"user","message":{"role":"user","content":"hi"}}`},
	}
}

func doneWith(h hookscli.Host, ws string, seen ...hookscli.Seen) *hookscli.Done {
	return &hookscli.Done{Result: &rig.Result{Arena: &rig.Arena{Workspace: ws}}, Host: h, Seen: seen}
}

func TestComparePayloadsFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*hookscli.Seen)
		want   string
	}{
		"the same":                  {func(*hookscli.Seen) {}, ""},
		"another session":           {func(s *hookscli.Seen) { s.Fields["session_id"] = "s2" }, ""},
		"a member too much":         {func(s *hookscli.Seen) { s.Fields["odd"] = true }, "odd"},
		"a member missing":          {func(s *hookscli.Seen) { delete(s.Fields, "tool_use_id") }, "tool_use_id"},
		"the host's own name":       {func(s *hookscli.Seen) { s.Fields["tool_input"] = map[string]any{"cmd": "cat /b/x"} }, "tool_input.cmd"},
		"another value":             {func(s *hookscli.Seen) { s.Fields["tool_input"] = map[string]any{"command": "cat x"} }, "tool_input.command"},
		"no session":                {func(s *hookscli.Seen) { s.Fields["session_id"] = "" }, "no session_id"},
		"another cwd":               {func(s *hookscli.Seen) { s.Fields["cwd"] = "/" }, "cwd is"},
		"another project":           {func(s *hookscli.Seen) { s.ProjectDir = "" }, "CLAUDE_PROJECT_DIR is"},
		"another working folder":    {func(s *hookscli.Seen) { s.Cwd = "/" }, "the working folder is"},
		"no transcript":             {func(s *hookscli.Seen) { s.Transcript = nil }, "transcript: no line"},
		"a transcript of one array": {func(s *hookscli.Seen) { s.Transcript = []string{"[", "]"} }, "transcript: line 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := call("/b")
			tt.change(&s)
			wrong := hookscli.ComparePayloads(doneWith(hookscli.Claude, "/a", call("/a")), doneWith(hookscli.CLI3, "/b", s))
			check(t, wrong, tt.want)
		})
	}
	wrong := hookscli.ComparePayloads(doneWith(hookscli.Claude, "/a", call("/a")), doneWith(hookscli.CLI3, "/b", call("/b"), call("/b")))
	check(t, wrong, "ran for the 2. time")
}

func TestCompareTracesFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	denied := hookscli.Row{Name: "r", Denied: true, Handlers: []hookscli.Handler{{Missing: true}}}
	// spans are a run whose one call the hook of row "r" denied and so stopped.
	spans := func() []sink.Span {
		event := func(exit int64) sink.Event {
			return sink.Event{Name: "hookspan.hook", Attrs: sink.Attrs{
				"hookspan.hook.command": "'/x/hooks/r-0'", "hookspan.hook.event": "PreToolUse", "hookspan.hook.tool": "Bash", "hookspan.hook.exit_code": exit,
			}}
		}
		const trace = "0102030405060708090a0b0c0d0e0f10"
		return []sink.Span{
			{TraceID: trace, SpanID: "aa", Start: at, End: at, Attrs: sink.Attrs{"gen_ai.operation.name": "invoke_agent", "hookspan.hook.stopped_by": "'/x/hooks/r-0'"}},
			{TraceID: trace, SpanID: "1112131415161718", ParentID: "aa", Start: at, End: at, Status: "Error", Attrs: sink.Attrs{
				"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s1", "error.type": "ToolDenied", "hookspan.hook.denied_by": "'/x/hooks/r-0'",
			}, Events: []sink.Event{event(2), event(127)}},
		}
	}
	tests := map[string]struct {
		change func(s []sink.Span, seen *hookscli.Seen)
		want   string
	}{
		"as it should be": {func([]sink.Span, *hookscli.Seen) {}, ""},
		"no TRACEPARENT":  {func(_ []sink.Span, seen *hookscli.Seen) { seen.TraceParent = "" }, "is no span that came"},
		"TRACEPARENT of the root": {func(s []sink.Span, _ *hookscli.Seen) {
			s[1].SpanID, s[1].ParentID, s[0].SpanID = "aa", "1112131415161718", "1112131415161718"
		}, "its TRACEPARENT is the span"},
		"another session": {func(s []sink.Span, _ *hookscli.Seen) { s[1].Attrs["gen_ai.conversation.id"] = "s2" }, "of session"},
		"no event of the run": {func(s []sink.Span, _ *hookscli.Seen) {
			s[1].Events[0].Attrs["hookspan.hook.event"], s[1].Events[1].Name = "Stop", "other"
		}, "is its run"},
		"nothing of the missing": {func(s []sink.Span, _ *hookscli.Seen) { s[1].Events = s[1].Events[:1] }, "is not there"},
		"no word of who denied":  {func(s []sink.Span, _ *hookscli.Seen) { delete(s[1].Attrs, "hookspan.hook.denied_by") }, "rows whose calls were denied"},
		"a denial by nobody's":   {func(s []sink.Span, _ *hookscli.Seen) { s[0].Attrs["hookspan.hook.denied_by"] = "'/x/hooks/q-0'" }, "rows whose calls were denied"},
		"another error":          {func(s []sink.Span, _ *hookscli.Seen) { s[1].Attrs["error.type"] = "ToolError" }, `error.type "ToolError"`},
		"no error":               {func(s []sink.Span, _ *hookscli.Seen) { s[1].Status = "Unset" }, "status Unset"},
		"no word of who stopped": {func(s []sink.Span, _ *hookscli.Seen) { delete(s[0].Attrs, "hookspan.hook.stopped_by") }, "rows that stopped a run"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, seen := spans(), call("/b")
			tt.change(s, &seen)
			d := doneWith(hookscli.CLI2, "/b", seen)
			d.Spans = s
			check(t, hookscli.CompareTraces(d, []hookscli.Row{denied}, false), tt.want)
		})
	}
}

// check wants a line that says want, and none where want is empty.
func check(t *testing.T, wrong []string, want string) {
	t.Helper()
	got := strings.Join(wrong, "\n")
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

// TestRowsAreSound checks what the table promises of itself: names that are part
// of no other name, an action or event for each hook, and a reason for each
// exception.
func TestRowsAreSound(t *testing.T) {
	t.Parallel()
	table := hookscli.Table()
	for i, r := range table {
		for k, q := range table {
			if i != k && strings.Contains(q.Mark(), r.Mark()) {
				t.Errorf("rows %s and %s have the same mark", r.Name, q.Name)
			}
		}
		if (len(r.Except) > 0) != (r.Why != "") {
			t.Errorf("row %s: %d exceptions, reason %q", r.Name, len(r.Except), r.Why)
		}
		if r.Want.Left == "" && len(r.Want.Told) == 0 && len(r.Want.Calls) == 0 {
			t.Errorf("row %s wants nothing", r.Name)
		}
		data, err := json.Marshal(r.Actions)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Actions) > 0 && !strings.Contains(string(data), r.Mark()) {
			t.Errorf("row %s: its actions do not name it", r.Name)
		}
	}
}

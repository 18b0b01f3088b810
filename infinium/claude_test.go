package infinium

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
)

const claudeModel = "claude-sonnet-4-5-20250514"

// claudeSession is the example of the connector's page, with a failing tool and a
// subagent added to its second turn.
func claudeSession() []hook.Event {
	now := 0
	ev := func(pause int, kind hook.Kind, name string, change ...func(*hook.Event)) hook.Event {
		now += pause
		e := hook.Event{
			Host: "claude-code", Kind: kind, Name: name, Session: "3f0c", Turn: "p1", Offset: int64(now), Hash: uint64(now) + 1, //nolint:gosec // Small.
			Time: at(now), StoredAt: at(now), Model: claudeModel, Provider: "anthropic", Cwd: "/home/user/project",
			PermissionMode: "acceptEdits",
		}
		if now >= 10_000 {
			e.Turn = "p2"
		}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	tool := func(id, name, in, out string) func(*hook.Event) {
		return func(e *hook.Event) {
			e.Tool = &hook.Tool{ID: id, Name: name, Input: in, Output: out, Duration: 40 * time.Millisecond}
		}
	}

	agent := func(e *hook.Event) { e.Agent, e.AgentType, e.ParentAgent = "a1", "Explore", hook.ParentUnknown }
	return []hook.Event{
		ev(0, hook.KindPrompt, "UserPromptSubmit", func(e *hook.Event) { e.Prompt = "Fix the login bug in auth.py" }),
		ev(1_000, hook.KindToolStart, "PreToolUse", tool("t1", "Read", `{"file_path":"auth.py"}`, "")),
		ev(50, hook.KindToolEnd, "PostToolUse", tool("t1", "Read", `{"file_path":"auth.py"}`, "def login(): ...")),
		ev(1_000, hook.KindRunComplete, "Stop", func(e *hook.Event) { e.Result = "I've fixed the login bug by..." }),
		ev(10_000, hook.KindPrompt, "UserPromptSubmit", func(e *hook.Event) { e.Prompt = "Now add tests" }),
		ev(1_000, hook.KindToolStart, "PreToolUse", tool("t2", "Write", `{"file_path":"test_auth.py"}`, "")),
		ev(50, hook.KindToolEnd, "PostToolUseFailure", tool("t2", "Write", `{"file_path":"test_auth.py"}`, ""), func(e *hook.Event) {
			e.Tool.Status, e.Tool.Error = hook.ToolFailed, "no such directory"
		}),
		ev(1_000, hook.KindToolStart, "PreToolUse", tool("t3", "Agent", `{"subagent_type":"Explore"}`, "")),
		ev(50, hook.KindRunStart, "SubagentStart", agent),
		ev(2_000, hook.KindRunComplete, "SubagentStop", agent, func(e *hook.Event) { e.Result = "two callers" }),
		ev(50, hook.KindToolEnd, "PostToolUse", tool("t3", "Agent", `{"subagent_type":"Explore"}`, "two callers")),
		ev(1_000, hook.KindRunComplete, "Stop", func(e *hook.Event) { e.Result = "Tests added and passing" }),
	}
}

// The members and values are those of the connector's page "Traced Events".
func TestClaudeFormMatchesDocumentation(t *testing.T) {
	b := otelmap.NewBuilder("claude-code", "3f0c", otelmap.Options{
		Agent: otelmap.Traits{Turns: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure, Provider: "anthropic"},
	}, otelmap.Carry{})
	for _, e := range claudeSession() {
		b.Add(e)
	}
	var runs []*tracepb.ResourceSpans
	for _, r := range b.Runs(at(0).Add(time.Hour)) {
		runs = append(runs, b.Spans(r, nil))
	}
	if len(runs) != 2 {
		t.Fatalf("%d runs, want 2", len(runs))
	}
	type step struct {
		Action, Description, InputPreview, InputSummary, OutputSummary string
		Timed                                                          bool
		Error                                                          *ErrorDetail
		Agent                                                          *Metadata
	}
	type form struct {
		Name, Description, Input, Output string
		Steps                            []step
		Errors                           []ErrorDetail
		Tags                             map[string]string
	}
	read := func(run *tracepb.ResourceSpans) form {
		traces := Traces([]*tracepb.ResourceSpans{run}, testForms)
		if len(traces) != 1 {
			t.Fatalf("%d traces, want 1", len(traces))
		}
		body, err := traces[0].Encode()
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Name, Description string
			Duration          float64
			InputSummary      string `json:"input_summary"`
			OutputSummary     string `json:"output_summary"`
			Steps             []struct {
				Action, Description string
				InputPreview        string   `json:"input_preview"`
				InputSummary        string   `json:"input_summary"`
				OutputSummary       string   `json:"output_summary"`
				DurationMS          *float64 `json:"duration_ms"`
				Error               *ErrorDetail
				Metadata            *Metadata
			}
			Errors      []ErrorDetail
			Environment struct {
				CustomTags map[string]string `json:"custom_tags"`
			}
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		if m.Duration <= 0 {
			t.Errorf("duration %v, want seconds", m.Duration)
		}
		f := form{m.Name, m.Description, m.InputSummary, m.OutputSummary, nil, m.Errors, map[string]string{}}
		for _, s := range m.Steps {
			f.Steps = append(f.Steps, step{
				s.Action, s.Description, s.InputPreview, s.InputSummary, s.OutputSummary, s.DurationMS != nil, s.Error, s.Metadata,
			})
		}
		for _, k := range strings.Fields("model session_id working_directory permission_mode framework") {
			f.Tags[k] = m.Environment.CustomTags[k]
		}
		return f
	}
	tags := map[string]string{
		"model": claudeModel, "session_id": "3f0c", "working_directory": "/home/user/project", "permission_mode": "acceptEdits",
		"framework": "Claude Code",
	}
	failure := ErrorDetail{ErrorType: "ToolFailure", Message: "no such directory", Recoverable: true}
	failures := []ErrorDetail{failure}
	first := []step{
		{Action: "user_prompt", Description: "Fix the login bug in auth.py", InputPreview: "Fix the login bug in auth.py"},
		{
			Action: "tool_use:Read", Description: "Tool: Read", InputSummary: `{"file_path":"auth.py"}`,
			OutputSummary: "def login(): ...", Timed: true,
		},
	}
	second := []step{
		{Action: "user_prompt", Description: "Now add tests", InputPreview: "Now add tests"},
		{
			Action: "tool_use:Write", Description: "Tool: Write", InputSummary: `{"file_path":"test_auth.py"}`,
			Timed: true, Error: &failure,
		},
		{
			Action: "tool_use:Agent", Description: "Tool: Agent", InputSummary: `{"subagent_type":"Explore"}`,
			OutputSummary: "two callers", Timed: true,
		},
		{
			Action: "subagent:Explore", Description: "Subagent: Explore", OutputSummary: "two callers", Timed: true,
			Agent: &Metadata{SubagentID: "a1", AgentType: "Explore"},
		},
	}
	tests := map[string]struct {
		run  *tracepb.ResourceSpans
		want form
	}{
		"the first turn": {runs[0], form{
			"Claude Code session (1 turn)", "Fix the login bug in auth.py", "Fix the login bug in auth.py",
			"I've fixed the login bug by...", first, nil, tags,
		}},
		"the second turn": {runs[1], form{
			"Claude Code session (1 turn)", "Now add tests", "Now add tests",
			"Tests added and passing", second, failures, tags,
		}},
		"the session": {Session(runs), form{
			"Claude Code session (2 turns)", "Fix the login bug in auth.py", "Fix the login bug in auth.py",
			"Tests added and passing", append(first[:2:2], second...), failures, tags,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, read(tt.run)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

package infinium

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/otelmap"
)

func TestTracesGolden(t *testing.T) {
	late := func() *tree {
		l := clineRun()
		l.spans = slices.DeleteFunc(l.spans, func(s *tracepb.Span) bool {
			return !bytes.Equal(s.SpanId, spanID(2)) && !bytes.Equal(s.SpanId, spanID(7))
		})
		l.spans[0].Attributes = append(l.spans[0].Attributes, num(otelmap.KeyOutputTokens, 7))
		return l
	}
	for name, tr := range map[string]*tree{"cline": clineRun(), "claude": claudeRun(), "late": late(), "session": {spans: joined(sessionRuns())}} {
		t.Run(name, func(t *testing.T) {
			traces := Traces(tr.messages(), testForms)
			if len(traces) != 1 {
				t.Fatalf("%d traces, want 1", len(traces))
			}
			body, err := traces[0].Encode()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden.Check(t, name+".golden.json", got.String())
		})
	}
}

// The order in which spans are handed over must not show, where their times
// differ.
func TestTracesSameForAnyOrder(t *testing.T) {
	spans := claudeRun().spans
	want, err := Traces(messages(spans...), testForms)[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(spans)
	got, err := Traces(messages(spans...), testForms)[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("reversed spans differ (-want +got):\n%s", d)
	}
}

func TestTracesRuns(t *testing.T) {
	remote := func(s *tracepb.Span, isRemote bool) {
		s.ParentSpanId = spanID(0xffff)
		if isRemote {
			s.Flags = remoteParent
		}
	}
	two := func(isRemote bool) *tree {
		a := smallRun(7)
		remote(a.spans[0], isRemote)
		b := &tree{id: a.id}
		b.add(11, 0, "invoke_agent cline", 5_000, 6_000, str(otelmap.KeyOperation, "invoke_agent"),
			str(otelmap.KeyHost, "cline"), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "second")), str(otelmap.KeyOutcome, "completed"))
		remote(b.spans[0], isRemote)
		b.tool(12, 11, "list_files", 5_100, 5_200, "{}", "")
		a.spans = append(a.spans, b.spans...)
		return a
	}
	below := smallRun(7)
	below.add(0xffff, 0xfffe, "a job", 0, 9_000)
	remote(below.spans[0], false)
	loop := &tree{id: traceID(9)}
	loop.tool(2, 3, "a", 1, 2, "", "")
	loop.tool(3, 2, "b", 2, 3, "", "")
	twice := smallRun(5)
	twice.spans = append(twice.spans, twice.spans[1])
	bare := &tree{id: traceID(4)}
	bare.chat(2, 1, "m", 1, 2)
	empty := &tree{id: traceID(4)}
	empty.add(2, 1, "something else", 1, 2)

	tests := map[string]struct {
		tree *tree
		want []string // name: actions
	}{
		"a remote parent leaves a root":           {two(true), []string{"task 7: user_prompt tool_use", "second: tool_use"}},
		"a remote parent without its flag":        {two(false), []string{"task 7: user_prompt tool_use", "second: tool_use"}},
		"another program's span above is no run":  {below, []string{"task 7: user_prompt tool_use"}},
		"a loop of parents ends":                  {loop, []string{"Late spans: tool_use tool_use"}},
		"a span given twice counts once":          {twice, []string{"task 5: user_prompt tool_use"}},
		"a late request counts as usage":          {bare, []string{"Late spans:"}},
		"late spans that show nothing":            {empty, nil},
		"no spans make no trace":                  {&tree{}, nil},
		"subagents are placed by their start":     {claudeRun(), []string{"Claude Code session (1 turn): user_prompt tool_use:Read tool_use:Bash tool_use:Agent subagent:Explore tool_use:Grep"}},
		"an injected prompt has its own action":   {injectedRun("x"), []string{"Cline task: injected_prompt"}},
		"a tool at its subagent's start is first": {tie(), []string{"Claude Code session (1 turn): tool_use:outer subagent:s tool_use:inner"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, tr := range Traces(tt.tree.messages(), testForms) {
				line := tr.Name + ":"
				for _, s := range tr.Steps {
					line += " " + s.Action
				}
				got = append(got, line)
				if tr.Late != (tr.RootSpanID == "") {
					t.Errorf("%s: Late %t with root %q", tr.Name, tr.Late, tr.RootSpanID)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func injectedRun(text string) *tree {
	tr := &tree{id: traceID(3)}
	prompt(tr.root("cline", 10), 0, text, otlp.Bool(otelmap.KeyPromptInjected, true))
	return tr
}

// tie has three spans with one start, children given before their parents.
func tie() *tree {
	tr := &tree{id: traceID(3)}
	tr.tool(4, 3, "inner", 0, 1, "", "")
	tr.agent(3, 2, "s", 0, 2)
	tr.tool(2, 1, "outer", 0, 3, "", "")
	tr.root("claude-code", 3)
	return tr
}

func TestTracesTexts(t *testing.T) {
	long := strings.Repeat("ä", 20_000)
	root := func(host string, attrs ...*commonpb.KeyValue) *tree {
		tr := &tree{id: traceID(1)}
		tr.root(host, 10, attrs...)
		return tr
	}
	task := func(s string) *commonpb.KeyValue {
		return str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, s))
	}
	result := func(s string) *commonpb.KeyValue {
		return str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(s, ""))
	}
	cutTo := func(n int) string { return strings.Repeat("ä", n-1) + "…" }
	type texts struct{ Name, Description, Input, Output string }
	tests := map[string]struct {
		tree *tree
		lim  Forms
		want texts
	}{
		"Cline cuts by characters": {
			root("cline", task(long), result(long)),
			testForms,
			texts{strings.Repeat("ä", 30), cutTo(10_000), cutTo(200), cutTo(300)},
		},
		"Claude Code has longer previews and no task in its name": {
			root("claude-code", task(long), result(long)),
			testForms,
			texts{"Claude Code session (1 turn)", cutTo(10_000), cutTo(500), cutTo(500)},
		},
		"given limits apply to every host": {
			root("claude-code", task(long), result(long)),
			testForms.WithPreviews(7, 9),
			texts{"Claude Code session (1 turn)", cutTo(10_000), cutTo(7), cutTo(9)},
		},
		"turns are counted where the mapping counts them": {
			root("claude-code", task("a"), num(otelmap.KeyTurns, 3)),
			testForms,
			texts{"Claude Code session (3 turns)", "a", "a", ""},
		},
		"a name is one line": {
			root("cline", task("Fix\n\tthe   bug")),
			testForms,
			texts{"Fix the bug", "Fix\n\tthe   bug", "Fix\n\tthe   bug", ""},
		},
		"nothing captured": {
			root("cline"),
			testForms,
			texts{"Cline task", "Cline task", "", ""},
		},
		"an injected prompt is not the task": {
			injectedRun("system"),
			testForms,
			texts{"Cline task", "Cline task", "", ""},
		},
		"broken UTF-8 and NUL are replaced": {
			root("cline", task("a\xffb\x00c")),
			testForms,
			texts{"a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc", ""},
		},
		"a preview that was cut before is kept": {
			root("cline", result(cutTo(300))),
			testForms,
			texts{"Cline task", "Cline task", "", cutTo(300)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := Traces(tt.tree.messages(), tt.lim)[0]
			got := texts{tr.Name, tr.Description, tr.InputSummary, tr.OutputSummary}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestStepShowsUnknownOutcome(t *testing.T) {
	tr := smallRun(7)
	s := tr.tool(3, 1, "execute_command", 300, 400, `{"command":"npm test"}`, "Command executed.")
	s.Attributes = append(s.Attributes, str(otelmap.KeyToolOutcome, otelmap.ToolOutcomeUnknown))
	steps := Traces(tr.messages(), testForms)[0].Steps
	var got []string
	for _, step := range steps[len(steps)-2:] {
		if step.Error != nil {
			t.Errorf("%s has the error %v", step.Description, step.Error)
		}
		got = append(got, step.Description)
	}
	if d := cmp.Diff([]string{"Tool: read_file", "Tool: execute_command (outcome unknown)"}, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
}

func TestTracesErrors(t *testing.T) {
	tool := func(change func(*tracepb.Span)) *tree {
		tr := smallRun(1)
		change(tr.spans[1])
		return tr
	}
	request := func(kind string) *tree {
		tr := smallRun(1)
		s := tr.chat(3, 1, "m", 300, 400, str(otelmap.KeyFinish, kind))
		fail(s, kind, "")
		return tr
	}
	tests := map[string]struct {
		tree *tree
		want []ErrorDetail
	}{
		"none": {smallRun(1), nil},
		"the exception's message comes first": {
			tool(func(s *tracepb.Span) {
				fail(s, otelmap.ErrorToolDenied, "denied")
				s.Status.Message = "other"
			}),
			[]ErrorDetail{{"ToolDenied", "denied", true}},
		},
		"then the status": {
			tool(func(s *tracepb.Span) {
				s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "status"}
			}),
			[]ErrorDetail{{"ToolError", "status", true}},
		},
		"then the result": {
			tool(func(s *tracepb.Span) { fail(s, otelmap.ErrorTool, "") }),
			[]ErrorDetail{{"ToolError", "b", true}},
		},
		"a long message is cut": {
			tool(func(s *tracepb.Span) { fail(s, otelmap.ErrorTool, strings.Repeat("x", 999)) }),
			[]ErrorDetail{{"ToolError", strings.Repeat("x", 299) + "…", true}},
		},
		"a call that one of the user's hooks denied": {
			tool(func(s *tracepb.Span) {
				s.Attributes = append(s.Attributes, str(otelmap.KeyHookDeniedBy, "./guard.sh"))
				s.Events = append(s.Events, &tracepb.Span_Event{Name: otelmap.EventHook, TimeUnixNano: s.StartTimeUnixNano, Attributes: []*commonpb.KeyValue{
					str(otelmap.KeyHookCommand, "./guard.sh"), str(otelmap.KeyHookDecision, "deny"), str(otelmap.KeyHookReason, "not on main"),
				}})
				fail(s, otelmap.ErrorToolDenied, "denied by ./guard.sh: not on main")
			}),
			[]ErrorDetail{{"ToolDenied", "denied by ./guard.sh: not on main", true}},
		},
		"a request that broke off":     {request("streaming_failed"), []ErrorDetail{{"streaming_failed", "request to the model broke off: streaming_failed", true}}},
		"a request the user broke off": {request("user_cancelled"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Traces(tt.tree.messages(), testForms)[0]
			if d := cmp.Diff(tt.want, got.Errors); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTracesTimes(t *testing.T) {
	tests := map[string]struct {
		from, to time.Time
		date     string
		duration float64
	}{
		"another zone becomes UTC":    {at(0).In(time.FixedZone("", 7200)), at(15_200), "2026-04-18T10:00:00.000Z", 15.2},
		"a fraction has three digits": {at(0).Add(123_456_789), at(1_000), "2026-04-18T10:00:00.123Z", 0.876543211},
		"a clock that ran backwards":  {at(10), at(0), "2026-04-18T10:00:00.010Z", 0},
		"more than a day":             {at(0), at(0).Add(100 * time.Hour), "2026-04-18T10:00:00.000Z", 86_400},
		"no time is still a date":     {time.Time{}, time.Time{}, "1970-01-01T00:00:00.000Z", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := &tree{id: traceID(1)}
			r := tr.root("cline", 0)
			r.StartTimeUnixNano, r.EndTimeUnixNano = otlp.UnixNano(tt.from), otlp.UnixNano(tt.to)
			got := Traces(tr.messages(), testForms)[0]
			if got.CurrentDatetime != tt.date || got.Duration != tt.duration {
				t.Errorf("got %s, %v s; want %s, %v s", got.CurrentDatetime, got.Duration, tt.date, tt.duration)
			}
		})
	}
}

// The mapping half must stay a function of values.
func TestMappingIsPure(t *testing.T) {
	banned := map[string]string{
		"os": "the mapping reads no environment or files", "net": "the mapping opens no connection",
		"net/http": "the mapping opens no connection", "math/rand": "equal spans give equal bytes",
		"math/rand/v2": "equal spans give equal bytes", "context": "the mapping never waits",
	}
	for _, file := range []string{"schema.go", "form.go", "run.go", "mapping.go", "session.go", "usage.go", "text.go", "encode.go"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why, bad := banned[path]; bad {
				t.Errorf("%s imports %s: %s", file, path, why)
			}
		}
		if bytes.Contains(src, []byte("time.Now")) {
			t.Errorf("%s calls time.Now: equal spans give equal bytes", file)
		}
	}
}

func TestPromptStepHasTheReplyToIt(t *testing.T) {
	said := func(text string) *commonpb.KeyValue {
		return str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(text, "stop"))
	}
	tr := &tree{id: traceID(1)}
	r := tr.root("cline", 100, said("the end"))
	prompt(r, 0, "one")
	tr.chat(2, 1, "m", 5, 10, said("first"))
	tr.chat(3, 1, "m", 15, 20, said("second"))
	tr.agent(4, 1, "helper", 20, 30)
	tr.chat(5, 4, "m", 21, 29, said("of a subagent"))
	prompt(r, 35, "a reminder", otlp.Bool(otelmap.KeyPromptInjected, true))
	tr.chat(6, 1, "m", 36, 39)
	prompt(r, 40, "two")
	prompt(r, 60, "three")
	tr.chat(7, 1, "m", 61, 70, said("third"))
	want := map[string]string{"one": "second", "a reminder": "", "two": "", "three": "the end"}
	for range 2 {
		got := map[string]string{}
		for _, s := range Traces(tr.messages(), testForms)[0].Steps {
			if s.Action == ActionPrompt || s.Action == ActionInjected {
				got[s.InputPreview] = s.OutputPreview
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		// Without the run's answer its last text is the reply.
		r.Attributes = slices.DeleteFunc(r.Attributes, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == otelmap.KeyOutputMessages })
		want["three"] = "third"
	}
	tr = &tree{id: traceID(2)}
	prompt(tr.root("claude-code", 100, said("the end")), 0, "one")
	if s := Traces(tr.messages(), testForms)[0].Steps[0]; s.OutputPreview != "" || s.OutputSummary != "" {
		t.Errorf("Claude Code's form has no reply: %+v", s)
	}
}

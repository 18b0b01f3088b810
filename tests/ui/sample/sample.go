// Package sample fills a store with invented tasks, which tests open and pictures show.
package sample

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Task is a run of an agent.
type Task struct {
	// Ago is how long before now it began.
	Ago                           time.Duration
	Host, Model, Project, Session string
	Prompt, Answer, Outcome       string
	Steps                         []Step
	input, output, read           int64
	cost                          float64
	calls, failures               int64
	id                            []byte
	at                            time.Time
	spans                         []*tracepb.Span
	n                             int
}

// Step is what an agent did. Took is its time; a step with Steps is a subagent.
type Step struct {
	Took time.Duration
	// Say is a request to the model and its answer, Context the size of its input.
	Say     string
	Context int64
	// Tool is a call, with its arguments. Error is its message, Kind the error's type.
	Tool                string
	Args                map[string]any
	Result, Error, Kind string
	// Asked is how long the user took to approve the call.
	Asked time.Duration
	// Idle is a pause, Event a span event of the run.
	Idle  time.Duration
	Event string
	Hook  string // the reason with which a hook denied the call
	Agent string
	Steps []Step
}

// Fill stores the tasks, which end before now.
func Fill(ctx context.Context, s *store.Store, now time.Time, tasks []Task) error {
	for i := range tasks {
		if err := s.UploadTraces(ctx, tasks[i].Spans(now)); err != nil {
			return err
		}
	}
	return nil
}

// ID returns the id of a task's trace.
func (t *Task) ID() string { return fmt.Sprintf("%x", t.traceID()) }

func (t *Task) traceID() []byte {
	sum := sha256.Sum256([]byte(t.Session + t.Prompt))
	return sum[:16]
}

// Spans returns the task as spans.
func (t *Task) Spans(now time.Time) []*tracepb.ResourceSpans {
	t.id, t.at, t.spans = t.traceID(), now.Add(-t.Ago), nil
	start := t.at
	root := t.span(nil, "invoke_agent "+t.Host, start)
	root.Events = append(root.Events, event(otelmap.EventPrompt, start, otlp.String(otelmap.KeyText, t.Prompt)))
	t.run(root, root, t.Steps)
	root.EndTimeUnixNano = uint64(t.at.UnixNano())
	if t.Outcome == otelmap.OutcomeFailed || t.Outcome == otelmap.OutcomeAbandoned {
		root.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: t.Answer}
		t.Answer = ""
	}
	root.Attributes = []*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, t.Host), otlp.String(otelmap.KeyOutcome, t.Outcome),
		otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, t.Prompt)), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(t.Answer, "")), otlp.String(otelmap.KeyConversationID, t.Session),
		otlp.String(otelmap.KeyRequestModel, t.Model), otlp.String(otelmap.KeyWorkingDirectory, t.Project),
		otlp.Int(otelmap.KeyInputTokens, t.input), otlp.Int(otelmap.KeyOutputTokens, t.output), otlp.Int(otelmap.KeyCacheReadTokens, t.read),
		otlp.Float(otelmap.KeyCost, t.cost), otlp.Int(otelmap.KeyToolCalls, t.calls), otlp.Int(otelmap.KeyToolFailures, t.failures),
	}
	return []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyServiceName, t.Host)}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: t.spans}},
	}}
}

func event(name string, at time.Time, a ...*commonpb.KeyValue) *tracepb.Span_Event {
	return &tracepb.Span_Event{Name: name, TimeUnixNano: uint64(at.UnixNano()), Attributes: a}
}

func (t *Task) span(parent *tracepb.Span, name string, at time.Time) *tracepb.Span {
	t.n++
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %d", t.id, t.n))
	s := &tracepb.Span{TraceId: t.id, SpanId: sum[:8], ParentSpanId: parent.GetSpanId(), Name: name, StartTimeUnixNano: uint64(at.UnixNano())}
	t.spans = append(t.spans, s)
	return s
}

func (t *Task) run(root, parent *tracepb.Span, steps []Step) {
	for _, s := range steps {
		start := t.at
		switch {
		case s.Idle > 0:
			t.at = t.at.Add(s.Idle)
		case s.Event != "":
			root.Events = append(root.Events, event(s.Event, start, otlp.String(otelmap.KeyText, s.Say)))
		case s.Agent != "":
			p := t.span(parent, "invoke_agent "+s.Agent, start)
			t.run(root, p, s.Steps)
			p.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, s.Say)), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(s.Result, ""))}
			p.EndTimeUnixNano = uint64(t.at.UnixNano())
		case s.Tool != "":
			t.call(root, parent, s)
		default:
			t.chat(parent, s)
		}
	}
}

func (t *Task) call(root, parent *tracepb.Span, s Step) {
	start := t.at
	p := t.span(parent, "execute_tool "+s.Tool, start)
	args, _ := json.Marshal(s.Args)
	if len(s.Args) == 0 {
		args = []byte("{}")
	}
	p.Attributes = []*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, s.Tool),
		otlp.String(otelmap.KeyToolArguments, string(args)), otlp.String(otelmap.KeyToolCallID, fmt.Sprintf("toolu_%02d%x", t.n, t.id[:4])),
	}
	t.calls++
	if s.Asked > 0 {
		p.Events = append(p.Events, event(otelmap.EventPermission, start.Add(20*time.Millisecond)))
		p.Attributes = append(p.Attributes, otlp.Int(otelmap.KeyHostDuration, s.Took.Milliseconds()))
		t.at = t.at.Add(s.Asked)
	}
	if s.Hook != "" {
		p.Events = append(p.Events, event(otelmap.EventHook, start.Add(5*time.Millisecond), otlp.String(otelmap.KeyHookEvent, "PreToolUse"), otlp.String(otelmap.KeyHookTool, s.Tool),
			otlp.String(otelmap.KeyHookCommand, "./guard.sh"), otlp.String(otelmap.KeyHookMatcher, "Bash"), otlp.String(otelmap.KeyHookStatus, "ok"), otlp.String(otelmap.KeyHookDecision, "deny"),
			otlp.String(otelmap.KeyHookReason, s.Hook), otlp.Int(otelmap.KeyHookDuration, 41)))
	}
	if len(s.Steps) > 0 {
		t.run(root, p, s.Steps)
	}
	t.at = t.at.Add(s.Took)
	p.EndTimeUnixNano = uint64(t.at.UnixNano())
	if s.Error != "" {
		kind := s.Kind
		if kind == "" {
			kind = "ToolFailure"
		}
		t.failures++
		p.Attributes = append(p.Attributes, otlp.String(otelmap.KeyErrorType, kind))
		p.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Error}
	}
	if s.Result != "" {
		p.Attributes = append(p.Attributes, otlp.String(otelmap.KeyToolResult, s.Result))
	}
}

func (t *Task) chat(parent *tracepb.Span, s Step) {
	p := t.span(parent, "chat "+t.Model, t.at)
	t.at = t.at.Add(s.Took)
	p.EndTimeUnixNano = uint64(t.at.UnixNano())
	out := int64(len(s.Say)/3 + 90)
	read := s.Context * 92 / 100
	cost := float64(s.Context-read)*5e-6 + float64(read)*0.5e-6 + float64(out)*25e-6
	t.input, t.output, t.read, t.cost = t.input+s.Context, t.output+out, t.read+read, t.cost+cost
	p.Attributes = []*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, t.Model), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(s.Say, "")),
		otlp.Int(otelmap.KeyInputTokens, s.Context), otlp.Int(otelmap.KeyOutputTokens, out), otlp.Int(otelmap.KeyCacheReadTokens, read), otlp.Float(otelmap.KeyCost, cost),
	}
}

// Big returns a task with n calls.
func Big(n int) Task {
	t := Task{Ago: 26 * time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/monorepo", Session: "big", Prompt: "Migrate every package to the new logger", Answer: "Done.", Outcome: otelmap.OutcomeCompleted}
	for i := range n {
		s := Step{Tool: "Bash", Took: 30 * time.Millisecond, Args: map[string]any{"command": fmt.Sprintf("go test ./pkg/p%d", i)}, Result: "ok"}
		if i%997 == 13 {
			s.Error = fmt.Sprintf("exit code 1: pkg/p%d fails", i)
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

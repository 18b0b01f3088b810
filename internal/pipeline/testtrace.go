package pipeline

import (
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// The agent of a test trace, so that it is not taken for a task of a real one, and the model,
// which no backend has a price for.
const (
	testHost  = "hookspan"
	testModel = "hookspan-test"
)

// TestTrace maps a small made-up task as a real one is mapped, and returns its
// spans and its trace id. It has what backends show in different ways: requests to the
// model, calls of which one fails, and a subagent.
func (p *Pipeline) TestTrace() (spans []*tracepb.ResourceSpans, id string) {
	now := p.Deliverer.Now()
	m := madeUp{now: now, session: "hookspan-test-" + strconv.FormatInt(now.UnixNano(), 36)}
	m.events = otelmap.NewBuilder(testHost, m.session, p.Deliverer.Map, otelmap.Carry{})
	const helper, answer = "helper-1", "This trace was sent by `hookspan test`."
	m.add(0, hook.Event{Kind: hook.KindRunStart, Prompt: "hookspan test"})
	m.request(50, 200, "", "I run a command, read a file and ask a helper.", "call-1", "call-2", "call-3")
	m.call(200, 300, hook.Tool{ID: "call-1", Name: "execute_command", Input: `{"command":"echo hello"}`, Output: "hello"})
	m.call(300, 350, hook.Tool{
		ID: "call-2", Name: "read_file", Input: `{"path":"missing.txt"}`, Status: hook.ToolFailed, Error: "missing.txt: no such file",
	})
	m.files.Agents = []hook.Subagent{{ID: helper, CallID: "call-3", Task: "Say hello"}}
	m.add(360, hook.Event{Kind: hook.KindRunStart, Agent: helper, ParentAgent: hook.ParentUnknown, AgentType: "helper"})
	m.request(380, 660, helper, "hello")
	m.add(680, hook.Event{Kind: hook.KindRunComplete, Agent: helper, ParentAgent: hook.ParentUnknown, Result: "hello"})
	m.call(350, 700, hook.Tool{ID: "call-3", Name: "task", Input: `{"prompt":"Say hello"}`, Output: "hello", Agent: helper})
	m.request(700, 900, "", answer)
	m.add(900, hook.Event{Kind: hook.KindRunComplete, Result: answer})
	run := m.events.Runs(now)[0]
	id, _ = m.events.Root(run)
	spans = []*tracepb.ResourceSpans{p.Deliverer.Clean(m.events.Spans(run, &m.files))}
	for s := range otlp.Spans(spans) {
		s.Attributes = append(s.Attributes, otlp.Bool(otelmap.KeyTest, true))
	}
	return spans, id
}

// madeUp is the task of a test trace: its events, and the files that an agent would have
// written. Times are in milliseconds from its start, a second ago.
type madeUp struct {
	now     time.Time
	session string
	events  *otelmap.Builder
	files   hook.Transcript
}

func (m *madeUp) at(ms int) time.Time { return m.now.Add(time.Duration(ms-1000) * time.Millisecond) }

func (m *madeUp) add(ms int, e hook.Event) {
	e.Host, e.Dialect, e.Session, e.Name = testHost, "classic", m.session, e.Kind.String()
	e.Time, e.StoredAt, e.Hash = m.at(ms), m.at(ms), uint64(ms) //nolint:gosec // A small number.
	m.events.Add(e)
}

func (m *madeUp) call(from, to int, t hook.Tool) {
	t.Started, t.Ended, t.Duration = m.at(from), m.at(to), m.at(to).Sub(m.at(from))
	m.add(to, hook.Event{Kind: hook.KindToolEnd, Tool: &t})
}

func (m *madeUp) request(from, to int, agent, text string, calls ...string) {
	reason := "end_turn"
	if len(calls) > 0 {
		reason = "tool_use"
	}
	m.files.Requests = append(m.files.Requests, hook.Request{
		ID: m.session + "-" + strconv.Itoa(from), Agent: agent, Start: m.at(from), End: m.at(to), Provider: testHost, Model: testModel,
		ResponseModel: testModel, Text: text, FinishReason: reason, ToolCallIDs: calls, Usage: &hook.Usage{Input: 120, Output: 20},
	})
}

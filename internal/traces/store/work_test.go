package store

import (
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/otelmap"
)

// workTrace has a request that asks for two calls, one of which starts a subagent that
// makes a denied call. The user was asked about two calls at once.
func workTrace() *build {
	const s = time.Second
	b := newBuild("work")
	root := b.Root("find it", otelmap.OutcomeCompleted, 60*s, usageAttrs(300, 30, 0, 0.9)...)
	asks := b.Chat(root, s, 2*s, usageAttrs(100, 10, 0, 0.4)...)
	b.Spans[asks-1].Attributes = append(b.Spans[asks-1].Attributes[:3:3], append([]*commonpb.KeyValue{
		str(otelmap.KeyOutputMessages, `[{"role":"assistant","parts":[{"type":"tool_call","id":"toolu_02","name":"Task"},{"type":"tool_call","id":"toolu_05","name":"mcp__db__query"}]}]`),
	}, usageAttrs(100, 10, 0, 0.4)...)...)
	task := b.Tool(root, "Task", `{"prompt":"look"}`, 2*s, 30*s)
	agent := b.Add(task, "invoke_agent Explore", 3*s, 29*s, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, "Explore"),
	}, usageAttrs(200, 20, 0, 0.5)...)...)
	b.Tool(agent, "Bash", `{"command":"go test ./..."}`, 4*s, 20*s)
	b.Event(5, otelmap.EventPermission, 5*s)
	b.Fail(otelmap.ErrorToolDenied, "The user said no")
	b.Tool(root, "mcp__db__query", `{"sql":"select 1"}`, 6*s, 30*s)
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyMCPServer, "db"), num(otelmap.KeyHostDuration, 4000))
	b.Event(6, otelmap.EventPermission, 10*s)
	return b
}

func TestWorkConnectsCallsRequestsAndSubagents(t *testing.T) {
	s := open(t)
	b := workTrace()
	upload(t, s, b.Messages())
	var works []*Work
	err := s.EachWork(t.Context(), Filter{}, nil, func(w *Work) error { works = append(works, w); return nil })
	if err != nil || len(works) != 1 {
		t.Fatal(len(works), err)
	}
	w := works[0]
	if len(w.Calls) != 3 || len(w.Requests) != 1 || len(w.Subagents) != 1 {
		t.Fatalf("%d calls, %d requests, %d subagents", len(w.Calls), len(w.Requests), len(w.Subagents))
	}
	task, bash, query := w.Calls[0], w.Calls[1], w.Calls[2]
	if task.CostUSD == nil || *task.CostUSD != 0.7 {
		t.Errorf("the call that started the subagent cost %v, want half of the request and the subagent", task.CostUSD)
	}
	if query.CostUSD == nil || *query.CostUSD != 0.2 || query.Server != "db" || query.Waited != 16*time.Second {
		t.Errorf("the call of the server: %+v", query)
	}
	if bash.Subagent != "Explore" || bash.Command != "go test" || bash.Status != otelmap.EndDenied || bash.Waited != 15*time.Second || bash.CostUSD != nil {
		t.Errorf("the subagent's call: %+v", bash)
	}
	if a := w.Subagents[0]; a.Name != "Explore" || a.Calls != 1 || a.Denials != 1 || *a.Usage.CostUSD != 0.5 {
		t.Errorf("the subagent: %+v", a)
	}
	if w.Requests[0].Calls != 2 {
		t.Errorf("the request asked for %d calls", w.Requests[0].Calls)
	}

	// What two calls wait for at once counts once: from 5 s to 26 s.
	all, err := s.Totals(t.Context(), Filter{})
	if err != nil || all.Waited != 21*time.Second || w.Summary.Waited != all.Waited {
		t.Errorf("waited %v, in the summary %v, %v", all.Waited, w.Summary.Waited, err)
	}
}

// TestWorkFindsTheSubagentOfACall holds the work of a stored trace against that of a running
// one: a script is between a subagent and its call, and a run that the call started has a
// separate lead agent.
func TestWorkFindsTheSubagentOfACall(t *testing.T) {
	const s = time.Second
	b := newBuild("nested")
	root := b.Root("find it", otelmap.OutcomeCompleted, 60*s)
	agent := b.Add(b.Tool(root, "Task", "{}", 2*s, 30*s), "invoke_agent Explore", 3*s, 29*s,
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, "Explore"))
	script := b.Add(agent, "invoke_workflow exec", 4*s, 20*s, str(otelmap.KeyOperation, otelmap.OpInvokeWorkflow))
	call := b.Tool(script, "Bash", `{"command":"codex exec x"}`, 5*s, 19*s)
	run := b.Add(call, "invoke_agent codex", 6*s, 18*s,
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyHost, "codex"), str(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	b.Tool(run, "apply_patch", "{}", 7*s, 8*s)
	st := open(t)
	upload(t, st, b.Messages())
	works := []*Work{WorkOf(NewTrace(b.Messages()))}
	err := st.EachWork(t.Context(), Filter{}, nil, func(w *Work) error { works = append(works, w); return nil })
	if err != nil || len(works) != 2 {
		t.Fatal(len(works), err)
	}
	for i, w := range works {
		if len(w.Calls) != 3 || w.Calls[0].Subagent != "" || w.Calls[1].Subagent != "Explore" || w.Calls[2].Subagent != "" || w.Subagents[0].Calls != 1 {
			t.Errorf("work %d has the calls %+v and the subagents %+v", i, w.Calls, w.Subagents)
		}
	}
}

func TestWorkHasOnlyCallsWithTheText(t *testing.T) {
	s := open(t)
	upload(t, s, workTrace().Messages())
	n := 0
	err := s.EachWork(t.Context(), Filter{Text: "select"}, nil, func(w *Work) error { n += len(w.Calls); return nil })
	if n != 1 || err != nil {
		t.Errorf("%d calls, %v", n, err)
	}
}

func TestARunningTaskWaits(t *testing.T) {
	b := newBuild("running")
	root := b.Root("do it", otelmap.OutcomeRunning, time.Second)
	b.Tool(root, "Bash", `{"command":"make"}`, 0, time.Second)
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyToolOutcome, otelmap.ToolOutcomeRunning))
	b.Event(2, otelmap.EventPermission, time.Second)
	one := NewTrace(b.Messages())
	if !one.Waiting || one.Waited != 0 {
		t.Errorf("waiting %v, waited %v", one.Waiting, one.Waited)
	}
	b.Last().Events[0].Name = otelmap.EventHook
	if NewTrace([]*tracepb.ResourceSpans{b.Messages()[0]}).Waiting {
		t.Error("a call that no question is about waits")
	}
}

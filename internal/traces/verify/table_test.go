package verify

import (
	"slices"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// change is something that is wrong in the traces of a session: what changes its runs, the
// spans of each of which begin with the root, and reports whether it did.
type change struct {
	name string
	do   func(runs *[][]*tracepb.Span) bool
	// but are the agents of which a file cannot show it, with the form of its rows.
	but map[string]string
}

func isStatus(want string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return role(step.KindTool)(s) && statusOf(step.Of(s)) == want }
}

func hasID(key string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return otlp.Text(s.Attributes, key) != "" }
}

func both(tests ...func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return !slices.ContainsFunc(tests, func(is func(*tracepb.Span) bool) bool { return !is(s) })
	}
}

// each changes the first span for which is returns true, with the run that has it.
func each(is func(*tracepb.Span) bool, do func(run []*tracepb.Span, i int) ([]*tracepb.Span, bool)) func(*[][]*tracepb.Span) bool {
	return func(runs *[][]*tracepb.Span) bool {
		for n, run := range *runs {
			for i, s := range run {
				if !is(s) {
					continue
				}
				if changed, done := do(run, i); done {
					(*runs)[n] = changed
					return true
				}
			}
		}
		return false
	}
}

func removed(run []*tracepb.Span, i int) ([]*tracepb.Span, bool) {
	id := string(run[i].SpanId)
	if slices.ContainsFunc(run, func(s *tracepb.Span) bool { return string(s.ParentSpanId) == id }) {
		return nil, false // others are below it
	}
	recount(run[0], otelmap.KeyToolCalls, -1, run[i])
	return slices.Delete(slices.Clone(run), i, i+1), true
}

// count keeps the sums of a root right, as a loss in the files would leave them.
func recount(root *tracepb.Span, key string, n int64, of *tracepb.Span) {
	if role(step.KindTool)(of) {
		have, _ := otlp.Integer(root.Attributes, key)
		set(root, otlp.Int(key, have+n))
	}
}

func doubled(run []*tracepb.Span, i int) ([]*tracepb.Span, bool) {
	twin := proto.CloneOf(run[i])
	twin.SpanId = []byte("doubled!")
	recount(run[0], otelmap.KeyToolCalls, 1, twin)
	return append(slices.Clone(run), twin), true
}

func changed(do func(*tracepb.Span)) func(run []*tracepb.Span, i int) ([]*tracepb.Span, bool) {
	return func(run []*tracepb.Span, i int) ([]*tracepb.Span, bool) {
		do(run[i])
		return run, true
	}
}

// events changes the prompts of the first run that has one.
func events(do func(all []*tracepb.Span_Event, i int) []*tracepb.Span_Event) func(*[][]*tracepb.Span) bool {
	return func(runs *[][]*tracepb.Span) bool {
		for _, run := range *runs {
			if i := slices.IndexFunc(run[0].Events, isPrompt); i >= 0 {
				run[0].Events = do(run[0].Events, i)
				return true
			}
		}
		return false
	}
}

// movedTokens gives output tokens of a request to another one.
func movedTokens(runs *[][]*tracepb.Span) bool {
	var from *tracepb.Span
	for _, run := range *runs {
		for _, s := range run {
			n, _ := otlp.Integer(s.Attributes, otelmap.KeyOutputTokens)
			switch {
			case !role(step.KindRequest)(s) || n == 0:
			case from == nil:
				from = s
			default:
				have, _ := otlp.Integer(from.Attributes, otelmap.KeyOutputTokens)
				set(from, otlp.Int(otelmap.KeyOutputTokens, have+n))
				set(s, otlp.Int(otelmap.KeyOutputTokens, 0))
				return true
			}
		}
	}
	return false
}

// movedCall gives a call of the main agent to a subagent, or the other way.
func movedCall(runs *[][]*tracepb.Span) bool {
	for n, run := range *runs {
		agent := slices.IndexFunc(run, role(step.KindAgent))
		call := slices.IndexFunc(run, both(role(step.KindTool), hasID(otelmap.KeyToolCallID), func(s *tracepb.Span) bool {
			return string(s.ParentSpanId) == string(run[0].SpanId) && !slices.ContainsFunc(run, func(x *tracepb.Span) bool { return string(x.ParentSpanId) == string(s.SpanId) })
		}))
		if call < 0 {
			continue
		}
		if agent < 0 {
			invented := proto.CloneOf(run[call])
			invented.SpanId, invented.ParentSpanId = []byte("invented"), run[0].SpanId
			invented.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyAgent, "a1")}
			(*runs)[n] = append(slices.Clone(run), invented)
			run, agent = (*runs)[n], len(run)
		}
		run[call].ParentSpanId = run[agent].SpanId
		return true
	}
	return false
}

// swapped swaps the texts of the prompts of two runs.
func swapped(runs *[][]*tracepb.Span) bool {
	var all []*tracepb.Span_Event
	for _, run := range *runs {
		for _, e := range run[0].Events {
			if isPrompt(e) {
				all = append(all, e)
			}
		}
	}
	for i := 1; i < len(all); i++ {
		if otlp.Text(all[0].Attributes, otelmap.KeyText) != otlp.Text(all[i].Attributes, otelmap.KeyText) {
			all[0].Attributes, all[i].Attributes = all[i].Attributes, all[0].Attributes
			return true
		}
	}
	return false
}

// cutInTwo makes two runs of one with several calls or requests.
func cutInTwo(runs *[][]*tracepb.Span) bool {
	for n, run := range *runs {
		var work []*tracepb.Span
		for _, s := range run {
			if string(s.ParentSpanId) == string(run[0].SpanId) && (role(step.KindTool)(s) || role(step.KindRequest)(s)) {
				work = append(work, s)
			}
		}
		slices.SortStableFunc(work, func(x, y *tracepb.Span) int { return otlp.Start(x).Compare(otlp.Start(y)) })
		if len(work) < 3 {
			continue
		}
		middle := work[len(work)/2].StartTimeUnixNano
		root := proto.CloneOf(run[0])
		root.SpanId, root.TraceId, root.StartTimeUnixNano, root.Events = []byte("cut off!"), []byte("cut off! cut off!")[:16], middle, nil
		for _, key := range []string{otelmap.KeyRunInputTokens, otelmap.KeyRunOutputTokens, otelmap.KeyRunCacheReadTokens, otelmap.KeyRunCacheWriteTokens} {
			set(root, otlp.Int(key, 0))
		}
		set(root, otlp.Int(otelmap.KeyToolCalls, 0))
		run[0].EndTimeUnixNano = middle
		set(run[0], otlp.String(otelmap.KeyOutcome, otelmap.OutcomeInterrupted))
		rest := []*tracepb.Span{root}
		(*runs)[n] = slices.DeleteFunc(slices.Clone(run), func(s *tracepb.Span) bool {
			late := s.StartTimeUnixNano >= middle && s != run[0]
			if late {
				recount(run[0], otelmap.KeyToolCalls, -1, s)
				recount(root, otelmap.KeyToolCalls, 1, s)
				rest = append(rest, s)
			}
			return late
		})
		*runs = append(*runs, rest)
		return true
	}
	return false
}

func inventedRoot(runs *[][]*tracepb.Span) bool {
	root := proto.CloneOf((*runs)[len(*runs)-1][0])
	root.SpanId, root.TraceId, root.Events = []byte("invented"), []byte("invented invented")[:16], nil
	root.StartTimeUnixNano += uint64(time.Hour)
	root.EndTimeUnixNano += uint64(time.Hour)
	for _, key := range []string{otelmap.KeyRunInputTokens, otelmap.KeyRunOutputTokens, otelmap.KeyRunCacheReadTokens, otelmap.KeyRunCacheWriteTokens, otelmap.KeyToolCalls} {
		set(root, otlp.Int(key, 0))
	}
	*runs = append(*runs, []*tracepb.Span{root})
	return true
}

func lostTurn(runs *[][]*tracepb.Span) bool {
	if len(*runs) < 2 {
		return false
	}
	*runs = (*runs)[:len(*runs)-1]
	return true
}

func turnedOutcome(runs *[][]*tracepb.Span) bool {
	for _, run := range *runs {
		switch otlp.Text(run[0].Attributes, otelmap.KeyOutcome) {
		case otelmap.OutcomeCompleted:
			set(run[0], otlp.String(otelmap.KeyOutcome, otelmap.OutcomeAbandoned))
			return true
		}
	}
	return false
}

// changes are the kinds of what may be wrong.
func changes() []change {
	call, request := both(role(step.KindTool), hasID(otelmap.KeyToolCallID)), both(role(step.KindRequest), hasID(otelmap.KeyResponseID))
	return []change{
		{name: "call removed", do: each(call, removed)},
		{name: "call doubled", do: each(call, doubled)},
		{name: "call renamed", do: each(call, changed(func(s *tracepb.Span) { set(s, otlp.String(otelmap.KeyToolName, "another")) }))},
		{name: "call moved to another agent", do: movedCall},
		{name: "call turned to failed", do: each(both(call, isStatus(ok)), changed(fail(otelmap.ErrorToolFailure)))},
		{name: "call turned to done", do: each(both(call, func(s *tracepb.Span) bool { return isStatus(failed)(s) || isStatus(denied)(s) }), changed(succeed))},
		{name: "request removed", do: each(request, removed)},
		{name: "request doubled", do: each(request, doubled)},
		{name: "tokens of a request moved to another", do: movedTokens},
		{name: "prompt removed", do: events(func(all []*tracepb.Span_Event, i int) []*tracepb.Span_Event { return slices.Delete(all, i, i+1) })},
		{name: "prompt doubled", do: events(func(all []*tracepb.Span_Event, i int) []*tracepb.Span_Event { return append(all, all[i]) })},
		{name: "prompts swapped", do: swapped},
		{name: "turn lost", do: lostTurn},
		{name: "turn cut in two", do: cutInTwo},
		{name: "root invented", do: inventedRoot},
		{name: "outcome turned", do: turnedOutcome},
	}
}

// runsOf returns the spans of each run, the root first.
func runsOf(all []*tracepb.ResourceSpans) (runs [][]*tracepb.Span) {
	for _, m := range all {
		var run []*tracepb.Span
		for s := range otlp.Spans([]*tracepb.ResourceSpans{proto.CloneOf(m)}) {
			run = append(run, s)
		}
		if len(run) > 0 {
			runs = append(runs, run)
		}
	}
	return runs
}

// TestEachChangeIsFound plants each kind of change in the traces of every recorded session of
// each agent that can have it, where the second reading finds it, and the other way round: the
// files then have what the traces lack. Both are the same comparison, whose sides differ in one
// thing.
func TestEachChangeIsFound(t *testing.T) {
	byHost := make(map[string][]recording)
	for _, r := range recordings(t) {
		byHost[r.host] = append(byHost[r.host], r)
	}
	found, cells := 0, 0
	for _, c := range changes() {
		for _, a := range agents.All() {
			cells++
			planted, silent := 0, []string(nil)
			for _, r := range byHost[a.Host] {
				runs := runsOf(r.spans)
				if len(runs) == 0 || !c.do(&runs) {
					continue
				}
				planted++
				var spans []*tracepb.ResourceSpans
				for _, run := range runs {
					spans = append(spans, resource(run...))
				}
				if len(r.differences(t, spans)) == 0 {
					silent = append(silent, r.id)
				}
			}
			switch why := c.but[a.Host]; {
			case planted == 0:
				t.Errorf("%s: %s: no recorded session can have it", a.Host, c.name)
			case len(silent) == planted && why == "":
				t.Errorf("%s: %s: found in none of %d sessions", a.Host, c.name, planted)
			case len(silent) < planted:
				found++
				if len(silent) > 0 {
					t.Logf("%s: %s: not in %q of %d", a.Host, c.name, silent, planted)
				}
			}
		}
	}
	t.Logf("%d of %d cells found", found, cells)
}

package infinium

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Session joins the runs of one session into one run, which Traces maps to one
// trace. The first span of each run is its root, as otelmap gives them; the runs
// are in the order in which they began, and no two spans have the same id. A run
// given twice counts once, in its last version; one without spans does not count.
//
// The joined root has the trace id, the span id and the parent of the first
// run's root, so that the same runs always give the same ids, and all spans of
// the other runs are below it. It lasts from the first start to the last end, and
// has the status of the last run and the events of all roots.
// otelmap.KeyTurns counts the runs.
//
// Session is pure and does not change its argument.
func Session(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans {
	var kept []*tracepb.ResourceSpans
	at := make(map[spanKey]int, len(runs))
	for i, r := range runs {
		for root := range otlp.Spans(runs[i : i+1]) {
			n, ok := at[keyOf(root)]
			if !ok {
				n = len(kept)
				at[keyOf(root)] = n
				kept = append(kept, nil)
			}
			kept[n] = r
			break
		}
	}
	if len(kept) == 0 {
		return nil
	}
	t := make(turns, len(kept))
	for i := range kept {
		t[i] = slices.Collect(otlp.Spans(kept[i : i+1]))
	}
	last := kept[len(kept)-1]
	scope := last.GetScopeSpans()[0]
	return &tracepb.ResourceSpans{
		Resource: last.GetResource(), SchemaUrl: last.GetSchemaUrl(),
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: scope.GetScope(), SchemaUrl: scope.GetSchemaUrl(), Spans: t.joined()}},
	}
}

// turns are the runs of a session: of each the root and then its other spans.
type turns [][]*tracepb.Span

// joined returns the joined root and then all other spans, moved into its trace, in
// the order of their start.
func (t turns) joined() []*tracepb.Span {
	first, root := t[0][0], proto.CloneOf(t[len(t)-1][0])
	if len(t) == 1 {
		root.Attributes = append(without(root.Attributes, otelmap.KeyTurns), t.count())
		return append([]*tracepb.Span{root}, t[0][1:]...)
	}
	root.Name, root.TraceId, root.SpanId, root.TraceState = first.Name, first.TraceId, first.SpanId, first.TraceState
	root.ParentSpanId, root.Flags = first.ParentSpanId, first.Flags
	root.Attributes, root.Events, root.Links = t.attributes(), t.events(), nil
	roots := make(map[spanKey]bool, len(t))
	for _, turn := range t {
		roots[keyOf(turn[0])] = true
	}
	var below []*tracepb.Span
	for _, turn := range t {
		root.StartTimeUnixNano = earlier(root.StartTimeUnixNano, turn[0].StartTimeUnixNano)
		root.EndTimeUnixNano = max(root.EndTimeUnixNano, turn[0].EndTimeUnixNano)
		for _, l := range turn[0].Links {
			if !roots[spanKey{string(l.GetTraceId()), string(l.GetSpanId())}] {
				root.Links = append(root.Links, l)
			}
		}
		for _, s := range turn[1:] {
			moved := proto.CloneOf(s)
			if roots[spanKey{string(s.TraceId), string(s.ParentSpanId)}] {
				moved.ParentSpanId = root.SpanId
			}
			moved.TraceId = root.TraceId
			below = append(below, moved)
		}
	}
	slices.SortStableFunc(below, func(x, y *tracepb.Span) int { return cmp.Compare(x.StartTimeUnixNano, y.StartTimeUnixNano) })
	return append([]*tracepb.Span{root}, below...)
}

// count is the attribute that counts the runs; one that was joined before adds its
// count.
func (t turns) count() *commonpb.KeyValue {
	var n int64
	for _, turn := range t {
		n += turnsOf(turn[0])
	}
	return otlp.Int(otelmap.KeyTurns, n)
}

func turnsOf(root *tracepb.Span) int64 {
	return max(1, otlp.Number(root.Attributes, otelmap.KeyTurns))
}

// events are the events of all roots by time. The exception of a run before the
// last is not a failure of the session and becomes an event of another kind.
func (t turns) events() []*tracepb.Span_Event {
	var out []*tracepb.Span_Event
	for i, turn := range t {
		root, at := turn[0], turn[0].EndTimeUnixNano
		last := i == len(t)-1
		for _, ev := range root.Events {
			if ev.GetName() == otelmap.EventException && !last {
				at = ev.TimeUnixNano
				continue
			}
			out = append(out, ev)
		}
		if last || !failed(root) {
			continue
		}
		kind, message := cause(root)
		out = append(out, &tracepb.Span_Event{
			Name: otelmap.EventTurnFailed, TimeUnixNano: at,
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyExceptionType, cmp.Or(kind, otelmap.ErrorRun)),
				otlp.String(otelmap.KeyExceptionMessage, message),
			},
		})
	}
	slices.SortStableFunc(out, func(x, y *tracepb.Span_Event) int { return cmp.Compare(x.GetTimeUnixNano(), y.GetTimeUnixNano()) })
	return out
}

// The attributes of a root by how they are joined: that of the first run that has
// one, or of the last run that has one, or the sum. All others are the last run's.
var (
	ofFirst = []string{otelmap.KeyInputMessages, otelmap.KeyInputValue, otelmap.KeySessionSource}
	ofLast  = []string{
		otelmap.KeyOperation, otelmap.KeyAgentName, otelmap.KeyConversationID, otelmap.KeyHost,
		otelmap.KeyHostVersion, otelmap.KeyHostApp, otelmap.KeyDialect, otelmap.KeyUser,
		otelmap.KeyWorkingDirectory, otelmap.KeyPermissionMode, otelmap.KeyOutputMessages, otelmap.KeyOutputValue,
	}
	// A model and its provider belong together.
	ofModel    = []string{otelmap.KeyModel, otelmap.KeyRequestModel, otelmap.KeyResponseModel}
	ofProvider = []string{otelmap.KeyProvider, otelmap.KeyHostProvider}
	summed     = []string{
		otelmap.KeyHostInputTokens, otelmap.KeyCost, otelmap.KeyLLMRequests, otelmap.KeyToolCalls,
		otelmap.KeyToolFailures, otelmap.KeyToolUnknown,
	}
)

func isSummed(key string) bool {
	return slices.Contains(summed, key) || strings.HasPrefix(key, "gen_ai.usage.") || strings.HasPrefix(key, "hookspan.usage.")
}

func (t turns) attributes() []*commonpb.KeyValue {
	joined := slices.Concat(ofFirst, ofLast, ofModel, ofProvider, []string{otelmap.KeyPromptID, otelmap.KeyTurns})
	out := slices.DeleteFunc(without(t[len(t)-1][0].Attributes, joined...), func(kv *commonpb.KeyValue) bool { return isSummed(kv.GetKey()) })
	for _, k := range ofFirst {
		out = append(out, only(t.having(k), k)...)
	}
	backwards := slices.Clone(t)
	slices.Reverse(backwards)
	for _, k := range ofLast {
		out = append(out, only(backwards.having(k), k)...)
	}
	model := backwards.having(ofModel...)
	if model == nil {
		model = backwards.having(ofProvider...)
	}
	out = append(out, only(model, slices.Concat(ofModel, ofProvider)...)...)
	return append(append(out, t.sums()...), t.count())
}

// having returns the attributes of the first root that has one of the keys.
func (t turns) having(keys ...string) []*commonpb.KeyValue {
	for _, turn := range t {
		a := turn[0].Attributes
		if slices.ContainsFunc(keys, func(k string) bool { return text(a, k) != "" }) {
			return a
		}
	}
	return nil
}

// only is a copy of the attributes with some keys, without one that lacks them.
func only(attrs []*commonpb.KeyValue, keys ...string) []*commonpb.KeyValue {
	return slices.DeleteFunc(slices.Clone(attrs), func(kv *commonpb.KeyValue) bool { return !slices.Contains(keys, kv.GetKey()) })
}

func without(attrs []*commonpb.KeyValue, keys ...string) []*commonpb.KeyValue {
	return slices.DeleteFunc(slices.Clone(attrs), func(kv *commonpb.KeyValue) bool { return slices.Contains(keys, kv.GetKey()) })
}

// sums adds up the figures of the roots. If some roots have totals and another
// has none, the sums over its requests take their place, as they do for a run by
// itself; if none has, Traces sums the requests of the joined run.
func (t turns) sums() []*commonpb.KeyValue {
	var lists [][]*commonpb.KeyValue
	counted := slices.ContainsFunc(t, func(turn []*tracepb.Span) bool { return hasTokens(turn[0]) })
	for _, turn := range t {
		root := turn[0]
		lists = append(lists, root.Attributes)
		for _, s := range turn[1:] {
			if operation(s) != otelmap.OpChat {
				continue
			}
			if counted && !hasTokens(root) {
				lists = append(lists, s.Attributes)
			}
			if count(root.Attributes, otelmap.KeyLLMRequests) == nil {
				lists = append(lists, []*commonpb.KeyValue{otlp.Int(string(otelmap.KeyLLMRequests), 1)})
			}
		}
	}
	hosts := slices.ContainsFunc(lists, func(a []*commonpb.KeyValue) bool { return count(a, otelmap.KeyHostInputTokens) != nil })
	sums := make(map[string]*commonpb.KeyValue)
	for _, a := range lists {
		for _, kv := range a {
			if isSummed(kv.GetKey()) {
				addTo(sums, kv)
			}
		}
		// The agent's count has precedence over the standard one, so it has to
		// include the input that has the standard count alone.
		if n := tokens(a, otelmap.KeyInputTokens); n != nil && hosts && count(a, otelmap.KeyHostInputTokens) == nil {
			addTo(sums, otlp.Int(string(otelmap.KeyHostInputTokens), *n))
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y *commonpb.KeyValue) int { return cmp.Compare(x.Key, y.Key) })
}

// hasTokens reports whether a root has the sums of its run's requests.
func hasTokens(root *tracepb.Span) bool {
	return tokens(root.Attributes, otelmap.KeyInputTokens) != nil || tokens(root.Attributes, otelmap.KeyOutputTokens) != nil
}

// addTo adds an attribute's figure to the sum with its key, which is an agent's.
func addTo(sums map[string]*commonpb.KeyValue, kv *commonpb.KeyValue) {
	key := otelmap.RunKey(kv.Key)
	added, before := []*commonpb.KeyValue{kv}, []*commonpb.KeyValue{sums[key]}
	if n := sum(count(added, kv.Key), count(before, key)); n != nil {
		sums[key] = otlp.Int(key, *n)
	} else if f := sum(amount(added, kv.Key), amount(before, key)); f != nil {
		sums[key] = otlp.Float(key, *f)
	}
}

package step

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Runs are runs of a session that become one: of each the root and then its other spans. The
// methods are about the joined root, and do not change the spans.
type Runs [][]*tracepb.Span

// The attributes of a root by how they are joined: that of the first run that has one, or of
// the last run that has one, or the sum. All others are the last run's.
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

// Attributes are those of the joined root. otelmap.KeyTurns counts the runs; one that was
// joined before adds its count.
func (r Runs) Attributes() []*commonpb.KeyValue {
	last := r[len(r)-1][0].Attributes
	var turns int64
	for _, run := range r {
		turns += Of(run[0]).Turns()
	}
	count := otlp.Int(otelmap.KeyTurns, turns)
	if len(r) == 1 {
		return append(pick(last, otherThan(otelmap.KeyTurns)), count)
	}
	joined := slices.Concat(ofFirst, ofLast, ofModel, ofProvider, []string{otelmap.KeyPromptID, otelmap.KeyTurns})
	other := otherThan(joined...)
	out := pick(last, func(key string) bool { return other(key) && !isSummed(key) })
	for _, k := range ofFirst {
		out = append(out, pick(r.having(k), one(k))...)
	}
	backwards := slices.Clone(r)
	slices.Reverse(backwards)
	for _, k := range ofLast {
		out = append(out, pick(backwards.having(k), one(k))...)
	}
	model := backwards.having(ofModel...)
	if model == nil {
		model = backwards.having(ofProvider...)
	}
	out = append(out, pick(model, one(slices.Concat(ofModel, ofProvider)...))...)
	return append(append(out, r.sums()...), count)
}

// having returns the attributes of the first root that has one of the keys.
func (r Runs) having(keys ...string) attrs {
	for _, run := range r {
		a := Of(run[0]).attrs()
		if slices.ContainsFunc(keys, func(k string) bool { return a.text(k) != "" }) {
			return a
		}
	}
	return nil
}

func one(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

func otherThan(keys ...string) func(string) bool {
	return func(key string) bool { return !slices.Contains(keys, key) }
}

// pick is a copy of the attributes with some keys.
func pick(a attrs, keep func(key string) bool) []*commonpb.KeyValue {
	return slices.DeleteFunc(slices.Clone(a), func(kv *commonpb.KeyValue) bool { return !keep(kv.GetKey()) })
}

// sums adds up the figures of the roots. If some roots have totals and another has none, the
// sums over its requests take their place, as they do for a run by itself.
func (r Runs) sums() []*commonpb.KeyValue {
	var lists []attrs
	counted := slices.ContainsFunc(r, func(run []*tracepb.Span) bool { return hasTokens(run[0]) })
	for _, run := range r {
		root := Of(run[0])
		_, known := root.Requests()
		lists = append(lists, root.attrs())
		for _, s := range run[1:] {
			if Of(s).Kind() != KindRequest {
				continue
			}
			if counted && !hasTokens(run[0]) {
				lists = append(lists, s.Attributes)
			}
			if !known {
				lists = append(lists, attrs{otlp.Int(otelmap.KeyLLMRequests, 1)})
			}
		}
	}
	byHost := func(a attrs) bool { _, ok := a.count(otelmap.KeyHostInputTokens); return ok }
	hosts := slices.ContainsFunc(lists, byHost)
	sums := make(map[string]*commonpb.KeyValue)
	for _, a := range lists {
		for _, kv := range a {
			if isSummed(kv.GetKey()) {
				addTo(sums, kv)
			}
		}
		// The agent's count has precedence over the standard one, so it has to include the input
		// that has the standard count alone.
		if n, ok := a.tokens(otelmap.KeyInputTokens); ok && hosts && !byHost(a) {
			addTo(sums, otlp.Int(otelmap.KeyHostInputTokens, n))
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y *commonpb.KeyValue) int { return cmp.Compare(x.Key, y.Key) })
}

// hasTokens reports whether a root has the sums of its run's requests.
func hasTokens(root *tracepb.Span) bool {
	_, in := Of(root).Input()
	_, out := Of(root).Output()
	return in || out
}

// addTo adds an attribute's figure to the sum with its key, which is an agent's.
func addTo(sums map[string]*commonpb.KeyValue, kv *commonpb.KeyValue) {
	key := otelmap.RunKey(kv.Key)
	added, before := attrs{kv}, attrs{sums[key]}
	if n, ok := added.count(kv.Key); ok {
		sum, _ := before.count(key)
		sums[key] = otlp.Int(key, sum+n)
	} else if f, ok := added.amount(kv.Key); ok {
		sum, _ := before.amount(key)
		sums[key] = otlp.Float(key, sum+f)
	}
}

// Events are the events of all roots by time. The exception of a run before the last is no
// failure of the session and becomes an otelmap.EventTurnFailed.
func (r Runs) Events() []*tracepb.Span_Event {
	var out []*tracepb.Span_Event
	for i, run := range r {
		root, at, last := run[0], run[0].EndTimeUnixNano, i == len(r)-1
		for _, e := range root.Events {
			if e.GetName() == otelmap.EventException && !last {
				at = e.TimeUnixNano
				continue
			}
			out = append(out, e)
		}
		if last || !Of(root).Failed() {
			continue
		}
		f := Of(root).Failure()
		out = append(out, &tracepb.Span_Event{
			Name: otelmap.EventTurnFailed, TimeUnixNano: at,
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyExceptionType, cmp.Or(f.Kind, otelmap.ErrorRun)),
				otlp.String(otelmap.KeyExceptionMessage, f.Whole),
			},
		})
	}
	slices.SortStableFunc(out, func(x, y *tracepb.Span_Event) int { return cmp.Compare(x.GetTimeUnixNano(), y.GetTimeUnixNano()) })
	return out
}

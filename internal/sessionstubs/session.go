// Package sessionstubs joins sessions of SDK spans until delivery works on OTLP
// messages; infinium.Session then takes its place.
package sessionstubs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap"
)

// Session joins the runs of one session into one, which Traces maps to one
// trace: "Claude Code session (3 turns)". Each run is its root and then its
// other spans, as otelmap gives them; the runs are in the order in which they
// began, and no two spans have one id. A run given twice counts once, in its
// last version; one without spans does not count.
//
// The joined root has the trace and span id and the parent of the first run's
// root, so that the same runs always give the same ids, and everything of the
// other runs hangs below it. It lasts from the first start to the last end. How
// the session went is what the last run says: status, outcome and whatever is
// not named here. The task is that of the first run that has one, result, model,
// working directory and permission mode are those of the last that has one,
// usage, cost and counts are summed, and the events of all roots are there with
// their times. otelmap.KeyTurns counts the runs.
//
// Session is pure and does not change its argument; one run comes back as it is,
// with the count of one.
func Session(runs []tracetest.SpanStubs) tracetest.SpanStubs {
	runs = distinct(runs)
	if len(runs) == 0 {
		return nil
	}
	first, last := runs[0][0], runs[len(runs)-1][0]
	root := last
	root.Attributes = append(without(last.Attributes, otelmap.KeyTurns), otelmap.KeyTurns.Int64(turns(runs)))
	if len(runs) == 1 {
		return append(tracetest.SpanStubs{root}, runs[0][1:]...)
	}
	root.Name, root.SpanContext, root.Parent = first.Name, first.SpanContext, first.Parent
	root.StartTime, root.EndTime = bounds(runs)
	root.Attributes = joinAttributes(runs)
	root.Events = joinEvents(runs)
	root.Links = joinLinks(runs)
	return append(tracetest.SpanStubs{root}, below(first.SpanContext, runs)...)
}

// distinct leaves out empty runs and, of those with one root, all but the last,
// which takes the place of the first.
func distinct(runs []tracetest.SpanStubs) []tracetest.SpanStubs {
	out := make([]tracetest.SpanStubs, 0, len(runs))
	at := make(map[spanKey]int, len(runs))
	for _, r := range runs {
		if len(r) == 0 {
			continue
		}
		key := spanKey{r[0].SpanContext.TraceID(), r[0].SpanContext.SpanID()}
		if i, ok := at[key]; ok {
			out[i] = r
			continue
		}
		at[key] = len(out)
		out = append(out, r)
	}
	return out
}

// rootsOf is the set of the runs' roots.
func rootsOf(runs []tracetest.SpanStubs) map[spanKey]bool {
	roots := make(map[spanKey]bool, len(runs))
	for _, r := range runs {
		roots[spanKey{r[0].SpanContext.TraceID(), r[0].SpanContext.SpanID()}] = true
	}
	return roots
}

// turns counts the runs; one that was joined before brings its own count.
func turns(runs []tracetest.SpanStubs) int64 {
	var n int64
	for _, r := range runs {
		n += turnsOf(r[0].Attributes)
	}
	return n
}

func turnsOf(root []attribute.KeyValue) int64 {
	if n := count(root, otelmap.KeyTurns); n != nil && *n > 1 {
		return *n
	}
	return 1
}

// bounds are the first start and the last end.
func bounds(runs []tracetest.SpanStubs) (start, end time.Time) {
	for _, r := range runs {
		if s := r[0].StartTime; start.IsZero() || !s.IsZero() && s.Before(start) {
			start = s
		}
		if e := r[0].EndTime; e.After(end) {
			end = e
		}
	}
	return start, end
}

// below are the spans of all runs but their roots, moved into the trace of the
// joined root, in the order of their start.
func below(root trace.SpanContext, runs []tracetest.SpanStubs) tracetest.SpanStubs {
	roots := rootsOf(runs)
	var out tracetest.SpanStubs
	for _, r := range runs {
		for _, s := range r[1:] {
			if roots[spanKey{s.SpanContext.TraceID(), s.Parent.SpanID()}] {
				s.Parent = root
			}
			if s.Parent.IsValid() {
				s.Parent = s.Parent.WithTraceID(root.TraceID())
			}
			s.SpanContext = s.SpanContext.WithTraceID(root.TraceID())
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(x, y tracetest.SpanStub) int { return x.StartTime.Compare(y.StartTime) })
	return out
}

// joinEvents are the events of all roots by time. The exception of a run before
// the last is no failure of the joined one and becomes an event of its own kind.
func joinEvents(runs []tracetest.SpanStubs) []sdktrace.Event {
	var out []sdktrace.Event
	for i, r := range runs {
		if i == len(runs)-1 {
			out = append(out, r[0].Events...)
			break
		}
		failed := r[0].EndTime
		for _, ev := range r[0].Events {
			if ev.Name == otelmap.EventException {
				failed = ev.Time
				continue
			}
			out = append(out, ev)
		}
		if r[0].Status.Code != codes.Error {
			continue
		}
		kind, message := cause(r[0].Attributes, r[0].Events, r[0].Status)
		out = append(out, sdktrace.Event{Name: otelmap.EventTurnFailed, Time: failed, Attributes: []attribute.KeyValue{
			otelmap.KeyExceptionType.String(cmp.Or(kind, otelmap.ErrorRun)),
			otelmap.KeyExceptionMessage.String(message),
		}})
	}
	slices.SortStableFunc(out, func(x, y sdktrace.Event) int { return x.Time.Compare(y.Time) })
	return out
}

// joinLinks are the links of all roots that lead out of the joined run.
func joinLinks(runs []tracetest.SpanStubs) []sdktrace.Link {
	inside := rootsOf(runs)
	var out []sdktrace.Link
	for _, r := range runs {
		for _, l := range r[0].Links {
			if !inside[spanKey{l.SpanContext.TraceID(), l.SpanContext.SpanID()}] {
				out = append(out, l)
			}
		}
	}
	return out
}

// The attributes of a root by how they are joined; those of no list here are the
// last run's.
var (
	ofTheFirst = [...]attribute.Key{otelmap.KeyTask, otelmap.KeySessionSource}
	ofTheModel = [...]attribute.Key{
		otelmap.KeyRequestModel, otelmap.KeyResponseModel, otelmap.KeyProvider, otelmap.KeyHostProvider,
	}
	ofTheLast = [...]attribute.Key{
		otelmap.KeyOperation, otelmap.KeyAgentName, otelmap.KeyConversationID, otelmap.KeyHost, otelmap.KeyHostVersion,
		otelmap.KeyHostApp, otelmap.KeyDialect, otelmap.KeyUser, otelmap.KeyWorkingDirectory, otelmap.KeyPermissionMode,
		otelmap.KeyResult,
	}
)

func joinAttributes(runs []tracetest.SpanStubs) []attribute.KeyValue {
	out := without(runs[len(runs)-1][0].Attributes, slices.Concat(ofTheFirst[:], ofTheModel[:], ofTheLast[:],
		[]attribute.Key{otelmap.KeyPromptID, otelmap.KeyTurns})...)
	out = slices.DeleteFunc(out, func(kv attribute.KeyValue) bool { return summed(kv.Key) })

	backwards := slices.Clone(runs)
	slices.Reverse(backwards)
	for _, k := range ofTheFirst {
		out = append(out, firstWith(runs, k)...)
	}
	for _, k := range ofTheLast {
		out = append(out, firstWith(backwards, k)...)
	}
	out = append(out, model(backwards)...)
	out = append(out, sums(runs)...)
	return append(out, otelmap.KeyTurns.Int64(turns(runs)))
}

// without is a copy of the attributes that lacks some keys.
func without(attrs []attribute.KeyValue, keys ...attribute.Key) []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(attrs), func(kv attribute.KeyValue) bool { return slices.Contains(keys, kv.Key) })
}

// firstWith is the attribute of the first root that has it; none when none has.
func firstWith(runs []tracetest.SpanStubs, key attribute.Key) []attribute.KeyValue {
	for _, r := range runs {
		if text(r[0].Attributes, key) == "" {
			continue
		}
		if v, ok := lookup(r[0].Attributes, key); ok {
			return []attribute.KeyValue{{Key: key, Value: v}}
		}
	}
	return nil
}

// model is the model with its provider, which belong together, of the first root
// that names one, else of the first that names a provider.
func model(runs []tracetest.SpanStubs) []attribute.KeyValue {
	for _, wanted := range [][]attribute.Key{ofTheModel[:2], ofTheModel[2:]} {
		for _, r := range runs {
			has := func(k attribute.Key) bool { return text(r[0].Attributes, k) != "" }
			if !slices.ContainsFunc(wanted, has) {
				continue
			}
			return slices.DeleteFunc(slices.Clone(r[0].Attributes), func(kv attribute.KeyValue) bool {
				return !slices.Contains(ofTheModel[:], kv.Key)
			})
		}
	}
	return nil
}

// summed reports whether joined roots add the attribute up.
func summed(k attribute.Key) bool {
	switch k {
	case otelmap.KeyHostInputTokens, otelmap.KeyCost, otelmap.KeyLLMRequests, otelmap.KeyToolCalls, otelmap.KeyToolFailures,
		otelmap.KeyToolUnknown:
		return true
	}
	return strings.HasPrefix(string(k), "gen_ai.usage.")
}

// sums adds up the roots. Where some roots tell totals and another does not, its
// requests stand in for it, as they do for a run by itself; where none does,
// the joined run's requests will.
func sums(runs []tracetest.SpanStubs) []attribute.KeyValue {
	var t tally
	counted := slices.ContainsFunc(runs, func(r tracetest.SpanStubs) bool { return hasTokens(r[0].Attributes) })
	for _, r := range runs {
		a := r[0].Attributes
		t.add(a)
		stand, number := counted && !hasTokens(a), count(a, otelmap.KeyLLMRequests) == nil
		if !stand && !number {
			continue
		}
		for _, s := range r[1:] {
			if operation(s.Snapshot()) != otelmap.OpChat {
				continue
			}
			if stand {
				t.add(s.Attributes)
			}
			if number {
				t.count(otelmap.KeyLLMRequests, 1)
			}
		}
	}
	return t.attributes()
}

// hasTokens reports whether a root tells the sums of its run's requests.
func hasTokens(root []attribute.KeyValue) bool {
	host := cmp.Or(text(root, otelmap.KeyHost), text(root, otelmap.KeyAgentName))
	return promptTokens(host, root) != nil || count(root, otelmap.KeyOutputTokens) != nil
}

// tally sums attributes by key.
type tally struct {
	keys    []attribute.Key // by first appearance
	counts  map[attribute.Key]int64
	amounts map[attribute.Key]float64
	// plain is the input of what does not tell how the host counts it.
	plain int64
}

func (t *tally) add(attrs []attribute.KeyValue) {
	for _, kv := range attrs {
		if !summed(kv.Key) {
			continue
		}
		if n := count(attrs, kv.Key); n != nil {
			t.count(kv.Key, *n)
		} else if f := amount(attrs, kv.Key); f != nil {
			t.note(kv.Key)
			t.amounts[kv.Key] += *f
		}
	}
	if n := count(attrs, otelmap.KeyInputTokens); n != nil && count(attrs, otelmap.KeyHostInputTokens) == nil {
		t.plain += *n
	}
}

func (t *tally) count(k attribute.Key, n int64) {
	t.note(k)
	t.counts[k] += n
}

func (t *tally) note(k attribute.Key) {
	if t.counts == nil {
		t.counts, t.amounts = make(map[attribute.Key]int64), make(map[attribute.Key]float64)
	}
	if !slices.Contains(t.keys, k) {
		t.keys = append(t.keys, k)
	}
}

func (t *tally) attributes() []attribute.KeyValue {
	if slices.Contains(t.keys, otelmap.KeyHostInputTokens) {
		// The host's count goes before the standard one, so it has to be whole.
		t.count(otelmap.KeyHostInputTokens, t.plain)
	}
	var out []attribute.KeyValue
	for _, k := range t.keys {
		if f, ok := t.amounts[k]; ok {
			out = append(out, k.Float64(f))
			continue
		}
		out = append(out, k.Int64(t.counts[k]))
	}
	return out
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// operation is the span's gen_ai.operation.name, else what its name says.
func operation(s sdktrace.ReadOnlySpan) string {
	if op := text(s.Attributes(), otelmap.KeyOperation); op != "" {
		return op
	}
	word, _, _ := strings.Cut(s.Name(), " ")
	return word
}

// lookup returns the value of a key; spans have few attributes.
func lookup(attrs []attribute.KeyValue, key attribute.Key) (attribute.Value, bool) {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value, true
		}
	}
	return attribute.Value{}, false
}

func text(attrs []attribute.KeyValue, key attribute.Key) string {
	v, ok := lookup(attrs, key)
	if !ok {
		return ""
	}
	if v.Type() == attribute.STRING {
		return clean(v.AsString())
	}
	return clean(v.String())
}

// amount reads a finite amount that is not negative, nil when there is none.
func amount(attrs []attribute.KeyValue, key attribute.Key) *float64 {
	v, ok := lookup(attrs, key)
	if !ok || v.Type() != attribute.FLOAT64 {
		return nil
	}
	f := v.AsFloat64()
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return nil
	}
	return &f
}

// count reads a count, nil when there is none.
func count(attrs []attribute.KeyValue, key attribute.Key) *int64 {
	v, ok := lookup(attrs, key)
	if !ok || v.Type() != attribute.INT64 || v.AsInt64() < 0 {
		return nil
	}
	n := v.AsInt64()
	return &n
}

// cause is a span's error type and the exception's message, else the status,
// else what the tool gave back.
func cause(attrs []attribute.KeyValue, events []sdktrace.Event, status sdktrace.Status) (kind, message string) {
	for _, ev := range events {
		if ev.Name == otelmap.EventException {
			message = cmp.Or(text(ev.Attributes, otelmap.KeyExceptionMessage), message)
		}
	}
	message = cmp.Or(message, clean(status.Description), text(attrs, otelmap.KeyToolResult))
	return text(attrs, otelmap.KeyErrorType), message
}

func promptTokens(host string, a []attribute.KeyValue) *int64 {
	if n := count(a, otelmap.KeyHostInputTokens); n != nil && host != "claude-code" {
		return n
	}
	return count(a, otelmap.KeyInputTokens)
}

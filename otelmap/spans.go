package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// mapping is the state of turning one run into spans.
type mapping struct {
	*Builder
	run   *Run
	tr    *hook.Transcript
	root  trace.SpanContext
	res   *resource.Resource
	scope instrumentation.Scope
	// agents are the span contexts of the run's agents; "" is the lead.
	agents map[string]trace.SpanContext
	calls  []hook.LLMCall
	spans  tracetest.SpanStubs
	// start and end bound the run, ending is what the host's files say of its
	// end, nil where the hooks said it or nobody did.
	start, end time.Time
	ending     *hook.TurnEnd
	// laterPart reports that an earlier part of the run's turn is a run of its
	// own.
	laterPart bool
	results   map[resultKey][]*hook.ToolResult
}

// resultKey finds a tool result in the transcript.
type resultKey struct {
	agent string
	toolKey
}

// resultKeys are the keys a hook event may know the result by.
func (m *mapping) resultKeys(r *hook.ToolResult) [2]resultKey {
	return [2]resultKey{
		{agent: r.Agent, toolKey: toolKey{id: r.ID}},
		{agent: r.Agent, toolKey: toolKey{name: r.Name, input: maphash.String(m.seed, r.Input)}},
	}
}

// Spans returns the spans of a run that Runs gave, the root first, then in the
// order of their start. tr may be nil.
func (b *Builder) Spans(r *Run, tr *hook.Transcript) tracetest.SpanStubs {
	if tr == nil {
		tr = &hook.Transcript{}
	}
	m := &mapping{
		Builder: b, run: r, tr: tr, root: r.rootContext(&b.opts),
		scope: instrumentation.Scope{
			Name: ScopeName, Version: b.opts.ScopeVersion, SchemaURL: SchemaURL,
		},
		agents: make(map[string]trace.SpanContext),
	}
	m.start, m.end = r.bounds()
	m.ending = r.ending(tr)
	if m.ending != nil && r.terminal == nil {
		m.end = latest(m.end, m.ending.At)
	}
	if r.terminal == nil {
		m.end = latest(m.end, m.hooksEnd())
	}
	m.agents[""] = m.root
	m.res = m.resource()
	m.laterPart = r.turn != "" && r.ID != turnRunID(b.host, b.session, r.turn)
	m.calls = m.window()
	if m.laterPart && len(m.calls) > 0 && m.calls[0].Start.Before(m.start) {
		m.start = latest(m.calls[0].Start, r.prev.PrevEnd)
	}

	lead := m.pair(r.items, "")
	m.subagents(lead)
	m.chats()
	m.cover()
	root := m.rootSpan()

	slices.SortStableFunc(m.spans, func(x, y tracetest.SpanStub) int {
		if c := x.StartTime.Compare(y.StartTime); c != 0 {
			return c
		}
		if c := y.EndTime.Compare(x.EndTime); c != 0 {
			return c
		}
		xs, ys := x.SpanContext.SpanID(), y.SpanContext.SpanID()
		return slices.Compare(xs[:], ys[:])
	})
	return append(tracetest.SpanStubs{root}, m.spans...)
}

// cover lets no span begin after its children. Of a call that took longer than
// the idle timeout only the end is in the run that it opens: it began before.
func (m *mapping) cover() {
	at := make(map[trace.SpanID]*tracetest.SpanStub, len(m.spans))
	for i := range m.spans {
		at[m.spans[i].SpanContext.SpanID()] = &m.spans[i]
	}
	for i := range m.spans {
		s := &m.spans[i]
		if s.StartTime.Before(m.start) {
			m.start = s.StartTime
		}
		for up := at[s.Parent.SpanID()]; up != nil && s.StartTime.Before(up.StartTime); up = at[s.Parent.SpanID()] {
			up.StartTime = s.StartTime
			s = up
		}
	}
}

// parent is the context the run was started in, if any: of its events, the
// first says so first, even where it is a subagent's.
func (r *Run) parent(o *Options) (trace.SpanContext, bool) {
	if r.context.IsValid() {
		return r.context, true
	}
	return parseTraceparent(o.Traceparent)
}

func (r *Run) rootContext(o *Options) trace.SpanContext {
	tid := trace.TraceID(r.ID)
	if p, ok := r.parent(o); ok {
		tid = p.TraceID()
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: tid, SpanID: r.ID.spanID("root", ""), TraceFlags: trace.FlagsSampled,
	})
}

// Root names the run's root span: the trace it belongs to, as 32 hex digits, and
// the span, as 16.
func (b *Builder) Root(r *Run) (traceID, spanID string) {
	sc := r.rootContext(&b.opts)
	return sc.TraceID().String(), sc.SpanID().String()
}

// bounds are the run's first and last moment.
func (r *Run) bounds() (start, end time.Time) {
	start = r.from.At()
	for _, a := range r.agents {
		if at := a.items[0].At(); at.Before(start) {
			start = at
		}
	}
	end = r.lastAt()
	if r.terminal != nil && r.terminal.At().After(end) {
		end = r.terminal.At()
	}
	if end.Before(start) {
		end = start
	}
	return start, end
}

// all gives the run's events, the lead's first, then each subagent's.
func (r *Run) all(yield func(*item) bool) {
	for _, it := range r.items {
		if !yield(it) {
			return
		}
	}
	if r.terminal != nil && !yield(r.terminal) {
		return
	}
	for _, a := range r.sortedAgents() {
		for _, it := range a.items {
			if !yield(it) {
				return
			}
		}
	}
}

// firstOf returns the first non-empty value of get over the run's events.
func (r *Run) firstOf(get func(*item) string) string {
	for it := range r.all {
		if v := get(it); v != "" {
			return v
		}
	}
	return ""
}

func (m *mapping) resource() *resource.Resource {
	kv := []attribute.KeyValue{KeyServiceName.String(m.opts.ServiceName)}
	if v := m.hostVersion(); v != "" {
		kv = append(kv, KeyServiceVersion.String(v))
	}
	for _, a := range m.opts.Resource {
		if a.Key != KeyServiceName && a.Key != KeyServiceVersion {
			kv = append(kv, a)
		}
	}
	return resource.NewWithAttributes(SchemaURL, kv...)
}

func (m *mapping) hostVersion() string {
	if v := m.run.firstOf(func(it *item) string { return it.HostVersion }); v != "" {
		return v
	}
	return m.tr.HostVersion
}

// model returns the provider and model the run was asked to use, as the host
// spells them.
func (m *mapping) model() (provider, model string) {
	for it := range m.run.all {
		if it.Model != "" {
			return it.Provider, it.Model
		}
	}
	for _, c := range m.calls {
		if c.Model != "" && c.Agent == "" {
			return c.Provider, c.Model
		}
	}
	if m.turns() {
		return cmp.Or(m.tr.Provider, "anthropic"), cmp.Or(m.run.model, m.tr.Model)
	}
	return m.tr.Provider, m.tr.Model
}

// add appends a span of the run, clamping an end before its start.
func (m *mapping) add(s tracetest.SpanStub) {
	if s.EndTime.Before(s.StartTime) {
		s.EndTime = s.StartTime
		s.Attributes = append(s.Attributes, KeyClamped.Bool(true))
	}
	m.finish(&s)
	m.spans = append(m.spans, s)
}

func (m *mapping) finish(s *tracetest.SpanStub) {
	s.StartTime, s.EndTime = s.StartTime.UTC(), s.EndTime.UTC()
	s.Resource, s.InstrumentationScope = m.res, m.scope
}

// child is the context of a span of the run.
func (m *mapping) child(kind, key string) trace.SpanContext {
	return m.root.WithSpanID(m.run.ID.spanID(kind, key))
}

// fail marks a span as failed: status, error.type and an exception event.
func fail(s *tracetest.SpanStub, kind, message string, at time.Time) {
	s.Status = sdktrace.Status{Code: codes.Error, Description: message}
	s.Attributes = append(s.Attributes, KeyErrorType.String(kind))
	ev := []attribute.KeyValue{KeyExceptionType.String(kind)}
	if message != "" {
		ev = append(ev, KeyExceptionMessage.String(message))
	}
	s.Events = append(s.Events, sdktrace.Event{Name: EventException, Time: at.UTC(), Attributes: ev})
}

// class is a host's word for a kind of error, if it is a word: error.type has few
// values, and a sentence in its place is what capture levels are about.
func class(s string) string {
	const longest = 100
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.', r == ':', r == '/':
		default:
			return ""
		}
	}
	if len(s) > longest {
		return ""
	}
	return s
}

// attrs collects attributes and leaves empty ones out.
type attrs []attribute.KeyValue

func (a *attrs) str(k attribute.Key, v string) {
	if v != "" {
		*a = append(*a, k.String(v))
	}
}

// facts adds what the events say besides their own members; of a fact that both
// ends of a call tell, the first.
func (a *attrs) facts(o *Options, items ...*item) {
	for _, it := range items {
		if it == nil {
			continue
		}
		for _, f := range it.Attrs {
			kv, ok := o.attr(f)
			if ok && !slices.ContainsFunc(*a, func(have attribute.KeyValue) bool { return have.Key == kv.Key }) {
				*a = append(*a, kv)
			}
		}
	}
}

func (a *attrs) num(k attribute.Key, v int64) { *a = append(*a, k.Int64(v)) }

// attr converts a fact of an event; texts are cleaned.
func (o *Options) attr(f hook.Attr) (attribute.KeyValue, bool) {
	k := attribute.Key(f.Key)
	switch v := f.Value.(type) {
	case string:
		s := o.text(v, o.MaxOutput)
		return k.String(s), s != ""
	case bool:
		return k.Bool(v), true
	case int64:
		return k.Int64(v), true
	case int:
		return k.Int(v), true
	case float64:
		return k.Float64(v), true
	}
	return attribute.KeyValue{}, false
}

// providers maps the hosts' spellings to the values of gen_ai.provider.name
// that the conventions know; others stay as they are.
var providers = map[string]string{
	"anthropic":         "anthropic",
	"claude-code":       "anthropic",
	"openai":            "openai",
	"openai-native":     "openai",
	"openai-compatible": "openai",
	"openai-codex":      "openai",
	"bedrock":           "aws.bedrock",
	"vertex":            "gcp.vertex_ai",
	"gemini":            "gcp.gemini",
	"deepseek":          "deepseek",
	"groq":              "groq",
	"mistral":           "mistral_ai",
	"xai":               "x_ai",
	"azure":             "azure.ai.openai",
}

func standardProvider(p string) string {
	if s, ok := providers[strings.ToLower(p)]; ok {
		return s
	}
	return p
}

package otelmap

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// mapping is the state of turning one run into spans.
type mapping struct {
	*Builder
	run  *Run
	tr   *hook.Transcript
	root trace.SpanContext
	// agents are the spans of the run's agents; "" is the lead.
	agents map[string]trace.SpanID
	calls  []hook.LLMCall
	// spans are the run's spans so far, without the root.
	spans []*tracepb.Span
	// toolCalls counts the run's tool calls, of which toolFailures failed and
	// toolUnknown are of unknown outcome.
	toolCalls, toolFailures, toolUnknown int64
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

// Spans returns the spans of a run that Runs returned as one message with one
// scope: the root first, then in the order of their start. tr may be nil.
func (b *Builder) Spans(r *Run, tr *hook.Transcript) *tracepb.ResourceSpans {
	if tr == nil {
		tr = &hook.Transcript{}
	}
	m := &mapping{
		Builder: b, run: r, tr: tr, root: r.rootContext(&b.opts),
		agents: make(map[string]trace.SpanID),
	}
	m.start, m.end = r.bounds()
	m.ending = r.ending(tr)
	if m.ending != nil && r.terminal == nil {
		m.end = latest(m.end, m.ending.At)
	}
	if r.terminal == nil {
		m.end = latest(m.end, m.hooksEnd())
	}
	m.agents[""] = m.root.SpanID()
	m.laterPart = r.turn != "" && r.ID != turnRunID(b.host, b.session, r.turn)
	m.calls = m.window()
	if m.laterPart && len(m.calls) > 0 && m.calls[0].Start.Before(m.start) {
		m.start = latest(m.calls[0].Start, r.prev.PrevEnd)
	}

	lead := m.pair(r.items, "")
	m.subagents(lead)
	m.chats()
	m.cover()
	slices.SortStableFunc(m.spans, func(x, y *tracepb.Span) int {
		return cmp.Or(
			cmp.Compare(x.StartTimeUnixNano, y.StartTimeUnixNano),
			cmp.Compare(y.EndTimeUnixNano, x.EndTimeUnixNano),
			bytes.Compare(x.SpanId, y.SpanId),
		)
	})
	spans := append([]*tracepb.Span{m.rootSpan()}, m.spans...)
	return &tracepb.ResourceSpans{
		Resource: m.resource(), SchemaUrl: SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: ScopeName, Version: m.opts.ScopeVersion},
			Spans: spans, SchemaUrl: SchemaURL,
		}},
	}
}

// cover lets no span begin after its children. Of a call that took longer than
// the idle timeout only the end is in the run that it opens: it began before.
func (m *mapping) cover() {
	at := make(map[string]*tracepb.Span, len(m.spans))
	for _, s := range m.spans {
		at[string(s.SpanId)] = s
	}
	for _, s := range m.spans {
		if start := otlp.Start(s); start.Before(m.start) {
			m.start = start
		}
		parent := at[string(s.ParentSpanId)]
		for parent != nil && s.StartTimeUnixNano < parent.StartTimeUnixNano {
			parent.StartTimeUnixNano = s.StartTimeUnixNano
			s, parent = parent, at[string(parent.ParentSpanId)]
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

// resource returns the attributes in the order of their keys. Of several with
// one key the last counts.
func (m *mapping) resource() *resourcepb.Resource {
	byKey := make(map[string]*commonpb.KeyValue)
	for _, kv := range m.opts.Resource {
		if kv.Key != "" && kv.Key != KeyServiceVersion {
			byKey[kv.Key] = kv
		}
	}
	byKey[KeyServiceName] = text(KeyServiceName, m.opts.ServiceName)
	if v := m.hostVersion(); v != "" {
		byKey[KeyServiceVersion] = text(KeyServiceVersion, v)
	}
	res := &resourcepb.Resource{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		res.Attributes = append(res.Attributes, byKey[key])
	}
	return res
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
		return cmp.Or(m.tr.Provider, m.opts.Agent.Provider), cmp.Or(m.run.model, m.tr.Model)
	}
	return m.tr.Provider, m.tr.Model
}

// sampled are the flags of a span: it is sampled, and it is known whether its
// parent is remote.
const sampled = uint32(trace.FlagsSampled) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)

// span returns a span of the run.
func (m *mapping) span(name string, kind tracepb.Span_SpanKind, id, parent trace.SpanID, start, end time.Time, a attrs) *tracepb.Span {
	tid := m.root.TraceID()
	s := &tracepb.Span{
		TraceId: tid[:], SpanId: id[:], Flags: sampled,
		Name: otlp.ValidText(name), Kind: kind, Attributes: a, Status: &tracepb.Status{},
		StartTimeUnixNano: otlp.UnixNano(start), EndTimeUnixNano: otlp.UnixNano(end),
	}
	if parent.IsValid() {
		s.ParentSpanId = parent[:]
	}
	return s
}

// add adds a span to the run. An end before the start is moved to the start.
func (m *mapping) add(s *tracepb.Span) {
	if s.EndTimeUnixNano < s.StartTimeUnixNano {
		s.EndTimeUnixNano = s.StartTimeUnixNano
		s.Attributes = append(s.Attributes, otlp.Bool(KeyClamped, true))
	}
	m.spans = append(m.spans, s)
}

// fail marks a span as failed: status, error.type and an exception event.
func fail(s *tracepb.Span, kind, message string, at time.Time) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: otlp.ValidText(message)}
	s.Attributes = append(s.Attributes, text(KeyErrorType, kind))
	exception := attrs{text(KeyExceptionType, kind)}
	exception.str(KeyExceptionMessage, message)
	s.Events = append(s.Events, &tracepb.Span_Event{
		Name: EventException, TimeUnixNano: otlp.UnixNano(at), Attributes: exception,
	})
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

// attrs collects attributes.
type attrs []*commonpb.KeyValue

func text(k string, v string) *commonpb.KeyValue { return otlp.String(string(k), v) }

// str adds a text unless it is empty.
func (a *attrs) str(k string, v string) {
	if v != "" {
		*a = append(*a, text(k, v))
	}
}

func (a *attrs) num(k string, v int64) { *a = append(*a, otlp.Int(string(k), v)) }

// facts adds what the events say besides their own members; of a fact that both
// ends of a call tell, the first.
func (a *attrs) facts(o *Options, items ...*item) {
	for _, it := range items {
		if it == nil {
			continue
		}
		for _, f := range it.Attrs {
			if otlp.Find(*a, f.Key) != nil {
				continue
			}
			if kv := o.attr(f); kv != nil {
				*a = append(*a, kv)
			}
		}
	}
}

// attr converts a fact of an event; texts are cleaned. It returns nil for a text
// of which nothing is left.
func (o *Options) attr(f hook.Attr) *commonpb.KeyValue {
	switch v := f.Value.(type) {
	case string:
		if s := o.text(v, o.MaxOutput); s != "" {
			return otlp.String(f.Key, s)
		}
	case bool:
		return otlp.Bool(f.Key, v)
	case int64:
		return otlp.Int(f.Key, v)
	case int:
		return otlp.Int(f.Key, int64(v))
	case float64:
		return otlp.Float(f.Key, v)
	}
	return nil
}

// providers maps the hosts' spellings to the values of gen_ai.provider.name
// that the conventions know; others stay as they are.
var providers = map[string]string{
	"anthropic":         "anthropic",
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

func (m *mapping) standardProvider(p string) string {
	name := strings.ToLower(p)
	return cmp.Or(m.opts.Agent.Providers[name], providers[name], p)
}

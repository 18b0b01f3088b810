package otelmap

import (
	"bytes"
	"cmp"
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
	// start and end bound the run.
	start, end time.Time
	// ending is the end of the run in the host's files, nil if the hooks reported
	// one or the files have none.
	ending *hook.TurnEnd
	// laterPart reports that an earlier part of the run's turn is a separate run.
	laterPart bool
	results   map[resultKey][]*hook.ToolResult
}

// Spans returns the spans of a run that Runs returned as one message with one
// scope: the root first, then in the order of their start. tr may be nil.
func (b *Builder) Spans(r *Run, tr *hook.Transcript) *tracepb.ResourceSpans {
	m := &mapping{
		Builder: b, run: r, tr: cmp.Or(tr, &hook.Transcript{}), root: r.rootContext(&b.opts),
		agents: make(map[string]trace.SpanID),
	}
	m.start, m.end = r.bounds()
	m.ending = r.ending(m.tr)
	if r.terminal == nil {
		m.end = latest(m.end, m.hooksEnd())
		if m.ending != nil {
			m.end = latest(m.end, m.ending.At)
		}
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
	return &tracepb.ResourceSpans{
		Resource: m.resource(), SchemaUrl: SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: ScopeName, Version: m.opts.ScopeVersion},
			Spans: append([]*tracepb.Span{m.rootSpan()}, m.spans...), SchemaUrl: SchemaURL,
		}},
	}
}

// cover moves the start of each span to that of its earliest child. If a call
// took longer than the idle timeout, its end opens a run and its start lies
// before that run.
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

// resource returns the attributes in the order of their keys. Of several with
// one key the last counts.
func (m *mapping) resource() *resourcepb.Resource {
	byKey := make(map[string]*commonpb.KeyValue)
	for _, kv := range m.opts.Resource {
		if kv.Key != "" && kv.Key != KeyServiceVersion {
			byKey[kv.Key] = kv
		}
	}
	for _, kv := range texts(KeyServiceName, m.opts.ServiceName, KeyServiceVersion, m.hostVersion()) {
		byKey[kv.Key] = kv
	}
	res := &resourcepb.Resource{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		res.Attributes = append(res.Attributes, byKey[key])
	}
	return res
}

func (m *mapping) hostVersion() string {
	return cmp.Or(m.run.firstOf(func(it *item) string { return it.HostVersion }), m.tr.HostVersion)
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

// span returns a span of the run. Its name is the operation and its object.
func (m *mapping) span(op, object string, id, parent trace.SpanID, start, end time.Time, a attrs) *tracepb.Span {
	kind := tracepb.Span_SPAN_KIND_INTERNAL
	if op == OpChat {
		kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	tid := m.root.TraceID()
	s := &tracepb.Span{
		TraceId: tid[:], SpanId: id[:], Flags: sampled,
		Name: otlp.ValidText(op + " " + object), Kind: kind, Attributes: a, Status: &tracepb.Status{},
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

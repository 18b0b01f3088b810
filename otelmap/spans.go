package otelmap

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"math"
	"net/url"
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
	run *Run
	tr  *hook.Transcript
	// lacking reports that there is no transcript.
	lacking   bool
	folders   []string // of the workspace
	files     *files
	fromFiles *runFiles
	root      trace.SpanContext
	// agents are the spans of the run's agents; "" is the lead.
	agents map[string]trace.SpanID
	// agentNames are the kinds of the subagents, callsBy the calls by the agent that made them.
	agentNames map[string]string
	callsBy    map[string][]*call
	calls      []hook.Request
	// agentCalls are the places of the calls of each subagent.
	agentCalls map[string][]int
	// provider and model are what the run was asked to use.
	provider, model string
	// planned are the run's spans so far, without the root.
	planned []*planned
	// toolCalls counts the run's tool calls, of which toolFailures failed and
	// toolUnknown are of unknown outcome.
	toolCalls, toolFailures, toolUnknown int64
	// start and end bound the run. compacted is when it was first compacted, if it was.
	start, end, compacted time.Time
	// open reports that the run has not ended.
	open bool
	// ending is the end of the run in the host's files, nil if the hooks reported
	// one or the files have none.
	ending  *hook.TurnEnd
	results results
	// unnamed are the subagents that no hook names.
	unnamed []*agent
	// filesBuilder cleans what comes from the files.
	filesBuilder *Builder
	// begun are the starts of the calls of subagents, never if an id was used again.
	begun map[callKey]instant
}

// planned is a span without its message: of a long run not all messages are in
// memory at once.
type planned struct {
	id, parent trace.SpanID
	start, end uint64
	// clamped reports that the end was before the start.
	clamped bool
	// build returns the span without its ids and times.
	build func() *tracepb.Span
}

// plan adds a span to the run. An end before the start is moved to the start.
func (m *mapping) plan(id, parent trace.SpanID, start, end time.Time, build func() *tracepb.Span) {
	p := &planned{id: id, parent: parent, start: otlp.UnixNano(start), end: otlp.UnixNano(end), build: build}
	if p.clamped = p.end < p.start; p.clamped {
		p.end = p.start
	}
	m.planned = append(m.planned, p)
}

// span returns the span's message. Its ids are copies: a slice of the plan's would keep the
// whole mapping and the transcript in memory as long as the span.
func (m *mapping) span(p *planned) *tracepb.Span {
	s := p.build()
	ids := &struct {
		trace      trace.TraceID
		id, parent trace.SpanID
	}{m.root.TraceID(), p.id, p.parent}
	s.TraceId, s.SpanId, s.Flags = ids.trace[:], ids.id[:], s.Flags|sampled
	s.StartTimeUnixNano, s.EndTimeUnixNano = p.start, p.end
	if p.parent.IsValid() {
		s.ParentSpanId = ids.parent[:]
	}
	if p.clamped {
		s.Attributes = append(s.Attributes, otlp.Bool(KeyClamped, true))
	}
	return s
}

// Spans returns the spans of a run that Runs returned as one message with one
// scope: the root first, then in the order of their start. tr may be nil.
func (b *Builder) Spans(r *Run, tr *hook.Transcript) *tracepb.ResourceSpans {
	var all *tracepb.ResourceSpans
	for all = range b.Batches(r, tr)(math.MaxInt) {
	}
	return all
}

// Batches returns what Spans does in messages of size spans, the last one may have
// fewer. Each message is made when it is asked for. Several goroutines may ask, also
// while others call Batches and Spans.
func (b *Builder) Batches(r *Run, tr *hook.Transcript) func(size int) iter.Seq[*tracepb.ResourceSpans] {
	return b.mapping(r, tr, time.Time{}).batches()
}

// OpenSpans is Spans for a run that has not ended, to look at and not to send. The run,
// and the calls and agents of which only the start is known, are running and end at now.
func (b *Builder) OpenSpans(r *Run, tr *hook.Transcript, now time.Time) *tracepb.ResourceSpans {
	var all *tracepb.ResourceSpans
	for all = range b.mapping(r, tr, now).batches()(math.MaxInt) {
	}
	return all
}

func (m *mapping) batches() func(size int) iter.Seq[*tracepb.ResourceSpans] {
	all := slices.Insert(m.planned, 0, m.rootSpan())
	resource := m.resource()
	scope := &commonpb.InstrumentationScope{Name: ScopeName, Version: m.opts.ScopeVersion}
	return func(size int) iter.Seq[*tracepb.ResourceSpans] {
		return func(yield func(*tracepb.ResourceSpans) bool) {
			same := make(repeated)
			for batch := range slices.Chunk(all, size) {
				spans := make([]*tracepb.Span, len(batch))
				for i, p := range batch {
					spans[i] = m.span(p)
					same.share(spans[i].Attributes)
				}
				if !yield(&tracepb.ResourceSpans{
					Resource: resource, SchemaUrl: SchemaURL,
					ScopeSpans: []*tracepb.ScopeSpans{{Scope: scope, Spans: spans, SchemaUrl: SchemaURL}},
				}) {
					return
				}
			}
		}
	}
}

// repeated are the newest attributes of a run's spans by their keys.
type repeated map[string]*commonpb.KeyValue

// share replaces attributes that have the text, or the flag, of the newest one with the key by
// that: a long run has few models, tools and folders, and an attribute takes much memory.
// The attributes of a span that is given away never change.
func (r repeated) share(attrs []*commonpb.KeyValue) {
	for i, kv := range attrs {
		newest := r[kv.Key]
		text, isText := kv.GetValue().GetValue().(*commonpb.AnyValue_StringValue)
		_, isFlag := kv.GetValue().GetValue().(*commonpb.AnyValue_BoolValue)
		switch {
		case !isText && !isFlag:
		case newest != nil && isText && newest.GetValue().GetStringValue() == text.StringValue, newest != nil && isFlag && newest.GetValue().GetBoolValue() == kv.GetValue().GetBoolValue():
			attrs[i] = newest
		default:
			r[kv.Key] = kv
		}
	}
}

// mapping plans the spans of a run, which is still open if now is set.
func (b *Builder) mapping(r *Run, tr *hook.Transcript, now time.Time) *mapping {
	m := &mapping{
		Builder: b, run: r, lacking: tr == nil, tr: cmp.Or(tr, &b.unread), root: r.rootContext(&b.opts),
		agents: make(map[string]trace.SpanID), begun: make(map[callKey]instant), open: !now.IsZero(),
		agentCalls: make(map[string][]int), fromFiles: &runFiles{}, agentNames: make(map[string]string), callsBy: make(map[string][]*call),
	}
	m.files, m.folders = b.filesOf(m.tr), m.workspace()
	if s := m.files.shares[r.ID]; s != nil {
		m.fromFiles = s
	}
	m.start, m.end = r.bounds()
	m.ending = r.ending(m.files)
	if r.terminal == nil {
		m.end = latest(m.end, m.hooksEnd())
		if m.ending != nil {
			m.end = latest(m.end, m.ending.At)
		}
	}
	m.end = latest(m.end, now)
	m.agents[""] = m.root.SpanID()
	m.calls = make([]hook.Request, len(m.fromFiles.calls))
	for i, c := range m.fromFiles.calls {
		m.calls[i] = *c
	}
	m.joinRequests()
	for i := range m.calls {
		// A request that was cut off is the last that is known of its run.
		if c := &m.calls[i]; r.terminal == nil && c.Agent == "" {
			m.end = latest(m.end, latest(c.Start, c.End))
		}
		if id := m.calls[i].Agent; id != "" {
			m.agentCalls[id] = append(m.agentCalls[id], i)
		}
	}
	m.provider, m.model = m.namedProvider()
	if len(m.calls) > 0 && r.turn != "" {
		// Another part's end bounds the start of a later part. Else the hook of the prompt was slow.
		if c := &m.calls[0]; !c.Start.IsZero() && c.Start.Before(m.start) && (r.later || !c.End.IsZero() && c.End.Before(m.start)) {
			m.start = latest(c.Start, r.resumed())
		}
	}

	m.findUnnamed()
	m.readResults()
	lead := m.plannedCalls(r.items, "")
	m.subagents(lead)
	m.chats()
	m.cover()
	slices.SortStableFunc(m.planned, func(x, y *planned) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end), bytes.Compare(x.id[:], y.id[:]))
	})
	return m
}

// cover moves the start of each span to that of its earliest child. If a call
// took longer than the idle timeout, its end opens a run and its start lies
// before that run.
func (m *mapping) cover() {
	at := make(map[trace.SpanID]*planned, len(m.planned))
	for _, p := range m.planned {
		at[p.id] = p
	}
	for _, p := range m.planned {
		if start := otlp.Time(p.start); start.Before(m.start) {
			m.start = start
		}
		parent := at[p.parent]
		for parent != nil && p.start < parent.start {
			parent.start = p.start
			p, parent = parent, at[parent.parent]
		}
	}
}

// resource returns the attributes in the order of their keys. Of several with
// one key the last counts.
func (m *mapping) resource() *resourcepb.Resource {
	byKey := make(map[string]*commonpb.KeyValue)
	named, _ := url.ParseQuery(m.run.firstOf(func(it *item) string { return it.Resource }))
	if remote := named.Get(KeyRepositoryURL); remote != "" {
		name, address := hook.RepositoryAt(remote)
		named.Set(KeyRepositoryName, name)
		named.Set(KeyRepositoryURL, address)
	}
	for key := range named {
		if value := named.Get(key); value != "" {
			byKey[key] = otlp.String(key, value)
		}
	}
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

// namedProvider returns the provider and model the run was asked to use, as the host
// spells them. Events may name the model alone.
func (m *mapping) namedProvider() (provider, model string) {
	provider, model = m.namedModel()
	if provider != "" {
		return provider, model
	}
	for _, c := range m.calls {
		if c.Provider != "" && c.Agent == "" {
			return c.Provider, model
		}
	}
	return m.tr.Provider, model
}

func (m *mapping) namedModel() (provider, model string) {
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
		return m.tr.Provider, cmp.Or(m.run.model, m.tr.Model)
	}
	return m.tr.Provider, m.tr.Model
}

// sampled are the flags of a span: it is sampled, and it is known whether its
// parent is remote.
const sampled = uint32(trace.FlagsSampled) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)

// newSpan returns a span without its ids and times. Its name is the operation and
// its object.
func newSpan(op, object string, a attrs) *tracepb.Span {
	kind := tracepb.Span_SPAN_KIND_INTERNAL
	if op == OpChat {
		kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	return &tracepb.Span{Name: otlp.ValidText(strings.TrimSuffix(op+" "+object, " ")), Kind: kind, Attributes: a, Status: &tracepb.Status{}}
}

// providers maps the hosts' spellings to the values of gen_ai.provider.name
// that the conventions know; others stay as they are.
var providers = map[string]string{
	"amazon-bedrock":          "aws.bedrock",
	"anthropic":               "anthropic",
	"azure":                   "azure.ai.openai",
	"azure-ai":                "azure.ai.inference",
	"azure-openai":            "azure.ai.openai",
	"bedrock":                 "aws.bedrock",
	"claude-code":             "anthropic",
	"cohere":                  "cohere",
	"deepseek":                "deepseek",
	"gemini":                  "gcp.gemini",
	"google":                  "gcp.gemini",
	"google-vertex":           "gcp.vertex_ai",
	"google-vertex-anthropic": "gcp.vertex_ai",
	"groq":                    "groq",
	"mistral":                 "mistral_ai",
	"moonshot":                "moonshot_ai",
	"moonshotai":              "moonshot_ai",
	"openai":                  "openai",
	"openai-codex":            "openai",
	"openai-compatible":       "openai",
	"openai-native":           "openai",
	"perplexity":              "perplexity",
	"vertex":                  "gcp.vertex_ai",
	"vertex-ai":               "gcp.vertex_ai",
	"watsonx":                 "ibm.watsonx.ai",
	"xai":                     "x_ai",
}

func (m *mapping) standardProvider(p string) string {
	return cmp.Or(providers[strings.ToLower(p)], p, m.opts.Agent.Provider)
}

package otelmap

import (
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

// span returns the span's message. Its ids are copies: a slice of the plan's would keep the
// whole mapping and the transcript in memory as long as the span.
func (j *joined) span(p *planned) *tracepb.Span {
	s := j.message(p)
	ids := &struct {
		trace      trace.TraceID
		id, parent trace.SpanID
	}{j.root.TraceID(), p.id, p.parent}
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
	return b.join(r, tr, time.Time{}).whole()
}

// Batches returns what Spans does in messages of size spans, the last one may have
// fewer. Each message is made when it is asked for. Several goroutines may ask, also
// while others call Batches and Spans.
func (b *Builder) Batches(r *Run, tr *hook.Transcript) func(size int) iter.Seq[*tracepb.ResourceSpans] {
	return b.join(r, tr, time.Time{}).spans()
}

// OpenSpans is Spans for a run that has not ended, to look at and not to send. The run,
// and the calls and agents of which only the start is known, are running and end at now.
func (b *Builder) OpenSpans(r *Run, tr *hook.Transcript, now time.Time) *tracepb.ResourceSpans {
	return b.join(r, tr, now).whole()
}

func (j *joined) whole() (all *tracepb.ResourceSpans) {
	for all = range j.spans()(math.MaxInt) {
	}
	return all
}

// spans gives the messages of the run's spans. It writes what is decided.
func (j *joined) spans() func(size int) iter.Seq[*tracepb.ResourceSpans] {
	resource := j.resource()
	scope := &commonpb.InstrumentationScope{Name: ScopeName, Version: j.opts.ScopeVersion}
	return func(size int) iter.Seq[*tracepb.ResourceSpans] {
		return func(yield func(*tracepb.ResourceSpans) bool) {
			same := make(repeated)
			for batch := range slices.Chunk(j.planned, size) {
				spans := make([]*tracepb.Span, len(batch))
				for i := range batch {
					spans[i] = j.span(&batch[i])
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

// resource returns the attributes in the order of their keys. Of several with
// one key the last counts.
func (j *joined) resource() *resourcepb.Resource {
	byKey := make(map[string]*commonpb.KeyValue)
	named, _ := url.ParseQuery(j.run.firstOf(func(it *item) string { return it.Resource }))
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
	for _, kv := range j.opts.Resource {
		if kv.Key != "" && kv.Key != KeyServiceVersion {
			byKey[kv.Key] = kv
		}
	}
	for _, kv := range texts(KeyServiceName, j.opts.ServiceName, KeyServiceVersion, j.hostVersion()) {
		byKey[kv.Key] = kv
	}
	res := &resourcepb.Resource{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		res.Attributes = append(res.Attributes, byKey[key])
	}
	return res
}

func (j *joined) hostVersion() string {
	return cmp.Or(j.run.firstOf(func(it *item) string { return it.HostVersion }), j.tr.HostVersion)
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

func (j *joined) standardProvider(p string) string {
	return cmp.Or(providers[strings.ToLower(p)], p, j.opts.Agent.Provider)
}

package store

import (
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hookspan/hookspan/otelmap"
)

// Summary is what a list shows of a trace. Empty and zero members mean that
// the spans do not say. Its JSON is stable: members may be added, never
// renamed or given another meaning.
type Summary struct {
	// TraceID is 32 hex digits.
	TraceID string `json:"traceId"`
	// Host is the agent program, such as "cline".
	Host string `json:"host,omitempty"`
	// Session is the host's identity of the conversation.
	Session string `json:"session,omitempty"`
	// Title is the first prompt on one line, at most maxTitle runes, else the
	// root span's name.
	Title string `json:"title,omitempty"`
	// Model is the language model, as the host spells it.
	Model string `json:"model,omitempty"`
	// Directory is the working directory.
	Directory string `json:"workingDirectory,omitempty"`
	// Outcome is how the last run ended, one of otelmap's outcomes. Empty while
	// no root span has arrived.
	Outcome string `json:"outcome,omitempty"`
	// Runs counts the runs; several share a trace only where the trace's id
	// came from outside.
	Runs int `json:"runs"`
	// Started and Ended are the first start and the last end of any span.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Spans counts the stored spans.
	Spans int `json:"spans"`
	// Tools counts the tool calls, ToolFailures those of them that failed, were
	// denied or never finished. ToolsUnknown counts those of unknown outcome, which
	// are neither successes nor failures; only root spans have it.
	Tools        int `json:"tools"`
	ToolFailures int `json:"toolFailures"`
	ToolsUnknown int `json:"toolsUnknown,omitempty"`
	// Usage is nil when nobody told it.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is a sum over the requests to the model.
type Usage struct {
	// Input includes the cache reads and writes.
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadTokens"`
	CacheWrite int64 `json:"cacheWriteTokens"`
	// CostUSD is nil when the host gives no price.
	CostUSD *float64 `json:"costUsd,omitempty"`
}

// Duration is the time from Started to Ended, never negative.
func (s *Summary) Duration() time.Duration {
	if s.Started.IsZero() {
		return 0
	}
	return max(0, s.Ended.Sub(s.Started))
}

// plainSummary has Summary's members without its methods.
type plainSummary Summary

// MarshalJSON adds "durationMs", the duration in whole milliseconds.
func (s Summary) MarshalJSON() ([]byte, error) {
	out, err := encode(struct {
		plainSummary
		DurationMS int64 `json:"durationMs"`
	}{plainSummary(s), s.Duration().Milliseconds()})
	return []byte(out), err
}

// maxTitle bounds a title, in runes.
const maxTitle = 200

// role is what a span is, as the spans table knows it; the numbers are stored.
type role int

const (
	roleOther role = iota
	// roleRoot is a run's own span.
	roleRoot
	roleTool
	roleChat
	// roleAgent is a subagent.
	roleAgent
)

// facts are the columns that stand beside a span's body.
type facts struct {
	role   role
	failed bool
	model  string
	usage  *Usage
}

// attrs finds attributes by key.
type attrs []attribute.KeyValue

func (a attrs) find(k attribute.Key) (attribute.Value, bool) {
	for _, kv := range a {
		if kv.Key == k {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}

// str gives a string attribute; a value of another type counts as absent.
func (a attrs) str(k attribute.Key) string {
	if v, ok := a.find(k); ok && v.Type() == attribute.STRING {
		return v.AsString()
	}
	return ""
}

// num gives a whole number and whether there is one.
func (a attrs) num(k attribute.Key) (int64, bool) {
	if v, ok := a.find(k); ok && v.Type() == attribute.INT64 {
		return v.AsInt64(), true
	}
	return 0, false
}

// usage gives the token counts, nil when there are none.
func (a attrs) usage() *Usage {
	in, okIn := a.num(otelmap.KeyInputTokens)
	out, okOut := a.num(otelmap.KeyOutputTokens)
	u := Usage{Input: in, Output: out}
	u.CacheRead, _ = a.num(otelmap.KeyCacheReadTokens)
	u.CacheWrite, _ = a.num(otelmap.KeyCacheWriteTokens)
	if v, ok := a.find(otelmap.KeyCost); ok && v.Type() == attribute.FLOAT64 {
		u.CostUSD = new(v.AsFloat64())
	}
	if !okIn && !okOut && u.CostUSD == nil {
		return nil
	}
	return &u
}

// add sums two usages, either of which may be nil.
func (u *Usage) add(v *Usage) *Usage {
	if v == nil {
		return u
	}
	sum := *v
	if v.CostUSD != nil {
		sum.CostUSD = new(*v.CostUSD)
	}
	if u == nil {
		return &sum
	}
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	switch {
	case u.CostUSD == nil:
	case sum.CostUSD == nil:
		sum.CostUSD = new(*u.CostUSD)
	default:
		*sum.CostUSD += *u.CostUSD
	}
	return &sum
}

func roleOf(a attrs) role {
	switch a.str(otelmap.KeyOperation) {
	case otelmap.OpExecuteTool:
		return roleTool
	case otelmap.OpChat:
		return roleChat
	case otelmap.OpInvokeAgent:
		// Only a run's own span names the host.
		if a.str(otelmap.KeyHost) != "" {
			return roleRoot
		}
		return roleAgent
	}
	return roleOther
}

func factsOf(s *tracetest.SpanStub) facts {
	a := attrs(s.Attributes)
	f := facts{role: roleOf(a), failed: s.Status.Code == codes.Error, usage: a.usage()}
	f.model = a.str(otelmap.KeyRequestModel)
	return f
}

// totals are the sums over a trace's stored spans, which stand in where its
// roots give none.
type totals struct {
	spans, tools, failures int
	started, ended         int64
	// model is the first request's, usage the sum over the requests.
	model string
	usage *Usage
}

// summarize makes the summary of a trace. roots are its runs' own spans by
// start; without any, first is the span to take the name from.
func summarize(traceID string, t totals, roots []tracetest.SpanStub, first *tracetest.SpanStub) Summary {
	s := Summary{
		TraceID: traceID, Runs: len(roots), Spans: t.spans,
		Started: fromNanos(t.started), Ended: fromNanos(t.ended),
	}
	counted := len(roots) > 0
	for i := range roots {
		a := attrs(roots[i].Attributes)
		s.Usage = s.Usage.add(a.usage())
		s.Outcome = a.str(otelmap.KeyOutcome)
		setFirst(&s.Host, a.str(otelmap.KeyHost))
		setFirst(&s.Session, a.str(otelmap.KeyConversationID))
		setFirst(&s.Title, oneLine(a.str(otelmap.KeyTask), maxTitle))
		setFirst(&s.Model, a.str(otelmap.KeyRequestModel))
		setFirst(&s.Directory, a.str(otelmap.KeyWorkingDirectory))
		calls, ok := a.num(otelmap.KeyToolCalls)
		failures, _ := a.num(otelmap.KeyToolFailures)
		unknown, _ := a.num(otelmap.KeyToolUnknown)
		counted = counted && ok
		s.ToolsUnknown += int(unknown)
		s.Tools += int(calls)
		s.ToolFailures += int(failures)
	}
	if !counted {
		s.Tools, s.ToolFailures = t.tools, t.failures
	}
	if s.Usage == nil {
		s.Usage = t.usage
	}
	setFirst(&s.Model, t.model)
	if len(roots) > 0 {
		first = &roots[0]
	}
	if first != nil {
		a := attrs(first.Attributes)
		setFirst(&s.Session, a.str(otelmap.KeyConversationID))
		setFirst(&s.Title, oneLine(first.Name, maxTitle))
		setFirst(&s.Host, attrs(first.Resource.Attributes()).str(otelmap.KeyServiceName))
	}
	return s
}

func setFirst(dst *string, v string) {
	if *dst == "" {
		*dst = v
	}
}

// oneLine gives s with every run of white space made one space, cut to limit
// runes.
func oneLine(s string, limit int) string {
	// No more of a long text is looked at than its first words can need.
	if most := 64 * limit; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

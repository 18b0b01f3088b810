package verify

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Sums are what the traces of a session say.
type Sums struct {
	// only is the session whose spans count where a trace has runs of several, empty for all.
	only     string
	runs     []run
	calls    []call
	requests []request
	prompts  []prompt
	// usage is that of the roots, listed that of the requests and of the sums of requests.
	usage, listed store.Usage
	// summed reports the sum of a session that is not known by its requests, uncounted a root
	// without a number of calls.
	summed, uncounted bool
	// counted is the number of calls by the roots.
	counted     int
	first, last time.Time
	// dirs are the folders of the runs, ids those of calls and requests.
	dirs []string
	ids  map[string]bool
}

// run is when and how a run of a trace ended.
type run struct {
	trace      string
	start, end time.Time
	// begun is the time of the first prompt, else the start: an agent of an earlier turn may
	// have begun before the prompt.
	begun time.Time
	// asked reports that a prompt is in it, work a request or a call.
	asked, work bool
	outcome     string
}

// call and request are a call of a tool and a request to a model. run is the index of the
// run, agent the subagent whose it is.
type call struct {
	run                     int
	id, name, agent, status string
	start, end              time.Time
	// skill reports that the text of a skill made it, which no file has, script that it is a
	// script, whose calls count in its place.
	skill, script bool
}

type request struct {
	run              int
	id, model, agent string
	// failed reports one that failed, sum that of several of which nothing else is known.
	failed, sum bool
	usage       *store.Usage
}

// prompt is a prompt that a person typed.
type prompt struct {
	run  int
	at   time.Time
	text string
}

// The statuses. A status that is not known is empty and equal to every other.
const (
	ok         = "ok"
	failed     = "failed"
	denied     = "denied"
	cancelled  = "cancelled"
	unfinished = "unfinished"
)

// invokedBy is on calls that the text of a skill made: who asked for the skill.
const invokedBy = "hookspan.command.invoked_by"

// Add adds runs of the session.
func (s *Sums) Add(runs ...*tracepb.ResourceSpans) {
	if s.ids == nil {
		s.ids = make(map[string]bool)
	}
	for _, r := range runs {
		spans := slices.Collect(otlp.Spans([]*tracepb.ResourceSpans{r}))
		if s.only != "" {
			spans = slices.DeleteFunc(spans, func(span *tracepb.Span) bool {
				id := otlp.Text(span.GetAttributes(), otelmap.KeyConversationID)
				return id != "" && id != s.only
			})
		}
		agent := agentOf(spans)
		at := max(0, len(s.runs)-1)
		for _, span := range spans {
			if store.RoleOf(span.GetAttributes()) == store.RoleRoot {
				at = len(s.runs)
				s.addRoot(span)
			}
		}
		for _, span := range spans {
			s.add(at, span, agent)
		}
	}
}

// agentOf returns what finds the id of the subagent that a span is below.
func agentOf(spans []*tracepb.Span) func(*tracepb.Span) string {
	isAgent := func(span *tracepb.Span) bool { return store.RoleOf(span.GetAttributes()) == store.RoleAgent }
	if !slices.ContainsFunc(spans, isAgent) {
		return func(*tracepb.Span) string { return "" }
	}
	parents, agents := make(map[string]string, len(spans)), make(map[string]string)
	for _, span := range spans {
		id := string(span.GetSpanId())
		parents[id] = string(span.GetParentSpanId())
		if isAgent(span) {
			agents[id] = cmp.Or(strings.Clone(otlp.Text(span.GetAttributes(), otelmap.KeyAgent)), "?")
		}
	}
	return func(span *tracepb.Span) string {
		id := string(span.GetParentSpanId())
		for n := 0; n < 100 && id != "" && agents[id] == ""; n++ { // deep enough for any agent, and an end for a cycle
			id = parents[id]
		}
		return agents[id]
	}
}

func (s *Sums) addRoot(span *tracepb.Span) {
	a := span.GetAttributes()
	if u := store.UsageOf(a); u != nil {
		s.usage = sum(s.usage, u)
	}
	n, known := otlp.Integer(a, otelmap.KeyToolCalls)
	s.counted += int(n)
	s.uncounted = s.uncounted || !known
	r := run{trace: otlp.TraceID(span), start: otlp.Start(span), end: otlp.End(span), outcome: once(otlp.Text(a, otelmap.KeyOutcome))}
	r.begun = r.start
	if dir := otlp.Text(a, otelmap.KeyWorkingDirectory); !slices.Contains(s.dirs, dir) {
		s.dirs = append(s.dirs, strings.Clone(dir))
	}
	if s.first.IsZero() || r.start.Before(s.first) {
		s.first = r.start
	}
	if r.end.After(s.last) {
		s.last = r.end
	}
	for _, e := range span.GetEvents() {
		at, u := otlp.Time(e.GetTimeUnixNano()), store.UsageOf(e.GetAttributes())
		switch {
		case e.GetName() == otelmap.EventUsage && u != nil:
			s.listed = sum(s.listed, u)
			if otlp.Text(e.GetAttributes(), otelmap.KeyUsageSource) == "session" {
				s.summed = true
			} else {
				s.requests = append(s.requests, request{run: len(s.runs), usage: u, sum: true})
			}
		case e.GetName() == otelmap.EventPrompt:
			if !r.asked || at.Before(r.begun) {
				r.asked, r.begun = true, at
			}
			if isPrompt(e) {
				text := otlp.Text(e.GetAttributes(), otelmap.KeyText)
				s.prompts = append(s.prompts, prompt{len(s.runs), at, strings.Clone(text[:min(len(text), maxPrompt)])})
			}
		}
	}
	s.runs = append(s.runs, r)
}

// maxPrompt is how much of a prompt is compared, in bytes.
const maxPrompt = 400

// once is a text that many spans have, in memory once.
func once(text string) string { return unique.Make(text).Value() }

func (s *Sums) add(at int, span *tracepb.Span, agent func(*tracepb.Span) string) {
	a := span.GetAttributes()
	id := func(key string) string {
		id := strings.Clone(otlp.Text(a, key))
		s.ids[id] = id != ""
		return id
	}
	script := otlp.Text(a, otelmap.KeyOperation) == otelmap.OpInvokeWorkflow
	switch role := store.RoleOf(a); {
	case role == store.RoleTool, script:
		s.calls = append(s.calls, call{
			run: at, id: id(otelmap.KeyToolCallID), name: once(otlp.Text(a, otelmap.KeyToolName)), agent: agent(span),
			status: statusOf(span), start: otlp.Start(span), end: otlp.End(span), skill: otlp.Text(a, invokedBy) != "", script: script,
		})
	case role == store.RoleChat:
		u := store.UsageOf(a)
		if u != nil {
			s.listed = sum(s.listed, u)
		}
		s.requests = append(s.requests, request{
			run: at, id: id(otelmap.KeyResponseID), model: once(otlp.Text(a, otelmap.KeyRequestModel)), agent: agent(span),
			failed: statusOf(span) == failed, usage: u,
		})
	default:
		return
	}
	if at < len(s.runs) {
		s.runs[at].work = true
	}
}

func statusOf(s *tracepb.Span) string {
	end := otelmap.EndOf(s)
	if end == otelmap.EndDenied && otlp.Text(s.GetAttributes(), otelmap.KeyErrorType) == otelmap.ErrorToolCancelled {
		return cancelled
	}
	return [...]string{otelmap.EndOK: ok, otelmap.EndFailed: failed, otelmap.EndDenied: denied, otelmap.EndUnfinished: unfinished, otelmap.EndRunning: ""}[end]
}

// isPrompt reports the event of a prompt that a person typed.
func isPrompt(e *tracepb.Span_Event) bool {
	return e.GetName() == otelmap.EventPrompt && otlp.Find(e.GetAttributes(), otelmap.KeyPromptInjected) == nil
}

func sum(x store.Usage, y *store.Usage) store.Usage {
	return store.Usage{Input: x.Input + y.Input, Output: x.Output + y.Output, CacheRead: x.CacheRead + y.CacheRead, CacheWrite: x.CacheWrite + y.CacheWrite}
}

// empty reports that there is no trace.
func (s *Sums) empty() bool { return len(s.runs)+len(s.calls)+len(s.requests) == 0 }

// askedAt reports a prompt of about a time.
func (s *Sums) askedAt(at time.Time) bool {
	return slices.ContainsFunc(s.prompts, func(p prompt) bool { return p.at.Sub(at).Abs() < 2*time.Second })
}

// counts returns the numbers of calls and of requests of a trace.
func (s *Sums) counts(trace string) (calls, requests int) {
	for _, q := range s.calls {
		if s.trace(q.run) == trace {
			calls++
		}
	}
	for _, q := range s.requests {
		if s.trace(q.run) == trace {
			requests++
		}
	}
	return calls, requests
}

// trace is the trace of a run, empty for none.
func (s *Sums) trace(run int) string {
	if run >= 0 && run < len(s.runs) {
		return s.runs[run].trace
	}
	return ""
}

// same reports equal sums. The input may be counted with the cache or without it where the
// files do not say which.
func same(inTrace, inFiles store.Usage, bare int64) bool {
	low, high := min(bare, inFiles.Input), max(bare, inFiles.Input)
	return inTrace.Output == inFiles.Output && inTrace.CacheRead == inFiles.CacheRead && inTrace.CacheWrite == inFiles.CacheWrite &&
		low <= inTrace.Input && inTrace.Input <= high
}

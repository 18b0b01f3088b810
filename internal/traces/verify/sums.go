package verify

import (
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/otelmap"
)

// Brief is what traces of a session say in sum.
type Brief struct {
	// usage is that of the roots, listed that of the requests and of the sums of requests.
	usage, listed store.Usage
	summed        bool // there are sums of requests
	models        []modelSum
	// The numbers of calls, of those that failed, have no end and of which neither is known,
	// and of prompts.
	calls, failed, unanswered, unknown, prompts int
	// stopped are the starts of calls that did not end.
	stopped     []time.Time
	runs        []run
	first, last time.Time
}

type modelSum struct {
	name string
	store.Usage
}

// Sums also have the ids of requests, with their models, and of calls, with their statuses.
type Sums struct {
	Brief
	requests, ended map[string][]string
	asked           []time.Time
	// skilled is the number of calls that the text of a skill made, which no file has.
	skilled int
}

// invokedBy is on calls that the text of a skill made: who asked for the skill.
const invokedBy = "hookspan.command.invoked_by"

// NewSums returns empty sums.
func NewSums() *Sums {
	return &Sums{requests: make(map[string][]string), ended: make(map[string][]string)}
}

// Add adds spans of the session.
func (s *Sums) Add(spans ...*tracepb.ResourceSpans) {
	s.Brief.Add(spans...)
	for span := range otlp.Spans(spans) {
		a := span.GetAttributes()
		switch roleOf(a) {
		case store.RoleRoot:
			for _, e := range span.GetEvents() {
				if isPrompt(e) {
					s.asked = append(s.asked, otlp.Time(e.GetTimeUnixNano()))
				}
			}
		case store.RoleTool:
			id := otlp.Text(a, otelmap.KeyToolCallID)
			s.ended[id] = append(s.ended[id], statusOf(span))
			if id == "" && otlp.Text(a, invokedBy) != "" {
				s.skilled++
			}
		case store.RoleChat:
			id := otlp.Text(a, otelmap.KeyResponseID)
			s.requests[id] = append(s.requests[id], otlp.Text(a, otelmap.KeyRequestModel))
		}
	}
}

// Add adds spans of the session.
func (s *Brief) Add(spans ...*tracepb.ResourceSpans) {
	for span := range otlp.Spans(spans) {
		a := span.GetAttributes()
		switch roleOf(a) {
		case store.RoleRoot:
			if u := store.UsageOf(a); u != nil {
				s.usage = sum(s.usage, u)
			}
			r := run{start: otlp.Start(span), end: otlp.End(span), outcome: otlp.Text(a, otelmap.KeyOutcome)}
			if at := otlp.Start(span); s.first.IsZero() || at.Before(s.first) {
				s.first = at
			}
			if at := otlp.End(span); at.After(s.last) {
				s.last = at
			}
			for _, e := range span.GetEvents() {
				if u := store.UsageOf(e.GetAttributes()); e.GetName() == otelmap.EventUsage && u != nil {
					s.listed, s.summed = sum(s.listed, u), true
				}
				if isPrompt(e) {
					s.prompts++
				}
				r.asked = r.asked || e.GetName() == otelmap.EventPrompt
			}
			r.outcome = strings.Clone(r.outcome)
			s.runs = append(s.runs, r)
		case store.RoleTool:
			s.calls++
			status := statusOf(span)
			if status == unfinished || otlp.Text(a, otelmap.KeyErrorType) == otelmap.ErrorToolCancelled {
				s.stopped = append(s.stopped, otlp.Start(span))
			}
			switch status {
			case failed, denied:
				s.failed++
			case unfinished:
				s.unanswered++
			case "":
				s.unknown++
			}
		case store.RoleChat:
			if u := store.UsageOf(a); u != nil {
				s.listed = sum(s.listed, u)
				m := s.model(otlp.Text(a, otelmap.KeyRequestModel))
				m.Usage = sum(m.Usage, u)
			}
		}
	}
}

// isPrompt reports the event of a prompt that a person typed.
func isPrompt(e *tracepb.Span_Event) bool {
	return e.GetName() == otelmap.EventPrompt && otlp.Find(e.GetAttributes(), otelmap.KeyPromptInjected) == nil
}

// model returns the sum of the requests to a model.
func (s *Brief) model(name string) *modelSum {
	for i := range s.models {
		if s.models[i].name == name {
			return &s.models[i]
		}
	}
	s.models = append(s.models, modelSum{name: strings.Clone(name)})
	return &s.models[len(s.models)-1]
}

func sum(x store.Usage, y *store.Usage) store.Usage {
	return store.Usage{Input: x.Input + y.Input, Output: x.Output + y.Output, CacheRead: x.CacheRead + y.CacheRead, CacheWrite: x.CacheWrite + y.CacheWrite}
}

// askedAt reports a prompt of about a time.
func (s *Sums) askedAt(at time.Time) bool {
	return slices.ContainsFunc(s.asked, func(t time.Time) bool { return t.Sub(at).Abs() < 2*time.Second })
}

// askedTwice reports two prompts of one time.
func (s *Sums) askedTwice() bool {
	times := slices.SortedFunc(slices.Values(s.asked), time.Time.Compare)
	return len(slices.CompactFunc(times, time.Time.Equal)) < len(s.asked)
}

// total sums up the requests of the files, of one model if it is not empty.
func total(files *second.Session, model string) (u store.Usage, bare int64) {
	for _, q := range files.Requests {
		if model == "" || q.Model == model {
			u = sum(u, &store.Usage{Input: q.Input, Output: q.Output, CacheRead: q.CacheRead, CacheWrite: q.CacheWrite})
			bare += q.Bare
		}
	}
	return u, bare
}

// same reports equal sums. The input may be counted with the cache or without it where the
// files do not say which.
func same(inTrace, inFiles store.Usage, bare int64) bool {
	low, high := min(bare, inFiles.Input), max(bare, inFiles.Input)
	return inTrace.Output == inFiles.Output && inTrace.CacheRead == inFiles.CacheRead && inTrace.CacheWrite == inFiles.CacheWrite &&
		low <= inTrace.Input && inTrace.Input <= high
}

// equal reports that the sums are those of the files.
func (s *Brief) equal(files *second.Session) bool {
	if files == nil {
		return true
	}
	u, bare := total(files, "")
	var bad, unanswered int
	for _, c := range files.Calls {
		switch {
		case !c.Answered:
			unanswered++
		case c.Failed:
			bad++
		}
	}
	return same(s.usage, u, bare) && same(s.listed, u, bare) && s.unanswered <= unanswered && s.calls >= callsOf(files) && s.calls <= callsOf(files)+len(files.Results) && s.failed+s.unknown >= bad && s.unanswered+s.failed+s.unknown >= unanswered &&
		s.prompts == len(files.Prompts) && s.sameModels(files) && len(s.turnDifferences(second.Lacks{}, files)) == 0
}

func callsOf(files *second.Session) (n int) {
	for _, c := range files.Calls {
		n += c.Times
	}
	return n
}

// sameModels compares the sums by model where both sides name the models of all requests.
func (s *Brief) sameModels(files *second.Session) bool {
	if s.summed {
		return true
	}
	models := s.modelsOf(files)
	for model := range models {
		if u, bare := total(files, model); !models[""] && len(s.models) > 0 && !same(s.model(model).Usage, u, bare) {
			return false
		}
	}
	return true
}

// modelsOf are the models of all requests, "" for one that is not named.
func (s *Brief) modelsOf(files *second.Session) map[string]bool {
	models := make(map[string]bool)
	for _, q := range files.Requests {
		models[q.Model] = true
	}
	for _, m := range s.models {
		models[m.name] = true
	}
	return models
}

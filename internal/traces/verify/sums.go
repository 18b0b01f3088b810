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
	"github.com/hookspan/hookspan/otelmap/step"
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
	// summed reports the sum of a session that is not known by its requests, counted is the number of
	// calls by the roots, and uncounted reports one without it.
	summed, uncounted bool
	counted           int
	first, last       time.Time
	// dirs are the folders of the runs, ids those of calls and requests, nil before they are asked for.
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
	usage       store.Usage
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

// Add adds runs of the session.
func (s *Sums) Add(runs ...*tracepb.ResourceSpans) {
	s.ids = nil
	for _, r := range runs {
		var spans []*tracepb.Span
		var tree step.Tree
		for span := range otlp.Spans([]*tracepb.ResourceSpans{r}) {
			one := step.Of(span)
			if id := one.Session(); s.only != "" && id != "" && id != s.only {
				continue
			}
			if i := tree.Add(one); i < len(spans) {
				spans[i] = span // the store has one of an id
			} else {
				spans = append(spans, span)
			}
		}
		at := max(0, len(s.runs)-1)
		for _, span := range spans {
			if step.Of(span).Kind() == step.KindRun {
				at = len(s.runs)
				s.addRoot(span)
			}
		}
		for i, span := range spans {
			agent := ""
			if owner := tree.Owner(i); owner != step.None {
				agent = cmp.Or(strings.Clone(step.Of(spans[owner]).AgentID()), "?")
			}
			s.add(at, span, agent)
		}
	}
}

func (s *Sums) addRoot(span *tracepb.Span) {
	one := step.Of(span)
	if u := one.Usage(); u != nil {
		s.usage = sum(s.usage, *u)
	}
	n, _, _, known := one.Calls()
	s.counted += int(n)
	s.uncounted = s.uncounted || !known
	r := run{trace: store.TaskID(span), start: one.Started(), end: one.Ended(), outcome: once(one.Outcome())}
	r.begun = r.start
	if dir := one.Directory(); !slices.Contains(s.dirs, dir) {
		s.dirs = append(s.dirs, strings.Clone(dir))
	}
	if s.first.IsZero() || r.start.Before(s.first) {
		s.first = r.start
	}
	if r.end.After(s.last) {
		s.last = r.end
	}
	for e := range one.Events() {
		at, u := e.At(), e.Usage()
		switch {
		case e.Name() == otelmap.EventUsage && u != nil:
			s.listed = sum(s.listed, *u)
			if e.UsageSource() == "session" {
				s.summed = true
			} else {
				s.requests = append(s.requests, request{run: len(s.runs), usage: *u, sum: true})
			}
		case e.Name() == otelmap.EventPrompt:
			if !r.asked || at.Before(r.begun) {
				r.asked, r.begun = true, at
			}
			if e.Prompt() {
				text := e.Text()
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

func (s *Sums) add(at int, span *tracepb.Span, agent string) {
	one := step.Of(span)
	switch kind := one.Kind(); kind {
	case step.KindTool, step.KindScript:
		s.calls = append(s.calls, call{
			run: at, id: strings.Clone(one.CallID()), name: once(one.Tool()), agent: agent, status: statusOf(one),
			start: one.Started(), end: one.Ended(), skill: one.InvokedBy() != "", script: kind == step.KindScript,
		})
	case step.KindRequest:
		q := request{run: at, id: strings.Clone(one.ResponseID()), model: once(one.Model()), agent: agent, failed: statusOf(one) == failed}
		if u := one.Usage(); u != nil {
			q.usage, s.listed = *u, sum(s.listed, *u)
		}
		s.requests = append(s.requests, q)
	default:
		return
	}
	if at < len(s.runs) {
		s.runs[at].work = true
	}
}

func statusOf(s step.Step) string {
	end := s.End()
	if end == otelmap.EndDenied && s.Failure().Kind == otelmap.ErrorToolCancelled {
		return cancelled
	}
	return [...]string{otelmap.EndOK: ok, otelmap.EndFailed: failed, otelmap.EndDenied: denied, otelmap.EndUnfinished: unfinished, otelmap.EndRunning: ""}[end]
}

func sum(x, y store.Usage) store.Usage {
	return store.Usage{Input: x.Input + y.Input, Output: x.Output + y.Output, CacheRead: x.CacheRead + y.CacheRead, CacheWrite: x.CacheWrite + y.CacheWrite}
}

// has reports a call or a request with an id.
func (s *Sums) has(id string) bool {
	if s.ids == nil {
		s.ids = make(map[string]bool)
		for i := range s.calls {
			s.ids[s.calls[i].id] = true
		}
		for i := range s.requests {
			s.ids[s.requests[i].id] = true
		}
		delete(s.ids, "")
	}
	return s.ids[id]
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

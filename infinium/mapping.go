package infinium

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Bounds of texts that have no documented limit, in characters.
const (
	maxTagRunes  = 1_000
	maxWordRunes = 200
)

// Traces maps finished spans to Infinium's form: one trace for each run, in the
// order in which the runs first appear. Spans whose run's root is missing make a
// separate trace with Late set, or none if Infinium's form shows none of them.
//
// Traces is pure: equal spans in equal order give equal traces.
func Traces(messages []*tracepb.ResourceSpans, forms Forms) []Trace {
	var out []Trace
	for _, r := range Runs(messages) {
		if t, ok := r.Trace(forms); ok {
			out = append(out, t)
		}
	}
	return out
}

// Trace maps one run. It reports false for spans without a root of which
// Infinium's form shows none.
func (r *Run) Trace(forms Forms) (t Trace, ok bool) {
	m := mapping{r, forms.of(r.host())}
	start, end := m.bounds()
	t = Trace{
		TraceID:         r.TraceID,
		Late:            r.root == nil,
		CurrentDatetime: otlp.Time(start).Format(timeLayout),
		Duration:        clampDuration(time.Duration(end - start).Seconds()), //nolint:gosec // end is not before start
	}
	if start == 0 {
		// The member is required and years before 1900 are refused.
		t.CurrentDatetime = time.Unix(0, 0).UTC().Format(timeLayout)
	}
	t.Steps, t.Errors = m.steps()
	u := m.usage()
	t.LLMUsage = u.llm()
	t.Environment = Environment{Framework: m.form.Framework, CustomTags: m.tags(u)}
	if r.root == nil {
		t.Name = "Late spans"
		t.Description = "Spans that came after their run's trace had been sent; the tag " + TagTraceID + " names it."
		return t, len(t.Steps) > 0 || len(t.Errors) > 0 || t.LLMUsage != nil
	}
	t.RootSpanID = otlp.SpanID(r.root.Span)
	m.texts(&t)
	return t, true
}

// mapping is a run with the form that it gets.
type mapping struct {
	*Run
	form Form
}

// host is the agent program that the run's spans come from.
func (r *Run) host() string {
	root := r.lead()
	return cmp.Or(clean(root.Host()), clean(root.Agent()), r.first(step.Step.Host), r.ofResource(step.Resource.Service))
}

// first is a part of the first span that has it.
func (r *Run) first(part func(step.Step) string) string {
	for _, n := range r.nodes {
		if s := clean(part(n.step)); s != "" {
			return s
		}
	}
	return ""
}

// ofResource is a part of the first resource that has it.
func (r *Run) ofResource(part func(step.Resource) string) string {
	for _, n := range r.nodes {
		if s := clean(part(step.ResourceOf(n.resource))); s != "" {
			return s
		}
	}
	return ""
}

// texts fills the title and the summaries from the root.
func (m *mapping) texts(t *Trace) {
	root := m.lead()
	prompt := clean(root.Task())
	for e := range root.Events() {
		if prompt == "" && e.Prompt() {
			prompt = clean(e.Text())
		}
	}
	if m.form.Turns {
		t.Name = m.form.Title + " (" + termtext.Plural(root.Turns(), "turn") + ")"
	} else {
		t.Name = cmp.Or(strings.TrimSpace(termtext.Head(oneLine(prompt), m.form.MaxName)), m.form.Title)
	}
	t.Description = cmp.Or(cut(prompt, MaxDescriptionRunes), t.Name)
	t.InputSummary = cut(prompt, m.form.InputPreview)
	t.OutputSummary = cut(clean(root.Answer()), m.form.OutputPreview)
}

// bounds are the root's times in nanoseconds; without a root, those of all
// spans.
func (m *mapping) bounds() (start, end uint64) {
	start, end = m.Root().GetStartTimeUnixNano(), m.Root().GetEndTimeUnixNano()
	if start == 0 {
		for _, n := range m.nodes {
			start = earlier(start, n.StartTimeUnixNano)
			end = max(end, n.EndTimeUnixNano)
		}
	}
	return start, max(start, end)
}

// earlier is the smaller of two times, of which 0 is none.
func earlier(x, y uint64) uint64 {
	if x == 0 || y == 0 {
		return max(x, y)
	}
	return min(x, y)
}

func clampDuration(seconds float64) float64 {
	if !(seconds > 0) {
		return 0
	}
	return min(seconds, MaxDurationSeconds)
}

// entry is a step, an error or both, with its place in time.
type entry struct {
	at    uint64
	depth int
	step  *Step
	err   *ErrorDetail
}

// steps flattens the run: prompts, tools and subagents by start time. At equal
// times the entry higher in the tree comes first, so that a subagent follows the
// tool that started it; then the order of the spans decides.
func (m *mapping) steps() (steps []Step, errs []ErrorDetail) {
	var all []entry
	for _, n := range m.nodes {
		e := entry{at: n.StartTimeUnixNano, depth: n.depth}
		switch n.kind {
		case step.KindRun:
			all = append(all, m.rootEntries(n)...)
		case step.KindTool, step.KindAgent:
			e.step = m.step(n)
			e.err = e.step.Error
		case step.KindRequest:
			e.err = m.chatError(n)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.depth, y.depth))
	})
	for _, e := range all {
		if e.step != nil {
			steps = append(steps, *e.step)
		}
		if e.err != nil {
			errs = append(errs, *e.err)
		}
	}
	if root := m.lead(); root.Failed() {
		errs = append(errs, *m.detail(root.Failure(), otelmap.ErrorRun, false))
	}
	return steps, errs
}

// rootEntries are a root's prompts, and the errors of the turns before the last
// of a joined session.
func (m *mapping) rootEntries(root *node) []entry {
	var out []entry
	for i, ev := range root.Events {
		e := step.EventOf(ev)
		switch e.Name() {
		case otelmap.EventPrompt:
			preview := cut(clean(e.Text()), m.form.InputPreview)
			s := &Step{Action: ActionPrompt, Description: cmp.Or(preview, "User prompt"), InputPreview: preview}
			if !e.Prompt() {
				s.Action = ActionInjected
			} else if !m.form.Turns {
				s.OutputPreview = cut(m.reply(root, ev.TimeUnixNano, root.Events[i+1:]), m.form.OutputPreview)
			}
			out = append(out, entry{at: ev.TimeUnixNano, step: s})
		case otelmap.EventTurnFailed:
			kind, message := e.Exception()
			// A turn's end comes after all of its steps.
			out = append(out, entry{at: ev.TimeUnixNano, depth: math.MaxInt, err: m.detail(step.Failure{Kind: kind, Whole: message}, otelmap.ErrorRun, false)})
		}
	}
	return out
}

// reply is what the lead agent said last before the user's next prompt, after the last one
// the run's answer. later are the root's events after the prompt.
func (m *mapping) reply(root *node, from uint64, later []*tracepb.Span_Event) (said string) {
	until, end := uint64(math.MaxUint64), uint64(0)
	if i := slices.IndexFunc(later, func(ev *tracepb.Span_Event) bool { return step.EventOf(ev).Prompt() }); i >= 0 {
		until = later[i].GetTimeUnixNano()
	} else if answer := clean(root.step.Answer()); answer != "" {
		return answer
	}
	for _, n := range m.nodes {
		lead := n.kind == step.KindRequest && n.owner == nil && n.top == root
		if !lead || n.StartTimeUnixNano < from || n.EndTimeUnixNano > until || n.EndTimeUnixNano < end {
			continue
		}
		if text := clean(n.step.Answer()); text != "" {
			said, end = text, n.EndTimeUnixNano
		}
	}
	return said
}

// step is the step of a tool or of a subagent.
func (m *mapping) step(n *node) *Step {
	of := n.step
	s := &Step{DurationMS: durationMS(of), Error: m.failure(of), Metadata: metadata(n.owner)}
	in, out := clean(of.Arguments()), clean(of.Returned())
	if s.Error != nil && (m.form.Turns || of.End() == otelmap.EndUnfinished) {
		out = clean(of.Result()) // the error has the message
	}
	if n.kind == step.KindAgent {
		s.Metadata = metadata(n)
		s.Action, s.Description = ActionSubagent+":"+s.Metadata.AgentType, "Subagent: "+s.Metadata.AgentType
		in, out = clean(of.Task()), clean(of.Answer())
	} else {
		// The agent's name of the tool is kept: its users know it.
		name := word(clean(of.Tool()), "unknown")
		s.Action, s.Description = ActionTool, "Tool: "+name
		if m.form.Turns {
			s.Action += ":" + name
		}
		if of.End() == otelmap.EndUnknown {
			// A step without an error reads as a success, and has no other member.
			s.Description += " (outcome unknown)"
		}
	}
	in, out = cut(in, m.form.InputPreview), cut(out, m.form.OutputPreview)
	if m.form.Turns {
		s.InputSummary, s.OutputSummary = in, out
	} else {
		s.InputPreview, s.OutputPreview = in, out
	}
	return s
}

// metadata names a subagent; it is nil for the lead agent.
func metadata(agent *node) *Metadata {
	if agent == nil {
		return nil
	}
	return &Metadata{
		SubagentID: word(clean(agent.step.AgentID()), otlp.SpanID(agent.Span)),
		AgentType:  word(clean(agent.step.Agent()), "subagent"),
	}
}

// word is a name on one line, or the fallback if it is empty.
func word(s, fallback string) string {
	return cmp.Or(cut(oneLine(s), maxWordRunes), fallback)
}

// durationMS prefers the agent's measure. A call that never reported an end has
// no duration: its span's end is a guess.
func durationMS(s step.Step) *int64 {
	took, ok := s.Ran()
	if !ok {
		took, ok = s.Took(), s.End() != otelmap.EndUnfinished && !s.Started().IsZero() && !s.Ended().Before(s.Started())
	}
	return known(took.Milliseconds(), ok)
}

// failure is how a tool, a subagent or a request failed, nil if it did not.
func (m *mapping) failure(s step.Step) *ErrorDetail {
	f := s.Failure()
	if !s.Failed() && f.Kind == "" {
		return nil
	}
	f.Whole = cmp.Or(f.Whole, s.Result())
	return m.detail(f, m.form.ErrorType, true)
}

func (m *mapping) detail(f step.Failure, otherwise string, recoverable bool) *ErrorDetail {
	kind := word(clean(f.Kind), otherwise)
	return &ErrorDetail{
		ErrorType:   kind,
		Message:     cmp.Or(cut(clean(f.Whole), m.form.OutputPreview), kind),
		Recoverable: recoverable,
	}
}

// chatError reports a request to the model that broke off. A request that the
// user cancelled is no error; the outcome reports it.
func (m *mapping) chatError(n *node) *ErrorDetail {
	if n.step.Finish() == "user_cancelled" {
		return nil
	}
	e := m.failure(n.step)
	if e != nil && e.Message == e.ErrorType {
		e.Message = "request to the model broke off: " + e.ErrorType
	}
	return e
}

package infinium

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hookspan/hookspan/otelmap"
)

// Bounds of texts that have no documented limit, in characters.
const (
	maxTagRunes  = 1_000
	maxWordRunes = 200
)

// style is what differs between the hosts' forms.
type style struct {
	framework  string
	claude     bool
	errorType  string
	versionTag string
	limits     Limits
}

func styleOf(host string, lim Limits) style {
	if host == "claude-code" {
		return style{
			framework: FrameworkClaudeCode, claude: true,
			errorType: otelmap.ErrorToolFailure, versionTag: TagClaudeCodeVersion,
			limits: Limits{
				InputPreview:  cmp.Or(max(lim.InputPreview, 0), claudeInputPreview),
				OutputPreview: cmp.Or(max(lim.OutputPreview, 0), claudeOutputPreview),
			},
		}
	}
	return style{
		framework: FrameworkCline,
		errorType: otelmap.ErrorTool, versionTag: TagClineVersion,
		limits: Limits{
			InputPreview:  cmp.Or(max(lim.InputPreview, 0), clineInputPreview),
			OutputPreview: cmp.Or(max(lim.OutputPreview, 0), clineOutputPreview),
		},
	}
}

// Traces maps finished spans to Infinium's form: one trace per run, in the
// order in which the runs first appear. Spans that came without the root of
// their run make a trace of their own with Late set; where such spans hold
// nothing that the form has a place for, they give no trace.
//
// Traces is pure: equal spans in equal order give equal traces.
func Traces(spans []sdktrace.ReadOnlySpan, lim Limits) []Trace {
	var out []Trace
	for _, r := range group(spans) {
		t := r.trace(lim)
		if t.Late && len(t.Steps) == 0 && len(t.Errors) == 0 && t.LLMUsage == nil {
			continue
		}
		out = append(out, t)
	}
	return out
}

func (r *run) trace(lim Limits) Trace {
	st := styleOf(r.host(), lim)
	start, end := r.bounds()
	t := Trace{
		TraceID:         r.traceID.String(),
		Late:            r.root == nil,
		CurrentDatetime: start.UTC().Format(timeLayout),
		Duration:        clampDuration(end.Sub(start).Seconds()),
	}
	t.Steps, t.Errors = r.steps(&st)
	t.LLMUsage = r.usage()
	t.Environment = Environment{Framework: st.framework, CustomTags: r.tags(&st)}
	if r.root == nil {
		t.Name = "Late spans"
		t.Description = "Spans that came after their run's trace had been sent; the tag " + TagTraceID + " names it."
		return t
	}
	t.RootSpanID = r.root.SpanContext().SpanID().String()
	r.texts(&t, &st)
	return t
}

// texts fills the title and the summaries from the root.
func (r *run) texts(t *Trace, st *style) {
	attrs := r.root.Attributes()
	prompt := text(attrs, otelmap.KeyTask)
	for _, ev := range r.root.Events() {
		if prompt == "" && ev.Name == otelmap.EventPrompt && !truth(ev.Attributes, otelmap.KeyPromptInjected) {
			prompt = text(ev.Attributes, otelmap.KeyText)
		}
	}
	if st.claude {
		t.Name = "Claude Code session (" + plural(turnsOf(attrs), "turn") + ")"
	} else {
		t.Name, _ = firstRunes(oneLine(prompt), MaxClineNameRunes)
		t.Name = cmp.Or(strings.TrimSpace(t.Name), "Cline task")
	}
	t.Description = cmp.Or(cut(prompt, MaxDescriptionRunes), t.Name)
	t.InputSummary = cut(prompt, st.limits.InputPreview)
	t.OutputSummary = cut(text(attrs, otelmap.KeyResult), st.limits.OutputPreview)
}

// host is the agent program the run's spans come from.
func (r *run) host() string {
	if r.root != nil {
		a := r.root.Attributes()
		if h := cmp.Or(text(a, otelmap.KeyHost), text(a, otelmap.KeyAgentName)); h != "" {
			return h
		}
	}
	for _, n := range r.nodes {
		if h := text(n.Attributes(), otelmap.KeyHost); h != "" {
			return h
		}
	}
	return r.resourceText(otelmap.KeyServiceName)
}

func (r *run) resourceText(key attribute.Key) string {
	for _, n := range r.nodes {
		if v, ok := n.Resource().Set().Value(key); ok {
			return clean(v.AsString())
		}
	}
	return ""
}

// bounds are the root's times; without a root, those of all spans.
func (r *run) bounds() (start, end time.Time) {
	if r.root != nil {
		start, end = r.root.StartTime(), r.root.EndTime()
	}
	if start.IsZero() {
		for _, n := range r.nodes {
			if s := n.StartTime(); !s.IsZero() && (start.IsZero() || s.Before(start)) {
				start = s
			}
			if e := n.EndTime(); e.After(end) {
				end = e
			}
		}
	}
	if start.IsZero() {
		// The member is required and years before 1900 are refused.
		start = time.Unix(0, 0)
	}
	if end.Before(start) {
		end = start
	}
	return start, end
}

func clampDuration(seconds float64) float64 {
	if !(seconds > 0) {
		return 0
	}
	return min(seconds, MaxDurationSeconds)
}

// moment is a step, an error or both, with its place in time.
type moment struct {
	at    time.Time
	depth int
	step  *Step
	err   *ErrorDetail
}

// steps flattens the run: prompts, tools and subagents by start time. At equal
// times what stands higher in the tree comes first, so that a subagent follows
// the tool that started it; then the order of the spans decides.
func (r *run) steps(st *style) ([]Step, []ErrorDetail) {
	var all []moment
	for _, n := range r.nodes {
		m := moment{at: n.StartTime(), depth: n.depth}
		switch {
		case n.isRoot:
			all = append(all, prompts(n, st)...)
			all = append(all, failedTurns(n, st)...)
			continue
		case n.op == otelmap.OpExecuteTool:
			m.step = toolStep(n, st)
			m.err = m.step.Error
		case n.op == otelmap.OpInvokeAgent:
			m.step = subagentStep(n, st)
			m.err = m.step.Error
		case n.op == otelmap.OpChat:
			m.err = chatError(n, st)
		}
		if m.step != nil || m.err != nil {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(x, y moment) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.depth, y.depth))
	})
	var steps []Step
	var errs []ErrorDetail
	for _, m := range all {
		if m.step != nil {
			steps = append(steps, *m.step)
		}
		if m.err != nil {
			errs = append(errs, *m.err)
		}
	}
	if r.root != nil && r.root.Status().Code == codes.Error {
		e := failure(r.root, otelmap.ErrorRun, st)
		e.Recoverable = false
		errs = append(errs, *e)
	}
	return steps, errs
}

func prompts(root *node, st *style) []moment {
	var out []moment
	for _, ev := range root.Events() {
		if ev.Name != otelmap.EventPrompt {
			continue
		}
		preview := cut(text(ev.Attributes, otelmap.KeyText), st.limits.InputPreview)
		s := &Step{Action: ActionPrompt, Description: preview, InputPreview: preview}
		if truth(ev.Attributes, otelmap.KeyPromptInjected) {
			s.Action = ActionInjected
		}
		s.Description = cmp.Or(s.Description, "User prompt")
		out = append(out, moment{at: ev.Time, step: s})
	}
	return out
}

// failedTurns are the errors of the turns before the last of a joined session.
func failedTurns(root *node, st *style) []moment {
	var out []moment
	for _, ev := range root.Events() {
		if ev.Name != otelmap.EventTurnFailed {
			continue
		}
		kind, message := text(ev.Attributes, otelmap.KeyExceptionType), text(ev.Attributes, otelmap.KeyExceptionMessage)
		e := st.detail(kind, otelmap.ErrorRun, message)
		e.Recoverable = false
		// A turn's end comes after all that happened in it.
		out = append(out, moment{at: ev.Time, depth: math.MaxInt, err: e})
	}
	return out
}

func toolStep(n *node, st *style) *Step {
	a := n.Attributes()
	// The host's own name of the tool is kept: it is what its users know.
	name := word(cmp.Or(text(a, otelmap.KeyToolName), clean(object(n))), "unknown")
	s := &Step{
		Action:      ActionTool,
		Description: "Tool: " + name,
		DurationMS:  durationMS(n),
		Error:       failureOf(n, st),
		Metadata:    metadata(n.owner),
	}
	if st.claude {
		s.Action += ":" + name
	}
	if text(a, otelmap.KeyToolOutcome) == otelmap.ToolOutcomeUnknown {
		// A step without an error reads as a success, and has no other member.
		s.Description += " (outcome unknown)"
	}
	st.preview(s, text(a, otelmap.KeyToolArguments), text(a, otelmap.KeyToolResult))
	return s
}

func subagentStep(n *node, st *style) *Step {
	a := n.Attributes()
	m := metadata(n)
	s := &Step{
		Action:      ActionSubagent + ":" + m.AgentType,
		Description: "Subagent: " + m.AgentType,
		DurationMS:  durationMS(n),
		Error:       failureOf(n, st),
		Metadata:    m,
	}
	st.preview(s, text(a, otelmap.KeyTask), text(a, otelmap.KeyResult))
	return s
}

func (st *style) preview(s *Step, in, out string) {
	in, out = cut(in, st.limits.InputPreview), cut(out, st.limits.OutputPreview)
	if st.claude {
		s.InputSummary, s.OutputSummary = in, out
		return
	}
	s.InputPreview, s.OutputPreview = in, out
}

// metadata names a subagent; nil for the lead agent.
func metadata(agent *node) *Metadata {
	if agent == nil {
		return nil
	}
	a := agent.Attributes()
	return &Metadata{
		SubagentID: word(text(a, otelmap.KeyAgentID), agent.SpanContext().SpanID().String()),
		AgentType:  word(cmp.Or(text(a, otelmap.KeyAgentName), clean(object(agent))), "subagent"),
	}
}

// word is a name on one line, or fallback where there is none.
func word(s, fallback string) string {
	return cmp.Or(cut(oneLine(s), maxWordRunes), fallback)
}

// durationMS prefers the host's own measure. A call that never reported an end
// has no duration: its span's end is a guess.
func durationMS(n *node) *int64 {
	a := n.Attributes()
	if ms := count(a, otelmap.KeyHostDuration); ms != nil {
		return ms
	}
	if text(a, otelmap.KeyErrorType) == otelmap.ErrorToolUnfinished || n.EndTime().Before(n.StartTime()) || n.StartTime().IsZero() {
		return nil
	}
	ms := n.EndTime().Sub(n.StartTime()).Milliseconds()
	return &ms
}

func failureOf(n *node, st *style) *ErrorDetail {
	if n.Status().Code != codes.Error && text(n.Attributes(), otelmap.KeyErrorType) == "" {
		return nil
	}
	return failure(n, st.errorType, st)
}

// failure says how a span failed; kind is its type where it tells none.
func failure(n *node, kind string, st *style) *ErrorDetail {
	own, message := cause(n.Attributes(), n.Events(), n.Status())
	return st.detail(own, kind, message)
}

// cause is a span's error type and the exception's message, else the status,
// else what the tool gave back.
func cause(attrs []attribute.KeyValue, events []sdktrace.Event, status sdktrace.Status) (kind, message string) {
	for _, ev := range events {
		if ev.Name == otelmap.EventException {
			message = cmp.Or(text(ev.Attributes, otelmap.KeyExceptionMessage), message)
		}
	}
	message = cmp.Or(message, clean(status.Description), text(attrs, otelmap.KeyToolResult))
	return text(attrs, otelmap.KeyErrorType), message
}

func (st *style) detail(kind, otherwise, message string) *ErrorDetail {
	kind = word(kind, otherwise)
	return &ErrorDetail{
		ErrorType:   kind,
		Message:     cmp.Or(cut(message, st.limits.OutputPreview), kind),
		Recoverable: true,
	}
}

// chatError reports a request to the model that broke off. The user's own
// cancelling is no error; the outcome tells it.
func chatError(n *node, st *style) *ErrorDetail {
	if text(n.Attributes(), otelmap.KeyFinish) == "user_cancelled" {
		return nil
	}
	e := failureOf(n, st)
	if e != nil && e.Message == e.ErrorType {
		e.Message = "request to the model broke off: " + e.ErrorType
	}
	return e
}

func plural(n int64, noun string) string {
	s := strconv.FormatInt(n, 10) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

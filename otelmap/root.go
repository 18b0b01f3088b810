package otelmap

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// rootSpan is the run's own span.
func (m *mapping) rootSpan() *tracepb.Span {
	r := m.run
	provider, model := m.model()
	events, task := m.rootEvents()
	task = cmp.Or(task, m.sessionTask())
	outcome, failure := m.outcome()

	a := attrs{
		text(KeyOperation, OpInvokeAgent),
		text(KeyAgentName, m.host),
		text(KeyConversationID, m.session),
		text(KeyHost, m.host),
		text(KeyOutcome, outcome),
	}
	a.str(KeyDialect, r.firstOf(func(it *item) string { return it.Dialect }))
	a.str(KeyHostVersion, m.hostVersion())
	a.str(KeyHostApp, m.tr.HostApp)
	a.str(KeyProvider, m.standardProvider(provider))
	a.str(KeyHostProvider, provider)
	a.str(KeyRequestModel, model)
	a.str(KeyWorkingDirectory, cmp.Or(r.firstOf(func(it *item) string { return it.Cwd }), m.tr.Cwd))
	a.str(KeyUser, r.firstOf(func(it *item) string { return it.User }))
	a.str(KeyPermissionMode, r.firstOf(func(it *item) string { return it.PermissionMode }))
	a.str(KeyPromptID, r.turn)
	a.str(KeySessionSource, r.source)
	a.str(KeyTask, task)
	if m.ending != nil {
		a.str(KeyResult, m.opts.text(m.ending.Result, MaxTaskRunes))
	}
	if r.terminal != nil {
		a.str(KeyResult, r.terminal.Result)
		a.facts(&m.opts, r.terminal)
	}
	m.toolCounts(&a)
	a.str(KeyHookStoppedBy, m.stoppedBy())
	events = append(events, m.usage(&a, "")...)
	events = append(events, m.rootHooks()...)

	parent, inherited := r.parent(&m.opts)
	s := m.span(OpInvokeAgent+" "+m.host, tracepb.Span_SPAN_KIND_INTERNAL, m.root.SpanID(), parent.SpanID(), m.start, m.end, a)
	s.Events = events
	if inherited {
		s.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	s.Links = r.prev.links()
	switch outcome {
	case OutcomeFailed:
		fail(s, cmp.Or(class(failure.ErrorType), ErrorRun), failure.Message, m.end)
	case OutcomeAbandoned:
		fail(s, ErrorAbandoned, "the run never reported an end", m.end)
	}
	sortEvents(s.Events)
	return s
}

// outcome is how the run ended, and of a failure what was said of it: by the
// hooks, else by the host's files.
func (m *mapping) outcome() (string, hook.TurnEnd) {
	if t := m.run.terminal; t != nil && m.ending == nil {
		failure := hook.TurnEnd{ErrorType: t.ErrorType, Message: t.Message}
		if m.turns() && (failure.ErrorType == "unknown" || failure.ErrorType == "") {
			failure.ErrorType = cmp.Or(m.requestError(), failure.ErrorType)
		}
		return m.run.Outcome, failure
	}
	if e := m.ending; e != nil {
		switch e.Kind {
		case hook.KindRunComplete:
			return OutcomeCompleted, *e
		case hook.KindRunError:
			failure := *e
			failure.Message = m.opts.text(e.Message, m.opts.MaxOutput)
			return OutcomeFailed, failure
		case hook.KindSessionEnd:
			return OutcomeInterrupted, *e
		}
	}
	return cmp.Or(m.run.Outcome, m.silence()), hook.TurnEnd{}
}

// requestError is the kind of error that the lead agent's last request broke off
// with, which a host may know better than the hook it ran.
func (m *mapping) requestError() string {
	for i := len(m.calls) - 1; i >= 0; i-- {
		if c := &m.calls[i]; c.Agent == "" && c.Kind == hook.CallRequest {
			return c.Error
		}
	}
	return ""
}

// ending is the end of the run's turn in the host's files, for a run whose hooks
// told none: an agent may not wait for the hook of a failure when it leaves,
// so that only the session's end may have been heard.
func (r *Run) ending(tr *hook.Transcript) *hook.TurnEnd {
	if r.turn == "" || r.terminal != nil && r.terminal.Kind != hook.KindSessionEnd {
		return nil
	}
	start := r.from.At().Truncate(time.Millisecond) // the files have no finer times
	for i := len(tr.Ends) - 1; i >= 0; i-- {
		e := &tr.Ends[i]
		if e.Turn == r.turn && e.Kind != hook.KindRunResume && !e.At.Before(start) {
			if r.next != nil && r.next.turn == r.turn && e.At.After(r.next.from.At()) {
				continue
			}
			return e
		}
	}
	return nil
}

func (m *mapping) toolCounts(a *attrs) {
	a.num(KeyToolCalls, m.toolCalls)
	a.num(KeyToolFailures, m.toolFailures)
	if m.toolUnknown > 0 {
		a.num(KeyToolUnknown, m.toolUnknown)
	}
}

// rootEvents gives what happened besides tools and requests, and the text the
// run began with. Prompts come from the hooks; the SDK dialect reports only
// injected ones, so that the user's own come from the session's file.
func (m *mapping) rootEvents() (events []*tracepb.Span_Event, task string) {
	var typed int
	items := slices.Concat(m.run.items, m.run.late)
	for _, it := range items {
		switch it.Kind {
		case hook.KindPrompt:
			injected := it.injected()
			switch {
			case !injected:
				typed++
				task = cmp.Or(task, it.Prompt)
			case m.turns():
				// The host's own prompt opened the turn; its message says it shortly.
				typed++
				task = cmp.Or(task, it.Message, it.Prompt)
			}
			prompt := it.Prompt
			if injected && m.turns() && m.opts.Capture != CaptureFull {
				prompt = cmp.Or(it.Message, prompt)
			}
			events = append(events, m.event(EventPrompt, it, prompt, m.opts.MaxInput))
		case hook.KindRunStart, hook.KindRunResume:
			task = cmp.Or(it.Prompt, task)
		case hook.KindCompact:
			events = append(events, m.event(EventCompaction, it, "", 0))
		case hook.KindNotification:
			events = append(events, m.event(EventNotification, it, it.Message, m.opts.MaxOutput))
		case hook.KindNote, hook.KindSessionStart:
			e := m.event(EventNote, it, it.Message, m.opts.MaxOutput)
			e.Attributes = append(e.Attributes, text(KeyEventName, it.Name))
			events = append(events, e)
		}
	}
	if typed > 0 || m.opts.Capture == CaptureNone {
		return events, task
	}
	for _, p := range m.tr.Prompts {
		at := p.At
		if p.Turn != "" {
			at = at.Add(promptLead)
		}
		if !m.holds("", p.Turn, at) {
			continue
		}
		prompt := m.opts.text(p.Text, MaxTaskRunes)
		task = cmp.Or(task, prompt)
		at = latest(p.At, m.start)
		var a attrs
		a.str(KeyText, m.opts.preview(prompt, m.opts.MaxInput))
		events = append(events, &tracepb.Span_Event{Name: EventPrompt, TimeUnixNano: otlp.UnixNano(at), Attributes: a})
		typed++
	}
	if typed == 0 && task != "" {
		events = append(events, &tracepb.Span_Event{
			Name: EventPrompt, TimeUnixNano: otlp.UnixNano(m.run.from.At()),
			Attributes: attrs{text(KeyText, m.opts.preview(task, m.opts.MaxInput))},
		})
	}
	return events, task
}

// sessionTask is a preview of the session's first prompt. It names a run that
// begins without one, as when a task is resumed without a word; a host's turns
// each have a prompt of their own.
func (m *mapping) sessionTask() string {
	if m.turns() || m.opts.Capture == CaptureNone {
		return ""
	}
	task := m.run.prev.Task
	for i := 0; task == "" && i < len(m.tr.Prompts); i++ {
		task = m.opts.text(m.tr.Prompts[i].Text, m.opts.MaxInput)
	}
	return task
}

// injected reports a prompt that the host wrote, not the user.
func (it *item) injected() bool {
	return slices.Contains(it.Attrs, hook.Attr{Key: KeyPromptInjected, Value: true})
}

// asked is the moment of the user's prompt that the run begins with, zero where
// no hook reported one before the agent was at work.
func (r *Run) asked() time.Time {
	for _, it := range r.items {
		switch {
		case it.Kind == hook.KindPrompt && !it.injected():
			return it.At()
		case it.Kind == hook.KindPrompt, it.Tool != nil:
			return time.Time{}
		}
	}
	return time.Time{}
}

func (m *mapping) event(name string, it *item, said string, limit int) *tracepb.Span_Event {
	var a attrs
	a.str(KeyText, m.opts.preview(said, limit))
	a.facts(&m.opts, it)
	return &tracepb.Span_Event{Name: name, TimeUnixNano: otlp.UnixNano(it.At()), Attributes: a}
}

// sortEvents puts events in the order of their times.
func sortEvents(events []*tracepb.Span_Event) {
	slices.SortStableFunc(events, func(x, y *tracepb.Span_Event) int { return cmp.Compare(x.TimeUnixNano, y.TimeUnixNano) })
}

// links returns the link to the previous run's root, if there was one.
func (c Carry) links() []*tracepb.Span_Link {
	tid, err := trace.TraceIDFromHex(c.PrevTrace)
	if err != nil {
		return nil
	}
	sid, err := trace.SpanIDFromHex(c.PrevSpan)
	if err != nil {
		return nil
	}
	return []*tracepb.Span_Link{{TraceId: tid[:], SpanId: sid[:], Flags: sampled}}
}

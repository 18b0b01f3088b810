package otelmap

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
)

// rootSpan plans the root, after all other spans.
func (m *mapping) rootSpan() *planned {
	parent, _ := m.run.parent(&m.opts)
	return &planned{
		id: m.root.SpanID(), parent: parent.SpanID(),
		start: otlp.UnixNano(m.start), end: otlp.UnixNano(m.end), build: m.rootMessage,
	}
}

func (m *mapping) rootMessage() *tracepb.Span {
	r := m.run
	provider, model := m.provider, m.model
	events, task := m.rootEvents()
	outcome, failure := m.outcome()
	evidence, missing := m.evidence(outcome)
	place := m.checkedOut("", m.end)

	a := texts(
		KeyOperation, OpInvokeAgent,
		KeyAgentName, m.host,
		KeyConversationID, m.session,
		KeyHost, m.host,
		KeyOutcome, outcome,
		KeyEvidence, evidence,
		KeyEvidenceMissing, missing,
		KeyDialect, r.firstOf(func(it *item) string { return it.Dialect }),
		KeyHostVersion, m.hostVersion(),
		KeyHostApp, m.tr.HostApp,
		KeyProvider, m.standardProvider(provider),
		KeyHostProvider, provider,
		KeyModel, model,
		KeyWorkingDirectory, cmp.Or(r.firstOf(func(it *item) string { return it.Cwd }), m.tr.Cwd),
		KeyRepositoryName, place.Name,
		KeyRepositoryURL, place.URL,
		KeyBranch, place.Branch,
		KeyRevision, place.Revision,
		KeyUser, cmp.Or(otlp.Text(m.opts.Resource, KeyUser), r.firstOf(func(it *item) string { return it.User })),
		KeyPermissionMode, r.firstOf(func(it *item) string { return it.PermissionMode }),
		KeyPromptID, r.turn,
		KeySessionSource, cmp.Or(r.source, r.begin(&m.opts)),
	)
	if len(m.folders) > 1 {
		a = append(a, otlp.Strings(KeyFolders, m.folders))
	}
	task = cmp.Or(task, m.sessionTask())
	var asked []Message
	for _, p := range prompts(events, task) {
		asked, task = append(asked, message(p.role, p.text)), cmp.Or(task, p.text)
	}
	result := ""
	if m.ending != nil {
		result = m.opts.text(m.ending.Result, MaxTaskRunes)
	}
	if r.terminal != nil {
		if result = r.terminal.Result; result == "" && m.opts.Agent.Unnamed && r.terminal.Kind == hook.KindRunComplete {
			result = m.opts.text(m.lastText(), MaxTaskRunes)
		}
		a.facts(&m.opts, r.terminal)
	}
	a.texts(
		KeyInputMessages, encode(asked...), KeyInputValue, task,
		KeyOutputMessages, AnswerMessages(result, m.finish("")), KeyOutputValue, result,
	)
	a.num(KeyToolCalls, m.toolCalls)
	a.num(KeyToolFailures, m.toolFailures)
	if m.toolUnknown > 0 {
		a.num(KeyToolUnknown, m.toolUnknown)
	}
	a.texts(KeyHookStoppedBy, m.stoppedBy())
	m.usage(&a, "")

	s := newSpan(OpInvokeAgent, m.host, a)
	s.Events = slices.Concat(events, m.usageEvents(), m.rootHooks())
	if _, inherited := r.parent(&m.opts); inherited {
		s.Flags = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	s.Links = r.prev.links()
	switch outcome {
	case OutcomeFailed:
		fail(s, cmp.Or(class(failure.ErrorType), ErrorRun), failure.Message, m.end)
	case OutcomeAbandoned:
		fail(s, ErrorAbandoned, messageAbandoned, m.end)
	}
	sortEvents(s.Events)
	return s
}

// outcome returns how the run ended and the description of a failure: by the
// hooks, else by the host's files.
func (m *mapping) outcome() (string, hook.TurnEnd) {
	if m.open {
		return OutcomeRunning, hook.TurnEnd{}
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
	} else if t := m.run.terminal; t != nil {
		failure := hook.TurnEnd{ErrorType: t.ErrorType, Message: t.Message}
		if m.turns() && (failure.ErrorType == "unknown" || failure.ErrorType == "") {
			failure.ErrorType = cmp.Or(m.requestError(), failure.ErrorType)
		}
		return m.run.Outcome, failure
	}
	return cmp.Or(m.run.Outcome, m.silence()), hook.TurnEnd{}
}

// finish returns why an agent's last answer ended, "" if that is not known or it asked for
// calls.
func (m *mapping) finish(agent string) string {
	of := m.agentCalls[agent]
	if agent == "" {
		of = m.leadCalls()
	}
	for _, i := range slices.Backward(of) {
		if c := &m.calls[i]; c.Kind == hook.RequestSingle && c.Error == "" {
			if reason := cmp.Or(finishReasons[c.FinishReason], c.FinishReason); reason != "tool_call" {
				return reason
			}
			return ""
		}
	}
	return ""
}

// leadCalls are the places of the lead agent's calls.
func (m *mapping) leadCalls() (places []int) {
	for i := range m.calls {
		if m.calls[i].Agent == "" {
			places = append(places, i)
		}
	}
	return places
}

// lastText returns the text of the lead agent's last answer.
func (m *mapping) lastText() string {
	for _, c := range slices.Backward(m.calls) {
		if c.Agent == "" && c.Kind == hook.RequestSingle {
			return c.Text
		}
	}
	return ""
}

// requestError returns the error of the lead agent's last request. A host may
// record it in its files more exactly than in its hook.
func (m *mapping) requestError() string {
	for _, c := range slices.Backward(m.calls) {
		if c.Agent == "" && c.Kind == hook.RequestSingle {
			return c.Error
		}
	}
	return ""
}

// ending returns the end of the run's turn in the host's files if the hooks
// reported none: an agent that exits may not wait for the hook of a failure, so
// that only the end of the session was reported.
func (r *Run) ending(f *files) *hook.TurnEnd {
	if r.turn == "" || r.terminal != nil && r.terminal.Kind != hook.KindSessionEnd {
		return nil
	}
	start := r.from.At().Truncate(time.Millisecond) // the precision of the files
	for _, e := range slices.Backward(f.ends[r.turn]) {
		nextPart := r.part != nil && e.At.After(r.part.from.At())
		if e.Kind != hook.KindRunResume && !e.At.Before(start) && !nextPart {
			return e
		}
	}
	return nil
}

// rootEvents returns the events besides tools and requests, and the text that
// the run began with. Where the hooks report only prompts that the host wrote,
// those of the user come from the host's files.
func (m *mapping) rootEvents() (events []*tracepb.Span_Event, task string) {
	// began reports that the run began with a text, whether or not it is captured.
	prompted, began := false, false
	for i, it := range slices.Concat(m.run.items, m.run.late) {
		switch it.Kind {
		case hook.KindPrompt:
			prompt := it.Prompt
			switch injected := it.injected(); {
			case !injected:
				prompted = true
				task = cmp.Or(task, it.Prompt)
			case m.turns():
				// The host's own prompt opened the turn; Message is its short form.
				prompted = true
				task = cmp.Or(task, m.opts.preview(cmp.Or(it.Message, it.Prompt), m.opts.MaxInput))
				prompt = cmp.Or(it.Message, prompt)
			}
			events = append(events, m.event(EventPrompt, it, prompt, m.opts.MaxInput))
		case hook.KindRunStart, hook.KindRunResume:
			task, began = cmp.Or(it.Prompt, task, it.Message), began || it.said
		case hook.KindCompact:
			events = append(events, m.event(EventCompaction, it, "", 0))
		case hook.KindNotification:
			e := m.event(EventNotification, it, it.Message, m.opts.MaxOutput)
			if i+1 < len(m.run.items) && otlp.Find(e.Attributes, KeyAwaitsUser).GetBoolValue() {
				// The host goes on when the user has acted.
				e.Attributes = append(e.Attributes, otlp.Int(KeyWaited, max(0, m.run.items[i+1].At().Sub(it.At()).Milliseconds())))
			}
			events = append(events, e)
		case hook.KindNote, hook.KindSessionStart, hook.KindRequestError:
			e := m.event(EventNote, it, it.Message, m.opts.MaxOutput)
			e.Attributes = append(e.Attributes, texts(KeyEventName, it.Name)...)
			events = append(events, e)
		}
	}
	add := func(at time.Time, prompt string) {
		prompted = true
		events = append(events, spanEvent(EventPrompt, at, texts(KeyText, m.opts.preview(prompt, m.opts.MaxInput))))
	}
	if !prompted {
		for _, p := range m.fromFiles.prompts {
			prompt := m.opts.text(p.Text, MaxTaskRunes)
			task = cmp.Or(task, prompt)
			add(latest(p.At, m.start), prompt)
		}
	}
	if !prompted && began {
		add(m.run.from.At(), task)
	}
	return events, task
}

// sessionTask returns a preview of the session's first prompt, for a run that
// begins without one, such as a resumed task. A host's turns each have a prompt.
func (m *mapping) sessionTask() string {
	if m.turns() || m.opts.Capture == CaptureNone {
		return ""
	}
	task := m.run.prev.Task
	for i := 0; task == "" && i < len(m.tr.Prompts); i++ {
		task = m.opts.Clean(m.tr.Prompts[i].Text, m.opts.MaxInput)
	}
	return termtext.Cut(task, m.opts.MaxInput)
}

// event returns a span event with a text and the item's own attributes.
func (m *mapping) event(name string, it *item, said string, limit int) *tracepb.Span_Event {
	a := texts(KeyText, m.opts.preview(said, limit))
	a.facts(&m.opts, it)
	return spanEvent(name, it.At(), a)
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

// begin is how the run's session began, for a host whose runs are tasks: it reports a
// start with each, of which the first is the session's.
func (r *Run) begin(o *Options) string {
	switch {
	case o.Agent.Turns:
	case r.from.Kind == hook.KindRunStart && r.prev.Runs == 0:
		return "startup"
	case r.from.Kind == hook.KindRunResume:
		return "resume"
	}
	return ""
}

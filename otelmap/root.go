package otelmap

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
)

func (j *joined) rootMessage() *tracepb.Span {
	r := j.run
	events, task := j.rootEvents()

	a := texts(
		KeyOperation, OpInvokeAgent,
		KeyAgentName, j.host,
		KeyConversationID, j.session,
		KeyHost, j.host,
		KeyOutcome, j.outcome,
		KeyEvidence, j.evidence,
		KeyEvidenceMissing, j.missing,
		KeyDialect, r.firstOf(func(it *item) string { return it.Dialect }),
		KeyHostVersion, j.hostVersion(),
		KeyHostApp, j.tr.HostApp,
		KeyProvider, j.standardProvider(j.provider),
		KeyHostProvider, j.provider,
		KeyModel, j.model,
		KeyWorkingDirectory, cmp.Or(r.firstOf(func(it *item) string { return it.Cwd }), j.tr.Cwd),
		KeyRepositoryName, j.place.Name,
		KeyRepositoryURL, j.place.URL,
		KeyBranch, j.place.Branch,
		KeyRevision, j.place.Revision,
		KeyUser, cmp.Or(otlp.Text(j.opts.Resource, KeyUser), r.firstOf(func(it *item) string { return it.User })),
		KeyPermissionMode, r.firstOf(func(it *item) string { return it.PermissionMode }),
		KeyPromptID, r.turn,
		KeySessionSource, cmp.Or(r.source, r.begin(&j.opts)),
	)
	a.flag(KeyBranchUnknown, j.place.Branch != "" && slices.ContainsFunc(j.requests, j.unplaced))
	if len(j.folders) > 1 {
		a = append(a, otlp.Strings(KeyFolders, j.folders))
	}
	task = cmp.Or(task, j.sessionTask())
	var asked []Message
	for _, p := range prompts(events, task) {
		asked, task = append(asked, message(p.role, p.text)), cmp.Or(task, p.text)
	}
	result := ""
	if j.ending != nil {
		result = j.opts.text(j.ending.Result, MaxTaskRunes)
	}
	if r.terminal != nil {
		if result = cmp.Or(r.terminal.Result, result); result == "" && j.opts.Agent.Unnamed && r.terminal.Kind == hook.KindRunComplete {
			result = j.opts.text(j.agents[0].last().Text, MaxTaskRunes)
		}
		a.facts(&j.opts, r.terminal)
	}
	a.texts(
		KeyInputMessages, encode(asked...), KeyInputValue, task,
		KeyOutputMessages, AnswerMessages(result, j.agents[0].finish()), KeyOutputValue, result,
	)
	a.num(KeyToolCalls, j.toolCalls)
	a.num(KeyToolFailures, j.toolFailures)
	if j.toolUnknown > 0 {
		a.num(KeyToolUnknown, j.toolUnknown)
	}
	a.texts(KeyHookStoppedBy, j.stoppedBy())
	j.usage(&a, j.agents[0])

	s := newSpan(OpInvokeAgent, j.host, a)
	s.Events = slices.Concat(events, j.usageEvents(), j.rootHooks())
	if _, inherited := r.parent(&j.opts); inherited {
		s.Flags = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	s.Links = r.prev.links()
	switch j.outcome {
	case OutcomeFailed:
		fail(s, cmp.Or(class(j.cause.ErrorType), ErrorRun), j.cause.Message, j.end)
	case OutcomeAbandoned:
		fail(s, ErrorAbandoned, messageAbandoned, j.end)
	}
	sortEvents(s.Events)
	return s
}

// agentMessage is the span of a subagent.
func (j *joined) agentMessage(a *actor) *tracepb.Span {
	ended := a.ended
	at := texts(
		KeyOperation, OpInvokeAgent,
		KeyAgentName, a.name,
		KeyAgent, a.id,
		KeyConversationID, j.session,
	)
	if t := j.files.agents[a.id]; t != nil {
		at.texts(KeyInputMessages, TextMessages(RoleUser, j.opts.text(t.Task, j.opts.MaxInput)))
	}
	if ended != nil {
		at.texts(KeyOutputMessages, AnswerMessages(ended.Result, a.finish()))
		at.facts(&j.opts, ended)
	}
	for _, c := range a.requests {
		if c.Model != "" {
			at.texts(KeyProvider, j.standardProvider(c.Provider), KeyModel, c.Model)
			break
		}
	}
	j.usage(&at, a)
	s := newSpan(OpInvokeAgent, a.name, at)
	switch {
	case ended == nil && j.open && a.agent.gone == never:
	case ended == nil && a.agent.stopped:
		fail(s, ErrorAbandoned, messageStopped, a.end)
	case ended == nil:
		fail(s, ErrorAbandoned, messageAgentOpen, a.end)
	case ended.Kind == hook.KindRunError, ended.Kind == hook.KindRequestError:
		fail(s, cmp.Or(class(ended.ErrorType), ErrorRun), ended.Message, a.end)
	}
	return s
}

// finish returns why an agent's last answer ended, "" if that is not known or it asked for
// calls.
func (a *actor) finish() string {
	for _, c := range slices.Backward(a.requests) {
		if answers(c) && c.Error == "" {
			if reason := cmp.Or(finishReasons[c.FinishReason], c.FinishReason); reason != "tool_call" {
				return reason
			}
			return ""
		}
	}
	return ""
}

// rootEvents returns the events besides tools and requests, and the text that
// the run began with. Where the hooks report only prompts that the host wrote,
// those of the user come from the host's files.
func (j *joined) rootEvents() (events []*tracepb.Span_Event, task string) {
	// began reports that the run began with a text, whether or not it is captured.
	prompted, began := false, false
	for i, it := range slices.Concat(j.run.items, j.run.late) {
		switch it.Kind {
		case hook.KindPrompt:
			prompt := it.Prompt
			switch injected := it.injected(); {
			case !injected:
				prompted = true
				task = cmp.Or(task, it.Prompt)
			case j.turns():
				// The host's own prompt opened the turn; Message is its short form.
				prompted = true
				task = cmp.Or(task, j.opts.preview(cmp.Or(it.Message, it.Prompt), j.opts.MaxInput))
				prompt = cmp.Or(it.Message, prompt)
			}
			events = append(events, j.event(EventPrompt, it, prompt, j.opts.MaxInput))
		case hook.KindRunStart, hook.KindRunResume:
			task, began = cmp.Or(it.Prompt, task, it.Message), began || it.said
		case hook.KindCompact:
			events = append(events, j.event(EventCompaction, it, "", 0))
		case hook.KindNotification:
			e := j.event(EventNotification, it, it.Message, j.opts.MaxOutput)
			if i+1 < len(j.run.items) && otlp.Find(e.Attributes, KeyAwaitsUser).GetBoolValue() {
				// The host goes on when the user has acted.
				e.Attributes = append(e.Attributes, waited(it, j.run.items[i+1]))
			}
			events = append(events, e)
		case hook.KindNote, hook.KindSessionStart, hook.KindRequestError:
			e := j.event(EventNote, it, it.Message, j.opts.MaxOutput)
			e.Attributes = append(e.Attributes, texts(KeyEventName, it.Name)...)
			events = append(events, e)
		}
	}
	add := func(at time.Time, prompt string) {
		prompted = true
		events = append(events, spanEvent(EventPrompt, at, texts(KeyText, j.opts.preview(prompt, j.opts.MaxInput))))
	}
	if !prompted {
		for _, p := range j.own.prompts {
			prompt := j.opts.text(p.Text, MaxTaskRunes)
			task = cmp.Or(task, prompt)
			add(latest(p.At, j.start), prompt)
		}
	}
	if !prompted && began {
		add(j.run.from.At(), task)
	}
	return events, task
}

// sessionTask returns a preview of the session's first prompt, for a run that
// begins without one, such as a resumed task. A host's turns each have a prompt.
func (j *joined) sessionTask() string {
	if j.turns() || j.opts.Capture == CaptureNone {
		return ""
	}
	task := j.run.prev.Task
	for i := 0; task == "" && i < len(j.tr.Prompts); i++ {
		task = j.opts.Clean(j.tr.Prompts[i].Text, j.opts.MaxInput)
	}
	return termtext.Cut(task, j.opts.MaxInput)
}

// event returns a span event with a text and the item's own attributes.
func (j *joined) event(name string, it *item, said string, limit int) *tracepb.Span_Event {
	a := texts(KeyText, j.opts.preview(said, limit))
	a.facts(&j.opts, it)
	return spanEvent(name, it.At(), a)
}

// waited is how long the host waited for the user, from an event to the next.
func waited(from, to *item) *commonpb.KeyValue {
	return otlp.Int(KeyWaited, max(0, to.At().Sub(from.At()).Milliseconds()))
}

// links returns the link to the previous run's root, if there was one.
func (c Carry) links() []*tracepb.Span_Link {
	tid, err1 := trace.TraceIDFromHex(c.PrevTrace)
	sid, err2 := trace.SpanIDFromHex(c.PrevSpan)
	if err1 != nil || err2 != nil {
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

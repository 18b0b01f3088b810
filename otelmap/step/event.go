package step

import (
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Event is an event of a span as its readers see it. It shares the event's memory.
type Event struct{ event *tracepb.Span_Event }

// EventOf returns the event, which may be nil.
func EventOf(e *tracepb.Span_Event) Event { return Event{e} }

func (e Event) attrs() attrs { return e.event.GetAttributes() }

// Name is one of otelmap's Event values, or another program's.
func (e Event) Name() string { return e.event.GetName() }

// At is when it was.
func (e Event) At() time.Time { return otlp.Time(e.event.GetTimeUnixNano()) }

// Text is that of a prompt, a notification or a note.
func (e Event) Text() string { return e.attrs().text(otelmap.KeyText) }

// Prompt reports a prompt of the user: the agent program writes some itself.
func (e Event) Prompt() bool {
	return e.Name() == otelmap.EventPrompt && !e.attrs().flag(otelmap.KeyPromptInjected)
}

// AwaitsUser reports a notification of an agent that waits for its user.
func (e Event) AwaitsUser() bool { return e.attrs().flag(otelmap.KeyAwaitsUser) }

// Exception returns the type and the message of an exception.
func (e Event) Exception() (kind, message string) {
	return e.attrs().text(otelmap.KeyExceptionType), e.attrs().text(otelmap.KeyExceptionMessage)
}

// Usage is what requests without spans used, nil if unknown, UsageSource which these are:
// "deleted", "subagents" or "session".
func (e Event) Usage() *Usage { return e.attrs().usage() }

// UsageSource says which requests a usage is of.
func (e Event) UsageSource() string { return e.attrs().text(otelmap.KeyUsageSource) }

// Others are the attributes but the text, unchanged.
func (e Event) Others() []*commonpb.KeyValue {
	return slices.DeleteFunc(slices.Clone(e.attrs()), func(kv *commonpb.KeyValue) bool { return kv.GetKey() == otelmap.KeyText })
}

// Hook is a call of one of the user's hooks.
type Hook struct {
	// Event and Tool are what it ran for, Matcher the condition that the event matched.
	Event, Tool, Matcher string
	// Command is a preview, Source the file that has it.
	Command, Source string
	// Status is "ok", "error", "timeout", "not_started" or "async", Decision such as "deny", ""
	// if it made none, Reason the reason for it.
	Status, Decision, Reason string
	Started                  time.Time
	Took                     time.Duration
	// Exit is the exit code, Exited whether there is one.
	Exit   int64
	Exited bool
}

// Hook returns the call of a hook that an otelmap.EventHook is.
func (e Event) Hook() Hook {
	a := e.attrs()
	h := Hook{
		Event: a.text(otelmap.KeyHookEvent), Tool: a.text(otelmap.KeyHookTool), Matcher: a.text(otelmap.KeyHookMatcher),
		Command: e.HookCommand(), Source: a.text(otelmap.KeyHookSource),
		Status: a.text(otelmap.KeyHookStatus), Decision: a.text(otelmap.KeyHookDecision), Reason: e.HookReason(), Started: e.At(),
	}
	h.Took, _ = e.HookTook()
	h.Exit, h.Exited = otlp.Integer(a, otelmap.KeyHookExitCode)
	return h
}

// HookCommand is a preview of a hook's command.
func (e Event) HookCommand() string { return e.attrs().text(otelmap.KeyHookCommand) }

// HookReason is the reason for a hook's decision.
func (e Event) HookReason() string { return e.attrs().text(otelmap.KeyHookReason) }

// HookTook is how long a hook took, and whether that is known.
func (e Event) HookTook() (time.Duration, bool) {
	return e.attrs().milliseconds(otelmap.KeyHookDuration)
}

// HookEnd is how a hook ended.
func (e Event) HookEnd() otelmap.End {
	return otelmap.HookEnd(e.attrs().text(otelmap.KeyHookStatus), e.attrs().text(otelmap.KeyHookDecision))
}

// Waited is how long the host waited for the user, and whether it is known.
func (e Event) Waited() (time.Duration, bool) { return e.attrs().milliseconds(otelmap.KeyWaited) }

// Wait is a period in which an agent waited for its user. To is zero while it waits.
type Wait struct{ From, To time.Time }

// Waited is the wait for the approval of a call: from the question to the call's end, less
// the time that the agent says it ran, if it does.
func Waited(asked, end time.Time, ran time.Duration) Wait {
	end = end.Add(-max(0, ran))
	if end.Before(asked) {
		end = asked
	}
	return Wait{asked, end}
}

// Waits returns the periods in which a span waited for the user, as far as its events
// report them: those of a call for its approval, and on a root those of notifications.
func (s Step) Waits() (out []Wait) {
	last := len(s.span.GetEvents()) - 1
	for i, one := range s.span.GetEvents() {
		e := EventOf(one)
		switch e.Name() {
		case otelmap.EventPermission:
			ran, _ := s.Ran()
			if waited, ok := e.Waited(); ok {
				out = append(out, Wait{e.At(), e.At().Add(waited)})
			} else if s.End() == otelmap.EndRunning {
				out = append(out, Wait{From: e.At()})
			} else if end := s.Ended(); !end.IsZero() {
				out = append(out, Waited(e.At(), end, ran))
			}
		case otelmap.EventNotification:
			if waited, ok := e.Waited(); ok {
				out = append(out, Wait{e.At(), e.At().Add(waited)})
			} else if i == last && e.AwaitsUser() && s.End() == otelmap.EndRunning {
				out = append(out, Wait{From: e.At()})
			}
		}
	}
	return out
}

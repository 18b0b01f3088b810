package step

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Kind is what a span stands for. The store keeps the numbers.
type Kind uint8

// The kinds. KindOther is a span of another program.
const (
	KindOther Kind = iota
	// KindRun is the root span of a run, KindAgent that of a subagent.
	KindRun
	KindTool
	// KindRequest is a request to the model.
	KindRequest
	KindAgent
	// KindScript is a script that calls tools, which count in its place.
	KindScript
)

// Step is a span as its readers see it. It shares the span's memory.
type Step struct{ span *tracepb.Span }

// Of returns the step that a span is. The span may be nil, or one of a skimmer.
func Of(s *tracepb.Span) Step { return Step{s} }

// attrs are the attributes of a span, an event or a resource.
type attrs []*commonpb.KeyValue

// text returns an attribute as text, "" if it is absent. Other programs write ids as numbers
// and arguments as maps.
func (a attrs) text(key string) string { return otlp.Format(otlp.Find(a, key)) }

func (a attrs) list(key string) (out []string) {
	for _, v := range otlp.Find(a, key).GetArrayValue().GetValues() {
		out = append(out, v.GetStringValue())
	}
	return out
}

func (a attrs) flag(key string) bool { return otlp.Find(a, key).GetBoolValue() }

func (a attrs) count(key string) (int64, bool) {
	n, ok := otlp.Integer(a, key)
	if n < 0 {
		return 0, false
	}
	return n, ok
}

// milliseconds returns a duration that is in milliseconds.
func (a attrs) milliseconds(key string) (time.Duration, bool) {
	ms, ok := a.count(key)
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, ok
}

func (s Step) attrs() attrs { return s.span.GetAttributes() }

// Kind returns what the span stands for. A run is an agent that names its program, which no
// subagent does, or one that no span of its program is above: it has no parent, or a remote
// one.
func (s Step) Kind() Kind {
	switch s.operation() {
	case otelmap.OpExecuteTool:
		return KindTool
	case otelmap.OpChat:
		return KindRequest
	case otelmap.OpInvokeWorkflow:
		return KindScript
	case otelmap.OpInvokeAgent:
		if s.Host() != "" || !isSet(s.span.GetParentSpanId()) || s.span.GetFlags()&remoteParent == remoteParent {
			return KindRun
		}
		return KindAgent
	}
	return KindOther
}

// remoteParent are the flags of a span whose parent is known to be remote.
const remoteParent = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)

// isSet reports whether an id is valid: not all of its bytes are zero.
func isSet(id []byte) bool { return slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) }

// operation is the span's gen_ai.operation.name, else the first word of its name.
func (s Step) operation() string {
	if op := s.attrs().text(otelmap.KeyOperation); op != "" {
		return op
	}
	word, _, _ := strings.Cut(s.span.GetName(), " ")
	return word
}

// object is what follows the operation in a span's name.
func (s Step) object() string {
	_, rest, _ := strings.Cut(s.span.GetName(), " ")
	return rest
}

// Started returns the span's start.
func (s Step) Started() time.Time { return otlp.Start(s.span) }

// Ended returns the span's end, of a call that never reported one a guess.
func (s Step) Ended() time.Time { return otlp.End(s.span) }

// Took is the time from the start to the end. It is never negative, and 0 if either is not
// known.
func (s Step) Took() time.Duration {
	if s.span.GetStartTimeUnixNano() == 0 || s.span.GetEndTimeUnixNano() == 0 {
		return 0
	}
	return max(0, s.Ended().Sub(s.Started()))
}

// End returns how a run, a call or a request ended, or that it has not.
func (s Step) End() otelmap.End {
	a := s.attrs()
	if outcome := s.Outcome(); outcome != "" {
		return otelmap.OutcomeEnd(outcome)
	}
	switch a.text(otelmap.KeyErrorType) {
	case otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled:
		return otelmap.EndDenied
	case otelmap.ErrorToolUnfinished, otelmap.ErrorAbandoned:
		return otelmap.EndUnfinished
	}
	outcome := a.text(otelmap.KeyToolOutcome)
	switch {
	case s.span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR:
		return otelmap.EndFailed
	case s.span.GetEndTimeUnixNano() == 0:
		return otelmap.EndUnfinished
	case outcome == otelmap.ToolOutcomeUnknown:
		return otelmap.EndUnknown
	case outcome == otelmap.ToolOutcomeRunning:
		return otelmap.EndRunning
	}
	return otelmap.EndOK
}

// Failure is how a span failed or was denied. It is zero if it was not.
type Failure struct {
	// Kind is error.type, one of otelmap's Error values or the agent's class, or the exception's
	// type.
	Kind string
	// Message is the status's, which is one line if the agent has one; Whole is all that was
	// reported, the exception's.
	Message, Whole string
}

// Failure returns how the span failed. An exception in a span that did not was handled.
func (s Step) Failure() Failure {
	f := Failure{Kind: s.attrs().text(otelmap.KeyErrorType), Message: s.span.GetStatus().GetMessage()}
	if f.Kind == "" && !s.Failed() {
		return Failure{}
	}
	for _, e := range s.span.GetEvents() {
		if e.GetName() == otelmap.EventException {
			kind, message := EventOf(e).Exception()
			f.Kind, f.Whole = cmp.Or(f.Kind, kind), cmp.Or(message, f.Whole)
		}
	}
	f.Message, f.Whole = cmp.Or(f.Message, f.Whole), cmp.Or(f.Whole, f.Message)
	return f
}

// Failed reports whether the span has the status of an error.
func (s Step) Failed() bool { return s.span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR }

// Events yields the span's events in their order.
func (s Step) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, e := range s.span.GetEvents() {
			if !yield(EventOf(e)) {
				return
			}
		}
	}
}

// Name is the span's name.
func (s Step) Name() string { return s.span.GetName() }

// The parts of a call of a tool.

// Tool is the tool's name as the agent spells it, "" for what calls none.
func (s Step) Tool() string {
	name := s.attrs().text(otelmap.KeyToolName)
	if name == "" && s.operation() == otelmap.OpExecuteTool {
		return s.object()
	}
	return name
}

// CallID is the model's id of the call. Some models number their calls anew in each reply.
func (s Step) CallID() string { return s.attrs().text(otelmap.KeyToolCallID) }

// Server is the MCP server that has the tool.
func (s Step) Server() string { return s.attrs().text(otelmap.KeyMCPServer) }

// Own reports a tool of hookspan's MCP server, whose name is in the tool's where none is known.
func Own(server, tool string) bool { return strings.Contains(server+" "+tool, "hookspan") }

// Counted is how a call's end counts in sums, lists and findings: a question to hookspan is
// neither a failure nor a denial of the work.
func Counted(server, tool string, end otelmap.End) otelmap.End {
	if end.Bad() && Own(server, tool) {
		return otelmap.EndUnknown
	}
	return end
}

// Counted is how the end of the call counts.
func (s Step) Counted() otelmap.End { return Counted(s.Server(), s.Tool(), s.End()) }

// Folder is the one that the path in the call's input is in, of a workspace that has several.
func (s Step) Folder() string { return otelmap.Folder(s.attrs().text(otelmap.KeyFolder)) }

// Ran is how long the call ran by the agent's measure, which may include the time in which
// the user approved it, and whether there is one.
func (s Step) Ran() (time.Duration, bool) { return s.attrs().milliseconds(otelmap.KeyHostDuration) }

// DeniedBy is the command of the user's hook that denied the call, as the hook program or the
// agent reports it.
func (s Step) DeniedBy() string {
	by := s.attrs().text(otelmap.KeyHookDeniedBy)
	if by != "" || len(s.span.GetEvents()) == 0 || s.End() != otelmap.EndDenied {
		return by
	}
	for e := range s.Events() {
		if e.Name() == otelmap.EventHook && e.HookEnd() == otelmap.EndDenied {
			by = cmp.Or(by, e.HookCommand())
		}
	}
	return by
}

// InvokedBy is who asked for the skill whose text made the call.
func (s Step) InvokedBy() string { return s.attrs().text("hookspan.command.invoked_by") }

// Arguments are what the call was given, a preview unless everything is captured: JSON, or
// the beginning of it.
func (s Step) Arguments() string { return s.attrs().text(otelmap.KeyToolArguments) }

// Result is what a call that succeeded returned, a preview unless everything is captured.
func (s Step) Result() string { return s.attrs().text(otelmap.KeyToolResult) }

// Returned is what a call returned, of a failed one the exception's message.
func (s Step) Returned() string { return otelmap.Returned(s.span) }

// The parts of a request to the model, and of agents.

// Model is the model that a request or an agent was asked to use, else the one that answered.
func (s Step) Model() string {
	a := s.attrs()
	return cmp.Or(a.text(otelmap.KeyRequestModel), a.text(otelmap.KeyModel), a.text(otelmap.KeyResponseModel))
}

// Provider is the model's provider as the agent spells it, else the standard spelling.
func (s Step) Provider() string {
	return cmp.Or(s.attrs().text(otelmap.KeyHostProvider), s.attrs().text(otelmap.KeyProvider))
}

// ResponseID is the provider's id of the answer. Gateways repeat ids.
func (s Step) ResponseID() string { return s.attrs().text(otelmap.KeyResponseID) }

// RequestID is the provider's id of the request.
func (s Step) RequestID() string { return s.attrs().text(otelmap.KeyRequestID) }

// Finish is the agent's reason for a request that broke off.
func (s Step) Finish() string { return s.attrs().text(otelmap.KeyFinish) }

// Agent is the kind of the subagent that the span is, or the name of the agent whose it is.
func (s Step) Agent() string {
	name := s.attrs().text(otelmap.KeyAgentName)
	if name == "" && s.operation() == otelmap.OpInvokeAgent {
		return s.object()
	}
	return name
}

// AgentID is the agent program's id of a subagent.
func (s Step) AgentID() string { return s.attrs().text(otelmap.KeyAgent) }

// The parts of a run.

// Host is the agent program, such as "cline". Only the root span of a run has it.
func (s Step) Host() string { return s.attrs().text(otelmap.KeyHost) }

// HostVersion is that program's version.
func (s Step) HostVersion() string { return s.attrs().text(otelmap.KeyHostVersion) }

// Dialect is the wire form of the run's events.
func (s Step) Dialect() string { return s.attrs().text(otelmap.KeyDialect) }

// Session is the agent's id of the conversation, on all spans.
func (s Step) Session() string { return s.attrs().text(otelmap.KeyConversationID) }

// Directory is the working directory. A folder on a drive of Windows may have several
// spellings, of which otelmap.Folder makes one.
func (s Step) Directory() string { return s.attrs().text(otelmap.KeyWorkingDirectory) }

// Branch is the one at the end of a root, and of a request if that was made on another one.
func (s Step) Branch() string { return s.attrs().text(otelmap.KeyBranch) }

// BranchUnknown reports that it is not known on which branch a request was made, or that a root's
// is not that of all that it reports without a request.
func (s Step) BranchUnknown() bool { return s.attrs().flag(otelmap.KeyBranchUnknown) }

// Repository is the address of a root's repository, else its name.
func (s Step) Repository() string {
	return cmp.Or(s.attrs().text(otelmap.KeyRepositoryURL), s.attrs().text(otelmap.KeyRepositoryName))
}

// Source is how the session began just before the run, as otelmap.KeySessionSource.
func (s Step) Source() string { return s.attrs().text(otelmap.KeySessionSource) }

// Folders are those of a workspace that has several, the main one first.
func (s Step) Folders() []string { return s.attrs().list(otelmap.KeyFolders) }

// Commits are the ids of those that a call made.
func (s Step) Commits() []string { return s.attrs().list(otelmap.KeyCommits) }

// Outcome is how the run ended, one of otelmap's Outcome values.
func (s Step) Outcome() string { return s.attrs().text(otelmap.KeyOutcome) }

// Evidence is how much of the run is known, one of otelmap's values, and what is missing.
func (s Step) Evidence() (evidence, missing string) {
	return s.attrs().text(otelmap.KeyEvidence), s.attrs().text(otelmap.KeyEvidenceMissing)
}

// PermissionMode is the agent's approval mode.
func (s Step) PermissionMode() string { return s.attrs().text(otelmap.KeyPermissionMode) }

// Turns counts the turns that are joined in the root.
func (s Step) Turns() int64 {
	n, _ := s.attrs().count(otelmap.KeyTurns)
	return max(1, n)
}

// Calls counts the run's calls, and whether the root says. Failures are those that failed,
// were denied or never ended, unknown those of unknown outcome.
func (s Step) Calls() (calls, failures, unknown int64, ok bool) {
	calls, ok = s.attrs().count(otelmap.KeyToolCalls)
	failures, _ = s.attrs().count(otelmap.KeyToolFailures)
	unknown, _ = s.attrs().count(otelmap.KeyToolUnknown)
	return calls, failures, unknown, ok
}

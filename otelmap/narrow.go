package otelmap

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

// plainKeys are the attributes with strings that CaptureNone keeps: names, ids and kinds.
// The server of an MCP call may be from its input.
var plainKeys = []string{
	KeyOperation, KeyAgentName, KeyAgent, KeyModel, KeyFinishReasons, KeyConversationID, KeyProvider, KeyRequestModel, KeyResponseModel, KeyResponseID,
	KeyToolName, KeyWorkflowName, KeyToolType, KeyToolCallID, KeyErrorType, KeyExceptionType, KeyWorkingDirectory, KeyFolders, KeyFolder, KeyHost, KeyHostVersion, KeyHostApp,
	KeyRepositoryName, KeyRepositoryURL, KeyBranch, KeyRevision, KeyBranchUnknown, KeyCommits, KeyHostProvider, KeyDialect, KeyOutcome, KeyEvidence, KeyEvidenceMissing, KeyPromptID, KeyToolOutcome, KeyUser, KeyRequestID, KeyFinish, KeyUsageSource,
	KeySessionSource, KeyPermissionMode, KeyEventName, KeyHookEvent, KeyHookTool, KeyHookSource, KeyHookStatus, KeyHookDecision,
}

// Narrow returns the spans of a run, which were mapped with the options o but for a wider
// capture, as o.Capture gives them: a destination may get less text than is kept on this
// machine. The argument is not changed.
func (o Options) Narrow(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	host := ""
	results := make(map[string]bool)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		host = cmp.Or(host, otlp.Text(s.Attributes, KeyHost))
		results[otlp.Text(s.Attributes, KeyToolResult)] = true
	}
	agent := o.Agent
	o = o.withDefaults(host)
	o.Agent = agent // whose function of the server may be nil
	if o.Capture == CaptureFull {
		return m
	}
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		n := narrowing{Options: &o, span: s, kind: otlp.Text(s.Attributes, KeyOperation), results: results, server: o.serverIsPlain(s.Attributes)}
		if n.kind == OpInvokeWorkflow {
			n.kind = OpExecuteTool // a script is a call
		}
		if asked := Messages(otlp.Text(s.Attributes, KeyInputMessages)); n.kind == OpInvokeAgent && len(asked) > 0 {
			n.opened = asked[0].Role
		}
		if s.Status != nil {
			s.Status.Message = n.failureText(s.Status.Message)
		}
		for _, e := range s.GetEvents() {
			e.Attributes = n.attributes(e.Attributes, e.Name)
		}
		s.Attributes = n.attributes(s.Attributes, "")
	}
	return m
}

// ownMessages are the descriptions of failures that are hookspan's, not a program's texts.
var ownMessages = []string{messageDenied, messageCancelled, messageUnfinished, messageAbandoned, messageStopped, messageAgentOpen}

// narrowing leaves out what a span has too much of.
type narrowing struct {
	*Options
	span *tracepb.Span
	kind string
	// results are what the run's calls that succeeded returned: what a failed one returned
	// is cut elsewhere.
	results map[string]bool
	// server reports that the span's MCP server is no text.
	server bool
	// opened is the role of the prompt that a run began with.
	opened string
}

// serverIsPlain reports that the MCP server of a call is in the tool's name or from a member
// of the event, and not from the call's input, where it is a text.
func (o *Options) serverIsPlain(attrs []*commonpb.KeyValue) bool {
	return o.Agent.MCPServer == nil || o.Agent.MCPServer(otlp.Text(attrs, KeyToolName), "") == otlp.Text(attrs, KeyMCPServer)
}

// attributes narrows the attributes of the span, or of its event with a name.
func (n narrowing) attributes(attrs []*commonpb.KeyValue, event string) []*commonpb.KeyValue {
	return slices.DeleteFunc(attrs, func(kv *commonpb.KeyValue) bool {
		v, ok := kv.GetValue().GetValue().(*commonpb.AnyValue_StringValue)
		switch {
		case !ok:
			return n.Capture == CaptureNone && kv.GetValue().GetArrayValue() != nil && !slices.Contains(plainKeys, kv.GetKey())
		case slices.Contains(plainKeys, kv.GetKey()):
			return false
		case kv.GetKey() == KeyMCPServer || kv.GetKey() == KeyMCPMethod:
			return n.Capture == CaptureNone && !n.server
		}
		v.StringValue = n.value(kv.GetKey(), v.StringValue, event)
		return v.StringValue == ""
	})
}

// value narrows the text of one attribute.
func (n narrowing) value(key, text, event string) string {
	switch key {
	case KeyExceptionMessage:
		return n.failureText(text)
	case KeyInputMessages, KeyOutputMessages:
		return n.messages(key, text)
	case KeySystemInstructions:
		return ""
	case KeyInputValue:
		return n.text(text, n.promptLimit(n.opened))
	case KeyOutputValue:
		return n.text(text, MaxTaskRunes)
	case KeyToolArguments:
		return n.arguments(text)
	case KeyHookMatcher, KeyHookCommand, KeyHookDeniedBy, KeyHookStoppedBy:
		return n.text(text, n.MaxInput)
	case KeyText:
		if event == EventPrompt {
			return n.text(text, n.MaxInput)
		}
	}
	return n.text(text, n.MaxOutput)
}

// failureText narrows the description of the span's failure. What hookspan itself says is
// no text.
func (n narrowing) failureText(said string) string {
	first, _, _ := strings.Cut(said, "\n")
	by := otlp.Text(n.span.Attributes, KeyHookDeniedBy)
	reason, denied := strings.CutPrefix(said, deniedBy(by, ""))
	switch {
	case denied && n.kind == OpExecuteTool:
		return deniedBy(n.text(by, n.MaxInput), n.text(strings.TrimPrefix(reason, ": "), n.MaxOutput))
	case n.kind != OpExecuteTool && !slices.Contains(ownMessages, first):
		return n.text(said, n.MaxOutput)
	}
	return n.returned(said)
}

// returned narrows what a call that failed returned, which may follow hookspan's words.
func (n narrowing) returned(said string) string {
	first, rest, more := strings.Cut(said, "\n")
	switch {
	case !slices.Contains(ownMessages, first):
		return n.failure(said, n.MaxOutput)
	case more && n.Capture != CaptureNone:
		return first + "\n" + n.failure(rest, n.MaxOutput)
	}
	return first
}

// messages narrows the parts of messages, each as a text of its kind.
func (n narrowing) messages(key, text string) string {
	if n.Capture == CaptureNone {
		return ""
	}
	limit := MaxTaskRunes
	switch {
	case n.kind == OpChat && key == KeyOutputMessages:
		limit = n.MaxOutput
	case n.kind == OpChat || otlp.Text(n.span.Attributes, KeyHost) == "" && key == KeyInputMessages:
		limit = n.MaxInput
	}
	all := Messages(text)
	for i := range all {
		if i > 0 && key == KeyInputMessages {
			limit = min(limit, n.MaxInput)
		}
		all[i].Parts = slices.DeleteFunc(all[i].Parts, func(p Part) bool { return p.Type == PartReasoning })
		for j := range all[i].Parts {
			p := &all[i].Parts[j]
			p.Content = n.text(p.Content, min(limit, n.promptLimit(all[i].Role)))
			if n.results[p.Response] {
				p.Response = n.text(p.Response, n.MaxOutput)
			} else {
				p.Response = n.returned(p.Response)
			}
			p.Arguments = json.RawMessage(n.arguments(string(p.Arguments)))
		}
	}
	all = slices.DeleteFunc(all, func(m Message) bool { return len(m.Parts) == 0 })
	return encode(all...)
}

// promptLimit is the length of a run's first prompt: one that the agent program wrote is
// cut as those that follow.
func (n narrowing) promptLimit(role string) int {
	if role == RoleSystem {
		return n.MaxInput
	}
	return MaxTaskRunes
}

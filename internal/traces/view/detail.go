package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// maxLine bounds the text of a detail, in bytes: no terminal is wider.
const maxLine = 4096

// Details describe what a row did, each on one line that is safe for a terminal.
func (r *Row) Details() []string {
	var out []string
	switch {
	case r.event != nil:
		out = r.eventDetails()
	case r.Kind == KindTool:
		out = []string{r.Arguments().Line()}
	case r.Kind == KindChat:
		a := r.span.GetAttributes()
		out = append(usage(store.UsageOf(a)), line(otelmap.Answer(a)))
	case r.Kind == KindAgent:
		out = usage(store.UsageOf(r.span.GetAttributes()))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// Detail joins the details on one line.
func (r *Row) Detail() string { return strings.Join(r.Details(), " · ") }

// Said is what a request to the model said, on one line, and of other rows the details.
func (r *Row) Said() string {
	text := ""
	if r.Kind == KindChat {
		text = termtext.Line(termtext.Head(otelmap.Answer(r.Attributes()), 400))
	}
	return cmp.Or(text, r.Detail())
}

// Problem returns the type and the message of the span's error, unchanged. A type that
// says only that the agent named none is left out if there is a message.
func (r *Row) Problem() (kind, message string) {
	kind = otlp.Text(r.span.GetAttributes(), otelmap.KeyErrorType)
	message = r.span.GetStatus().GetMessage()
	for _, e := range r.span.GetEvents() {
		if e.GetName() == otelmap.EventException {
			kind = cmp.Or(kind, otlp.Text(e.GetAttributes(), otelmap.KeyExceptionType))
			message = cmp.Or(message, otlp.Text(e.GetAttributes(), otelmap.KeyExceptionMessage))
		}
	}
	if message != "" && (kind == otelmap.ErrorOther || kind == otelmap.ErrorRun) {
		kind = ""
	}
	return kind, message
}

// Field is a named text, unchanged.
type Field struct{ Name, Text string }

// fields are named texts that are not empty.
type fields []Field

func (f *fields) add(name, text string) {
	if text != "" {
		*f = append(*f, Field{name, text})
	}
}

// Fields returns the identifiers and the complete texts of a row.
func (r *Row) Fields() []Field { return append(r.ids(), r.texts()...) }

// ids are the names by which others know the row's span.
func (r *Row) ids() (out fields) {
	if r.span == nil {
		return nil
	}
	a := r.span.GetAttributes()
	out.add("span", otlp.SpanID(r.span))
	if r.Detached || r.Depth == 0 {
		out.add("parent", otlp.ParentID(r.span))
	}
	for _, l := range r.span.GetLinks() {
		out.add("link", fmt.Sprintf("%x %x", l.GetTraceId(), l.GetSpanId()))
	}
	out.add("call", otlp.Text(a, otelmap.KeyToolCallID))
	out.add("agent", otlp.Text(a, otelmap.KeyAgent))
	out.add("response", otlp.Text(a, otelmap.KeyResponseID))
	out.add("request", otlp.Text(a, otelmap.KeyRequestID))
	return out
}

// texts are those of which the details may show the beginning only.
func (r *Row) texts() (out fields) {
	a := r.Attributes()
	switch {
	case r.Event == otelmap.EventHook:
		out.add("matcher", otlp.Text(a, otelmap.KeyHookMatcher))
		out.add("command", otlp.Text(a, otelmap.KeyHookCommand))
		out.add("source", otlp.Text(a, otelmap.KeyHookSource))
		out.add("reason", otlp.Text(a, otelmap.KeyHookReason))
	case r.event != nil:
		// The details hold a short text completely.
		if text := otlp.Text(a, otelmap.KeyText); len(text) > 40 || strings.Contains(text, "\n") {
			out.add("text", text)
		}
	case r.Kind == KindTool:
		out.add("input", r.Arguments().Text)
		if result := otelmap.Returned(r.span); result != r.span.GetStatus().GetMessage() {
			out.add("result", result)
		}
	case r.Kind == KindChat:
		out.add("text", otelmap.Answer(a))
	case r.Kind == KindRun, r.Kind == KindAgent:
		out.add("task", otelmap.Task(a))
		out.add("result", otelmap.Answer(a))
	}
	return out
}

func (r *Row) eventDetails() []string {
	name, a := r.event.GetName(), r.event.GetAttributes()
	switch name {
	case otelmap.EventUsage:
		return append([]string{termtext.Line(otlp.Text(a, otelmap.KeyUsageSource))}, usage(store.UsageOf(a))...)
	case otelmap.EventHook:
		return hookDetails(a)
	case otelmap.EventNotification: // Fields has the rest.
		text, waits := otlp.Text(a, otelmap.KeyText), ""
		if otlp.Find(a, otelmap.KeyAwaitsUser).GetBoolValue() {
			waits = "waits for you"
		}
		return []string{waits, cmp.Or(NewArguments("", text).Line(), line(text))}
	}
	out := []string{line(otlp.Text(a, otelmap.KeyText))}
	for _, kv := range a {
		if kv.GetKey() == otelmap.KeyText {
			continue
		}
		key := strings.TrimPrefix(strings.TrimPrefix(kv.GetKey(), name+"."), "hookspan.")
		out = append(out, termtext.Line(key)+"="+line(otlp.Format(kv.GetValue())))
	}
	return out
}

// hookDetails describe one of the user's hooks: its event, its command and what
// it decided. Success is not mentioned.
func hookDetails(a []*commonpb.KeyValue) []string {
	decision, status := line(otlp.Text(a, otelmap.KeyHookDecision)), line(otlp.Text(a, otelmap.KeyHookStatus))
	if reason := line(otlp.Text(a, otelmap.KeyHookReason)); decision != "" && reason != "" {
		decision += ": " + reason
	} else {
		decision = cmp.Or(decision, reason)
	}
	switch status {
	case hook.HookOK:
		status = ""
	case hook.HookError:
		if code, ok := otlp.Integer(a, otelmap.KeyHookExitCode); ok {
			status = fmt.Sprintf("%s, exit code %d", status, code)
		}
	}
	return []string{line(otlp.Text(a, otelmap.KeyHookEvent)), line(otlp.Text(a, otelmap.KeyHookCommand)), status, decision}
}

func usage(u *store.Usage) []string {
	if u == nil {
		return nil
	}
	in := Tokens(u.Input) + " in"
	if u.CacheRead > 0 {
		in += " (" + Tokens(u.CacheRead) + " cached)"
	}
	out := []string{in, Tokens(u.Output) + " out"}
	if u.CostUSD != nil {
		out = append(out, Dollars(*u.CostUSD))
	}
	return out
}

// line returns the beginning of a text on one safe line.
func line(s string) string { return termtext.Line(termtext.HeadBytes(s, maxLine)) }

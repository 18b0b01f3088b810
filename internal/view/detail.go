package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
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
		a := r.span.GetAttributes()
		arguments := otlp.Text(a, otelmap.KeyToolArguments)
		if edits := Edits(otlp.Text(a, otelmap.KeyToolName), arguments); len(edits) > 0 {
			out = []string{paths(edits)}
		} else {
			out = []string{preview(arguments)}
		}
	case r.Kind == KindChat:
		a := r.span.GetAttributes()
		out = append(usage(store.UsageOf(a)), line(otelmap.Answer(a)))
	case r.Kind == KindAgent:
		out = usage(store.UsageOf(r.span.GetAttributes()))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
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

// Fields returns the identifiers and the complete texts of a row.
func (r *Row) Fields() []Field {
	var out []Field
	add := func(name, text string) {
		if text != "" {
			out = append(out, Field{name, text})
		}
	}
	switch {
	case r.event != nil && r.event.GetName() == otelmap.EventHook:
		a := r.event.GetAttributes()
		add("matcher", otlp.Text(a, otelmap.KeyHookMatcher))
		add("command", otlp.Text(a, otelmap.KeyHookCommand))
		add("source", otlp.Text(a, otelmap.KeyHookSource))
		add("reason", otlp.Text(a, otelmap.KeyHookReason))
	case r.event != nil:
		// The details hold a short text completely.
		if text := otlp.Text(r.event.GetAttributes(), otelmap.KeyText); len(text) > 40 || strings.Contains(text, "\n") {
			add("text", text)
		}
	case r.span != nil:
		a := r.span.GetAttributes()
		add("span", otlp.SpanID(r.span))
		if r.Detached || r.Depth == 0 {
			add("parent", otlp.ParentID(r.span))
		}
		for _, l := range r.span.GetLinks() {
			add("link", fmt.Sprintf("%x %x", l.GetTraceId(), l.GetSpanId()))
		}
		add("call", otlp.Text(a, otelmap.KeyToolCallID))
		add("agent", otlp.Text(a, otelmap.KeyAgent))
		add("response", otlp.Text(a, otelmap.KeyResponseID))
		add("request", otlp.Text(a, otelmap.KeyRequestID))
		add("task", taskOfSpan(r.span))
		add("input", otlp.Text(a, otelmap.KeyToolArguments))
		if result := otelmap.Returned(r.span); r.Kind == KindTool && result != r.span.GetStatus().GetMessage() {
			add("result", result)
		}
		if r.Kind == KindChat {
			add("text", otelmap.Answer(a))
		} else {
			add("result", otelmap.Answer(a))
		}
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
	in := tokens(u.Input) + " in"
	if u.CacheRead > 0 {
		in += " (" + tokens(u.CacheRead) + " cached)"
	}
	out := []string{in, tokens(u.Output) + " out"}
	if u.CostUSD != nil {
		out = append(out, dollars(*u.CostUSD))
	}
	return out
}

// line returns the beginning of a text on one safe line.
func line(s string) string { return termtext.Line(termtext.HeadBytes(s, maxLine)) }

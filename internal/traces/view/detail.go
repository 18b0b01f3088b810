package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
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
		for _, id := range r.step().Commits() {
			out = append(out, "commit "+line(termtext.Head(id, 8)))
		}
	case r.Kind == KindChat:
		out = append(usage(r.usage), line(r.step().Answer()))
	case r.Kind == KindAgent:
		out = usage(r.usage)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// Detail joins the details on one line.
func (r *Row) Detail() string { return strings.Join(r.Details(), " · ") }

// Said is what a request to the model said, on one line, and of other rows the details.
func (r *Row) Said() string {
	text := ""
	if r.Kind == KindChat {
		text = termtext.Line(termtext.Head(r.step().Answer(), 400))
	}
	return cmp.Or(text, r.Detail())
}

// Problem returns the type and the message of the span's error, unchanged. A type that
// says only that the agent named none is left out if there is a message.
func (r *Row) Problem() (kind, message string) {
	f := r.step().Failure()
	kind, message = f.Kind, f.Message
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
	one := r.step()
	out.add("span", otlp.SpanID(r.span))
	if r.Detached || r.Depth == 0 {
		out.add("parent", otlp.ParentID(r.span))
	}
	for _, l := range r.span.GetLinks() {
		out.add("link", fmt.Sprintf("%x %x", l.GetTraceId(), l.GetSpanId()))
	}
	out.add("call", one.CallID())
	out.add("commits", strings.Join(one.Commits(), " "))
	out.add("agent", one.AgentID())
	out.add("response", one.ResponseID())
	out.add("request", one.RequestID())
	return out
}

// texts are those of which the details may show the beginning only.
func (r *Row) texts() (out fields) {
	one := r.step()
	switch {
	case r.Event == otelmap.EventHook:
		h := step.EventOf(r.event).Hook()
		out.add("matcher", h.Matcher)
		out.add("command", h.Command)
		out.add("source", h.Source)
		out.add("reason", h.Reason)
	case r.event != nil:
		// The details hold a short text completely.
		if text := r.Note(); len(text) > 40 || strings.Contains(text, "\n") {
			out.add("text", text)
		}
	case r.Kind == KindTool:
		out.add("input", r.Arguments().Text)
		if result := one.Returned(); result != r.span.GetStatus().GetMessage() {
			out.add("result", result)
		}
	case r.Kind == KindChat:
		out.add("text", one.Answer())
	case r.Kind == KindRun, r.Kind == KindAgent:
		out.add("task", one.Task())
		out.add("result", one.Answer())
	}
	return out
}

func (r *Row) eventDetails() []string {
	e := step.EventOf(r.event)
	switch e.Name() {
	case otelmap.EventUsage:
		return append([]string{termtext.Line(e.UsageSource())}, usage(r.usage)...)
	case otelmap.EventHook:
		return hookDetails(e.Hook())
	case otelmap.EventNotification: // Fields has the rest.
		text, waits := e.Text(), ""
		if e.AwaitsUser() {
			waits = "waits for you"
		}
		return []string{waits, cmp.Or(NewArguments("", text).Line(), line(text))}
	}
	out := []string{line(e.Text())}
	for _, kv := range e.Others() {
		key := strings.TrimPrefix(strings.TrimPrefix(kv.GetKey(), e.Name()+"."), "hookspan.")
		out = append(out, termtext.Line(key)+"="+line(otlp.Format(kv.GetValue())))
	}
	return out
}

// hookDetails describe one of the user's hooks: its event, its command and what
// it decided. Success is not mentioned.
func hookDetails(h step.Hook) []string {
	decision, status := line(h.Decision), line(h.Status)
	if reason := line(h.Reason); decision != "" && reason != "" {
		decision += ": " + reason
	} else {
		decision = cmp.Or(decision, reason)
	}
	switch status {
	case hook.HookOK:
		status = ""
	case hook.HookError:
		if h.Exited {
			status = fmt.Sprintf("%s, exit code %d", status, h.Exit)
		}
	}
	return []string{line(h.Event), line(h.Command), status, decision}
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

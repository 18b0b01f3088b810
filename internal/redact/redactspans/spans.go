// Package redactspans removes secrets from the texts of spans. It is apart from
// package redact so that programs which redact texts alone link no Protocol Buffers.
package redactspans

import (
	"slices"
	"strings"
	"unicode/utf8"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact"
)

// Clean returns the message with r.Tail applied to every text in it: names, status
// messages, and the attributes of spans, events, links and resources. The argument is
// not changed; where no text changes, which is usual, it is returned itself.
func Clean(r *redact.Redactor, message *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	w := texts{r: r}
	if w.message(message); !w.found {
		return message
	}
	w.write = true
	message = proto.CloneOf(message)
	w.message(message)
	return message
}

// CleanAgain is Clean, and removes the values that were removed elsewhere in the task from its
// texts. A value that is also a path's, a host's, a user's, a branch's or an identifier's part in
// the task, or all of one, stays.
func CleanAgain(r *redact.Redactor, message *tracepb.ResourceSpans, values []redact.Value) *tracepb.ResourceSpans {
	message = Clean(r, message)
	if len(values) == 0 {
		return message
	}
	look := again{values: slices.Clone(values)}
	look.message(message)
	if len(look.values) == 0 || !look.found {
		return message
	}
	look.write = true
	message = proto.CloneOf(message)
	look.message(message)
	return message
}

// Secrets are the values that CleanAgain would remove from texts beside those of a task.
func Secrets(task []*tracepb.ResourceSpans, values []redact.Value) []redact.Value {
	look := again{values: values}
	for _, message := range task {
		look.message(message)
	}
	return look.values
}

// again takes values to the texts of a message, or drops those that are names in it.
type again struct {
	values []redact.Value
	// write says to change the texts; found is set when a text has one of the values.
	write, found bool
}

func (a *again) message(m *tracepb.ResourceSpans) {
	a.attributes(m.GetResource().GetAttributes())
	for _, scope := range m.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			a.name(s.Name)
			if s.Status != nil {
				a.text(&s.Status.Message)
			}
			a.attributes(s.Attributes)
			for _, e := range s.GetEvents() {
				a.attributes(e.Attributes)
			}
		}
	}
}

func (a *again) attributes(attrs []*commonpb.KeyValue) {
	for _, kv := range attrs {
		if v, ok := kv.GetValue().GetValue().(*commonpb.AnyValue_StringValue); !ok {
			for _, e := range kv.GetValue().GetArrayValue().GetValues() { // such as a workspace's folders
				a.name(e.GetStringValue())
			}
		} else if slices.Contains(messages, kv.GetKey()) || slices.Contains(ofTexts, kv.GetKey()) {
			a.text(&v.StringValue)
		} else {
			a.name(v.StringValue)
		}
	}
}

// ofTexts are the attributes with texts, besides messages: what was said, given and returned.
var ofTexts = []string{
	string(semconv.GenAIToolCallArgumentsKey), string(semconv.GenAIToolCallResultKey), string(semconv.ExceptionMessageKey),
	"input.value", "output.value", "hookspan.text", "hookspan.hook.command", "hookspan.hook.reason",
	"hookspan.hook.denied_by", "hookspan.hook.stopped_by", "hookspan.completion.command",
}

// name drops the values that are in a name.
func (a *again) name(s string) {
	if !a.write {
		a.values = slices.DeleteFunc(a.values, func(v redact.Value) bool { return strings.Contains(s, v.Text) })
	}
}

func (a *again) text(s *string) {
	if a.write {
		*s = redact.Again(*s, a.values)
		return
	}
	a.values = slices.DeleteFunc(a.values, func(v redact.Value) bool {
		has := strings.Contains(*s, v.Text)
		names := has && v.Names(*s)
		a.found = a.found || has && !names
		return names
	})
}

// texts takes Tail to the texts of a message.
type texts struct {
	r *redact.Redactor
	// write says to change the texts; found is set when one of them changes.
	write, found bool
	// raw is memory for the JSON of a text.
	raw []byte
}

func (w *texts) text(s *string) { w.replace(s, w.r.Tail(*s)) }

func (w *texts) replace(s *string, out string) {
	if *s != out {
		if w.found = true; w.write {
			*s = out
		}
	}
}

func (w *texts) message(m *tracepb.ResourceSpans) {
	w.attributes(m.GetResource().GetAttributes())
	for _, scope := range m.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			w.span(s)
		}
	}
}

func (w *texts) span(s *tracepb.Span) {
	w.text(&s.Name)
	if s.Status != nil {
		w.text(&s.Status.Message)
	}
	w.attributes(s.Attributes)
	for _, e := range s.GetEvents() {
		w.text(&e.Name)
		w.attributes(e.Attributes)
	}
	for _, l := range s.GetLinks() {
		w.attributes(l.GetAttributes())
	}
}

// attributes keeps the keys: they are names out of the project's own table.
func (w *texts) attributes(attrs []*commonpb.KeyValue) {
	for _, kv := range attrs {
		v, ok := kv.GetValue().GetValue().(*commonpb.AnyValue_StringValue)
		switch {
		case ok && slices.Contains(messages, kv.GetKey()):
			w.json(&v.StringValue)
		case ok && kv.GetKey() == string(semconv.GenAIToolCallArgumentsKey):
			w.replace(&v.StringValue, rawjson.Clean(v.StringValue, w.r.Tail))
		default:
			w.value(kv.GetValue())
		}
	}
}

// messages are the attributes with JSON that must keep its form.
var messages = []string{
	string(semconv.GenAIInputMessagesKey), string(semconv.GenAIOutputMessagesKey), string(semconv.GenAISystemInstructionsKey),
}

// json is text for JSON: each text in it, and then what the texts are together, such as a
// name and its value, unless that would leave no JSON.
func (w *texts) json(s *string) {
	whole := *s
	// Most texts have no secret: only one that has is worth building a value.
	w.raw = append(w.raw[:0], whole...)
	for inner := range rawjson.Strings(w.raw) {
		if w.r.Tail(inner) != inner {
			whole = rawjson.InStrings(whole, w.r.Tail)
			break
		}
	}
	if out := w.r.Tail(whole); out != whole && rawjson.Check([]byte(out)) == nil {
		whole = out
	}
	w.replace(s, whole)
}

func (w *texts) value(v *commonpb.AnyValue) {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		w.text(&v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		if utf8.Valid(v.BytesValue) {
			text := string(v.BytesValue)
			if w.text(&text); w.write {
				v.BytesValue = []byte(text)
			}
		}
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			w.value(e)
		}
	case *commonpb.AnyValue_KvlistValue:
		w.attributes(v.KvlistValue.GetValues())
	}
}

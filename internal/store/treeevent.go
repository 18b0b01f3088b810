package store

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
)

// eventDetail is the event's text, else its attributes.
func (p *treePrinter) eventDetail(n *node) string {
	a := attrs(n.event.Attributes)
	var parts []string
	if text := clean(cutBytes(a.str(otelmap.KeyText), maxPreview)); text != "" {
		parts = append(parts, text)
	}
	if n.event.Name == otelmap.EventUsage {
		return p.join(clean(a.str(otelmap.KeyUsageSource)), p.usage(a.usage()))
	}
	if n.event.Name == otelmap.EventHook {
		return p.hookDetail(a)
	}
	for _, kv := range n.event.Attributes {
		if kv.Key != otelmap.KeyText {
			parts = append(parts, shortKey(kv.Key, n.event.Name)+"="+clean(cutBytes(kv.Value.String(), maxPreview)))
		}
	}
	return p.join(parts...)
}

// hookDetail is what one of the user's own hooks was asked about and said; that
// all went well goes without saying.
func (p *treePrinter) hookDetail(a attrs) string {
	text := func(k attribute.Key) string { return clean(cutBytes(a.str(k), maxPreview)) }
	said, status := text(otelmap.KeyHookDecision), text(otelmap.KeyHookStatus)
	if reason := text(otelmap.KeyHookReason); said != "" && reason != "" {
		said += ": " + reason
	} else {
		said = cmp.Or(said, reason)
	}
	switch status {
	case hook.HookOK:
		status = ""
	case hook.HookError:
		if code, ok := a.num(otelmap.KeyHookExitCode); ok {
			status = fmt.Sprintf("%s, exit code %d", status, code)
		}
	}
	return p.join(text(otelmap.KeyHookEvent), text(otelmap.KeyHookCommand), status, said)
}

// eventTook is how long an event took, of the few that have a length.
func eventTook(e *sdktrace.Event) string {
	if ms, ok := attrs(e.Attributes).num(otelmap.KeyHookDuration); ok {
		return duration(time.Duration(ms) * time.Millisecond)
	}
	return ""
}

// shortKey leaves out of an attribute's name what the event's name says.
func shortKey(k attribute.Key, event string) string {
	s := strings.TrimPrefix(string(k), event+".")
	return clean(strings.TrimPrefix(s, "hookspan."))
}

package view

import (
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Attributes returns the attributes of the row's event or span, unchanged.
func (r *Row) Attributes() []*commonpb.KeyValue {
	if r.event != nil {
		return r.event.GetAttributes()
	}
	return r.span.GetAttributes()
}

func (r *Row) step() step.Step { return step.Of(r.span) }

// Note returns the text of an event.
func (r *Row) Note() string { return step.EventOf(r.event).Text() }

// HookReason returns the reason for a hook's decision.
func (r *Row) HookReason() string { return step.EventOf(r.event).HookReason() }

// Duration formats d in at most six columns up to a hundred days.
func Duration(d time.Duration) string { return duration(d) }

// Counts describes the tokens, the cost and the tool calls of a trace, each on one
// line.
func Counts(s *store.Summary) []string {
	out := usage(s.Usage)
	if s.Tools > 0 {
		tools := termtext.Plural(s.Tools, "call")
		if not := toolCounts(s, " failed", " denied", " unknown"); not != nil {
			tools += " (" + strings.Join(not, ", ") + ")"
		}
		out = append(out, tools)
	}
	if s.Waited > 0 {
		out = append(out, "waited "+duration(s.Waited))
	}
	return out
}

package otelmap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// attrs collects the attributes of a span or an event.
type attrs []*commonpb.KeyValue

// texts returns attributes from pairs of a key and a text, without empty texts.
func texts(pairs ...string) attrs {
	a := make(attrs, 0, len(pairs)/2)
	a.texts(pairs...)
	return a
}

func (a *attrs) texts(pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			*a = append(*a, otlp.String(pair[0], pair[1]))
		}
	}
}

// num adds a number; zero counts.
func (a *attrs) num(key string, v int64) { *a = append(*a, otlp.Int(key, v)) }

// flag adds a flag that is set.
func (a *attrs) flag(key string, set bool) {
	if set {
		*a = append(*a, otlp.Bool(key, true))
	}
}

// usage adds token counts, each by what key makes of its key, and the cost. total is the
// input with cache reads and writes. The host's own input count is added if hostInput is
// set.
func (a *attrs) usage(u *hook.Usage, total int64, hostInput bool, key func(string) string) {
	if u.InputUnknown {
		a.num(key(KeyOutputTokens), u.Output)
		return
	}
	a.num(key(KeyInputTokens), total)
	a.num(key(KeyOutputTokens), u.Output)
	a.num(key(KeyCacheReadTokens), u.CacheRead)
	a.num(key(KeyCacheWriteTokens), u.CacheWrite)
	if u.Reasoning > 0 {
		a.num(key(KeyReasoningTokens), u.Reasoning)
	}
	if hostInput {
		a.num(KeyHostInputTokens, u.Input)
	}
	if u.CostUSD != nil {
		*a = append(*a, otlp.Float(KeyCost, *u.CostUSD))
	}
}

// facts adds the events' own attributes, texts cleaned. If several events have
// an attribute, the first counts.
func (a *attrs) facts(o *Options, items ...*item) {
	for _, it := range items {
		if it == nil {
			continue
		}
		for _, f := range it.Attrs {
			if otlp.Find(*a, f.Key) != nil {
				continue
			}
			switch v := f.Value.(type) {
			case string:
				if f.Key != KeyMCPServer && !slices.Contains(plainKeys, f.Key) { // a server that is a text is left out before
					v = o.text(v, o.MaxOutput)
				}
				a.texts(f.Key, v)
			case bool:
				*a = append(*a, otlp.Bool(f.Key, v))
			case int64:
				a.num(f.Key, v)
			case int:
				a.num(f.Key, int64(v))
			case float64:
				*a = append(*a, otlp.Float(f.Key, v))
			}
		}
	}
}

func spanEvent(name string, at time.Time, a attrs) *tracepb.Span_Event {
	return &tracepb.Span_Event{Name: name, TimeUnixNano: otlp.UnixNano(at), Attributes: a}
}

func sortEvents(events []*tracepb.Span_Event) {
	slices.SortStableFunc(events, func(x, y *tracepb.Span_Event) int { return cmp.Compare(x.TimeUnixNano, y.TimeUnixNano) })
}

// fail marks a span as failed: status, error.type and an exception event.
func fail(s *tracepb.Span, kind, message string, at time.Time) {
	failWith(s, kind, message, message, at)
}

// failWith is fail with a longer message for the exception.
func failWith(s *tracepb.Span, kind, message, whole string, at time.Time) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: otlp.ValidText(message)}
	s.Attributes = append(s.Attributes, otlp.String(KeyErrorType, kind))
	s.Events = append(s.Events, spanEvent(EventException, at, texts(KeyExceptionType, kind, KeyExceptionMessage, whole)))
}

// class returns a host's kind of error, or "" for a sentence: error.type has few
// values, and sentences are subject to the capture level.
func class(s string) string {
	const word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/"
	if len(s) > 100 || strings.Trim(s, word) != "" {
		return ""
	}
	return s
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package view

import (
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/store"
)

// Attributes returns the attributes of the row's event or span, unchanged.
func (r *Row) Attributes() []*commonpb.KeyValue {
	if r.event != nil {
		return r.event.GetAttributes()
	}
	return r.span.GetAttributes()
}

// Duration formats d in at most six columns up to a hundred days.
func Duration(d time.Duration) string { return duration(d) }

// Tokens formats a count in at most five columns up to a thousand millions.
func Tokens(n int64) string { return tokens(n) }

// Dollars formats a cost with two decimals from a dollar on, else with four.
func Dollars(usd float64) string { return dollars(usd) }

// Usage describes tokens and cost, each on one line. A nil usage has none.
func Usage(u *store.Usage) []string { return usage(u) }

// OutcomeStatus returns the status of a run that ended so.
func OutcomeStatus(outcome string) Status { return outcomeStatus(outcome) }

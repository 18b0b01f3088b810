package instruments

import (
	"slices"
	"strings"
)

// Span is a span as either side has it.
type Span interface {
	// Text returns an attribute as text, and Number one that is a number.
	Text(key string) (text string, ok bool)
	Number(key string) (n float64, ok bool)
	// Times are the start and the end in nanoseconds since 1970, zero if unknown.
	Times() (start, end uint64)
	// Status is the name of the status code, such as STATUS_CODE_OK.
	Status() string
}

// Sample is what a span adds to a series: to a sum its value, to a histogram an observation of it.
type Sample struct {
	// Instrument is a place in Table.
	Instrument int
	// Attributes has keys and values in turn. Samples of one span may share it.
	Attributes []string
	Value      float64
}

// Samples returns what a span adds, in the same order for equal spans.
func Samples(s Span) []Sample {
	call := known(s, callAttributes...)
	call = append(call, status, s.Status())
	var took float64
	if start, end := s.Times(); start > 0 && end > start {
		took = float64(end-start) / 1e9
	}
	out := []Sample{{Calls, call, 1}, {Duration, call, took}}
	add := func(instrument int, key string, attributes ...string) {
		if n, ok := s.Number(key); ok && n >= 0 && n < 1e15 { // A negative one would take from a total.
			out = append(out, Sample{instrument, attributes, n})
		}
	}
	switch op, _ := s.Text(operation); {
	case IsRun(s):
		who := []string{agent, text(s, agent), runModel, text(s, runModel)}
		for _, t := range []string{"input", "output"} {
			attributes := append([]string{TokenType, t}, who...)
			// A run without a request span has the second.
			add(RunTokens, "hookspan.usage."+t+"_tokens", attributes...)
			add(RunTokens, "gen_ai.usage."+t+"_tokens", attributes...)
		}
		add(RunCost, "hookspan.cost.usd", who...)
	case op == "chat":
		which := []string{provider, text(s, provider), model, text(s, model)}
		request := slices.Concat([]string{operation, op}, which)
		add(TokenUsage, "gen_ai.usage.input_tokens", append([]string{TokenType, "input"}, request...)...)
		add(TokenUsage, "gen_ai.usage.output_tokens", append([]string{TokenType, "output"}, request...)...)
		out = append(out, Sample{OperationDuration, append(request, known(s, failure)...), took})
		add(CacheRead, "gen_ai.usage.cache_read.input_tokens", which...)
		// The second is the conventions' latest name; a request has one of them.
		add(CacheWritten, "gen_ai.usage.cache_creation.input_tokens", which...)
		add(CacheWritten, "gen_ai.usage.cache_write.input_tokens", which...)
		add(Cost, "hookspan.cost.usd", which...)
	}
	return out
}

// IsRun reports whether the span is that of a run.
func IsRun(s Span) bool {
	_, ok := s.Text(outcome)
	return ok
}

// Imported reports whether the span says that its session was imported.
func Imported(s Span) bool { return isSet(s, "hookspan.imported") }

// OfTest reports whether the span is of hookspan test.
func OfTest(s Span) bool { return isSet(s, Test) }

func isSet(s Span, key string) bool {
	v, _ := s.Text(key)
	return v == "true"
}

// known returns the attributes of the span with these keys.
func known(s Span, keys ...string) []string {
	out := make([]string, 0, 2*len(keys)+2)
	for _, k := range keys {
		if v, ok := s.Text(k); ok {
			out = append(out, k, Cut(v))
		}
	}
	return out
}

func text(s Span, key string) string {
	if v, ok := s.Text(key); ok {
		return Cut(v)
	}
	return "unknown"
}

// maxValue bounds the values of attributes, in bytes.
const maxValue = 200

// Cut returns an attribute's value: valid UTF-8, without which a scrape would fail. It is a
// copy where it is shorter: a part would keep the whole in memory.
func Cut(s string) string {
	if len(s) > maxValue {
		s = strings.Clone(s[:maxValue])
	}
	return strings.ToValidUTF8(s, "")
}

package agentmetrics

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// metric is one of the metrics. With bounds it is a histogram, else a monotonic sum.
type metric struct {
	name, description, unit string
	bounds                  []float64
}

const (
	calls = iota
	duration
	tokenUsage
	cacheRead
	cacheWritten
	cost
	runTokens
	runCost
	importedSpans
	repeatedSpans
)

var metrics = [...]metric{
	calls:    {name: "agent.calls", description: "Spans: runs, tool calls, requests to a model"},
	duration: {name: "agent.duration", description: "How long they took", unit: "s", bounds: durationBounds},
	tokenUsage: {
		name: "gen_ai.client.token.usage", description: "Tokens of a request to a model; input includes what the cache read and wrote",
		unit: "{token}", bounds: []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304},
	},
	cacheRead:     {name: "hookspan.cache_read.tokens", description: "Tokens that requests read from the prompt cache; part of the input", unit: "{token}"},
	cacheWritten:  {name: "hookspan.cache_creation.tokens", description: "Tokens that requests wrote to the prompt cache; part of the input", unit: "{token}"},
	cost:          {name: "hookspan.cost.usd", description: "US dollars for requests to a model, where a price is known"},
	runTokens:     {name: "hookspan.run.tokens", description: "Tokens of whole runs; input includes what the cache read and wrote", unit: "{token}"},
	runCost:       {name: "hookspan.run.cost.usd", description: "US dollars for whole runs, where a price is known"},
	importedSpans: {name: "hookspan.imported.spans", description: "Spans of imported sessions, which no other metric counts"},
	repeatedSpans: {name: "hookspan.repeated.spans", description: "Spans that came again, which no other metric counts"},
}

// durationBounds are in seconds. Tools take milliseconds to minutes, requests to a
// model seconds to minutes, runs minutes to hours: from a second on a bound is at most
// twice, from half a minute on at most one and a half times the one before.
var durationBounds = []float64{
	0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 450, 600, 750, 900,
	1200, 1500, 1800, 2700, 3600, 5400, 7200, 10800, 14400, 21600, 28800,
}

// callLabels are the attributes that distinguish calls, where they have them.
var callLabels = []string{
	"gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.provider.name", "gen_ai.request.model",
	"error.type", "hookspan.outcome",
}

var ownLabels = append([]string{
	"gateway", "service.name", "status.code", "gen_ai.token.type", "hookspan.model", "otel.metric.overflow", "job", "instance", "le",
}, callLabels...)

// sample is what a span adds to a series. labels alternates keys and values.
type sample struct {
	metric int
	labels []string
	value  float64
}

// samples returns what a span adds.
func samples(span ptrace.Span) []sample {
	a := span.Attributes()
	labels := make([]string, 0, 2*len(callLabels)+2)
	for _, k := range callLabels {
		if v, ok := a.Get(k); ok {
			labels = append(labels, k, cut(v.AsString()))
		}
	}
	labels = append(labels, "status.code", "STATUS_CODE_"+strings.ToUpper(span.Status().Code().String()))
	var took float64
	if span.EndTimestamp() > span.StartTimestamp() {
		took = float64(span.EndTimestamp()-span.StartTimestamp()) / 1e9
	}
	out := []sample{{calls, labels, 1}, {duration, labels, took}}
	add := func(metric int, key string, labels ...string) {
		if v, ok := number(a, key); ok {
			out = append(out, sample{metric, labels, v})
		}
	}
	switch {
	case isRun(span):
		who := []string{"gen_ai.agent.name", text(a, "gen_ai.agent.name"), "hookspan.model", text(a, "hookspan.model")}
		for _, t := range []string{"input", "output"} {
			labels := append([]string{"gen_ai.token.type", t}, who...)
			// A run without a request span has the second.
			add(runTokens, "hookspan.usage."+t+"_tokens", labels...)
			add(runTokens, "gen_ai.usage."+t+"_tokens", labels...)
		}
		add(runCost, "hookspan.cost.usd", who...)
	case text(a, "gen_ai.operation.name") == "chat":
		model := []string{"gen_ai.provider.name", text(a, "gen_ai.provider.name"), "gen_ai.request.model", text(a, "gen_ai.request.model")}
		add(tokenUsage, "gen_ai.usage.input_tokens", append([]string{"gen_ai.token.type", "input"}, model...)...)
		add(tokenUsage, "gen_ai.usage.output_tokens", append([]string{"gen_ai.token.type", "output"}, model...)...)
		add(cacheRead, "gen_ai.usage.cache_read.input_tokens", model...)
		// The second is the conventions' latest name; a request has one of them.
		add(cacheWritten, "gen_ai.usage.cache_creation.input_tokens", model...)
		add(cacheWritten, "gen_ai.usage.cache_write.input_tokens", model...)
		add(cost, "hookspan.cost.usd", model...)
	}
	return out
}

// isRun reports whether the span is that of a run.
func isRun(span ptrace.Span) bool {
	_, ok := span.Attributes().Get("hookspan.outcome")
	return ok
}

// imported reports whether attributes are of a session that was imported.
func imported(a pcommon.Map) bool { return isSet(a, "hookspan.imported") }

// isSet reports whether an attribute is true.
func isSet(a pcommon.Map, key string) bool {
	v, ok := a.Get(key)
	return ok && v.AsString() == "true"
}

func text(a pcommon.Map, key string) string {
	if v, ok := a.Get(key); ok {
		return cut(v.AsString())
	}
	return "unknown"
}

// maxValue bounds the values of labels, in bytes.
const maxValue = 200

// cut returns a label's value: valid UTF-8, without which a scrape would fail. It is a
// copy where it is shorter: a part would keep the whole in memory.
func cut(s string) string {
	if len(s) > maxValue {
		s = strings.Clone(s[:maxValue])
	}
	return strings.ToValidUTF8(s, "")
}

// number returns a count. A negative one, which would take from a total, is none.
func number(a pcommon.Map, key string) (float64, bool) {
	v, ok := a.Get(key)
	if !ok {
		return 0, false
	}
	n := v.Double()
	if v.Type() == pcommon.ValueTypeInt {
		n = float64(v.Int())
	}
	return n, n >= 0 && n < 1e15
}

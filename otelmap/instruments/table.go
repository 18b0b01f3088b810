package instruments

// Instrument is a metric. With bounds it is a histogram, else a monotonic sum.
type Instrument struct {
	Name, Description, Unit string
	// Bounds are the upper bounds of the buckets, without infinity.
	Bounds []float64
}

// The instruments, as places in Table.
const (
	Calls = iota
	Duration
	TokenUsage
	OperationDuration
	CacheRead
	CacheWritten
	Cost
	RunTokens
	RunCost
	// ImportedSpans and RepeatedSpans are those of a Collector alone.
	ImportedSpans
	RepeatedSpans
)

// Table has all instruments. The bounds of gen_ai.client are those that the conventions advise.
var Table = [...]Instrument{
	Calls:    {Name: "agent.calls", Description: "Spans: runs, tool calls, requests to a model"},
	Duration: {Name: "agent.duration", Description: "How long they took", Unit: "s", Bounds: durationBounds},
	TokenUsage: {
		Name: "gen_ai.client.token.usage", Description: "Tokens of a request to a model; input includes what the cache read and wrote", Unit: "{token}",
		Bounds: []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
	},
	OperationDuration: {
		Name: "gen_ai.client.operation.duration", Description: "How long a request to a model took", Unit: "s",
		Bounds: []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
	},
	CacheRead:     {Name: "hookspan.cache_read.tokens", Description: "Tokens that requests read from the prompt cache; part of the input", Unit: "{token}"},
	CacheWritten:  {Name: "hookspan.cache_creation.tokens", Description: "Tokens that requests wrote to the prompt cache; part of the input", Unit: "{token}"},
	Cost:          {Name: "hookspan.cost.usd", Description: "US dollars for requests to a model, where a price is known"},
	RunTokens:     {Name: "hookspan.run.tokens", Description: "Tokens of whole runs; input includes what the cache read and wrote", Unit: "{token}"},
	RunCost:       {Name: "hookspan.run.cost.usd", Description: "US dollars for whole runs, where a price is known"},
	ImportedSpans: {Name: "hookspan.imported.spans", Description: "Spans of imported sessions, which no other metric counts"},
	RepeatedSpans: {Name: "hookspan.repeated.spans", Description: "Spans that came again, which no other metric counts"},
}

// durationBounds are in seconds. Tools take milliseconds to minutes, requests to a
// model seconds to minutes, runs minutes to hours: from a second on a bound is at most
// twice, from half a minute on at most one and a half times the one before.
var durationBounds = []float64{
	0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 450, 600, 750, 900,
	1200, 1500, 1800, 2700, 3600, 5400, 7200, 10800, 14400, 21600, 28800,
}

// Named returns the instrument with a name, or nil.
func Named(name string) *Instrument {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// The attributes that others name: of a token's type, of the series that takes what a limit of
// series leaves out, of the resource, and of a trace on request.
const (
	TokenType  = "gen_ai.token.type" //nolint:gosec // The name of an attribute.
	Overflow   = "otel.metric.overflow"
	Service    = "service.name"
	Instance   = "service.instance.id"
	Repository = "vcs.repository.name"
)

// Test is the gauge that tries an endpoint.
const Test = "hookspan.test"

const (
	operation, agent, tool   = "gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name"
	provider, model          = "gen_ai.provider.name", "gen_ai.request.model"
	failure, outcome, status = "error.type", "hookspan.outcome", "status.code"
	runModel                 = "hookspan.model"
)

// callAttributes distinguish calls, where they have them.
var callAttributes = []string{operation, agent, tool, provider, model, failure, outcome}

// Attributes are all that samples have.
var Attributes = append([]string{status, TokenType, runModel, Overflow}, callAttributes...)

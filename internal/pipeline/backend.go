package pipeline

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/config"
)

// knownBackend is what is known of a backend. docs/backends.md has a section with its name
// and shows in it.
type knownBackend struct {
	name string
	// shows says what its pages have of a trace.
	shows string
	// tried reports that tests ask a real one for it. If false, shows is by its
	// documentation or source.
	tried bool
	// hosts are the ends of its hosts' names. Where it runs elsewhere, it is recognised by
	// a header, its usual port, or the end of the path.
	hosts              []string
	header, port, path string
}

// backends are those that can be recognised by the configured address.
var backends = []knownBackend{
	{
		name: "Langfuse", hosts: []string{"langfuse.com"}, path: "/api/public/otel/v1/traces", header: "x-langfuse-ingestion-version",
		shows: "Sessions, users, prompts, answers, tokens and cost are filled. A failed call has no output: its error is the status message.",
	},
	{
		name: "Phoenix", tried: true, hosts: []string{"phoenix.arize.com"}, port: "6006",
		shows: "Sessions, users, messages, arguments, results, tokens and cost are filled. The list of spans has no input for requests and calls.",
	},
	{
		name: "MLflow", tried: true, header: "x-mlflow-experiment-id",
		shows: "Sessions, users, requests, responses, tokens and cost are filled. A failed call has no output: its error is an event.",
	},
	{
		name: "Datadog", hosts: []string{"datadoghq.com", "datadoghq.eu", "ddog-gov.com"}, header: "dd-otlp-source",
		shows: "Sessions, messages, arguments, results and tokens are filled. Without the header dd-otlp-source=llmobs the spans are not in LLM Observability.",
	},
	{
		name: "SigNoz", hosts: []string{"signoz.cloud", "signoz.io"}, header: "signoz-ingestion-key",
		shows: "Models, calls, agents, tokens, first inputs and last outputs are filled. There are no sessions: filter by gen_ai.conversation.id.",
	},
	{
		name: "Honeycomb", hosts: []string{"honeycomb.io"}, header: "x-honeycomb-team",
		shows: "The Agent Timeline has conversations, agents and messages. Cost is the column hookspan.cost.usd.",
	},
	{
		name: "LangSmith", hosts: []string{"smith.langchain.com"}, header: "langsmith-project",
		shows: "Runs, messages, arguments, results and tokens are filled. Threads and users are not: filter by gen_ai.conversation.id.",
	},
	{
		name: "Braintrust", hosts: []string{"braintrust.dev"}, header: "x-bt-parent",
		shows: "Messages, arguments, results and tokens are filled. Sessions are attributes.",
	},
	{
		name: "Weave", hosts: []string{"wandb.ai", "wandb.io"}, header: "wandb-api-key",
		shows: "Messages, arguments, results and tokens are filled. There are no threads: filter by gen_ai.conversation.id.",
	},
	{
		name: "Grafana Tempo", hosts: []string{"grafana.net"},
		shows: "All attributes can be searched with TraceQL. Attributes over 2,048 bytes are cut, unless the limit max_attribute_bytes is raised.",
	},
	{
		name: "New Relic", hosts: []string{"nr-data.net"},
		shows: "Messages, tokens and errors are filled. Attributes over 4,095 characters are cut.",
	},
	{
		name: "Dash0", hosts: []string{"dash0.com"},
		shows: "Conversations, messages, tokens and errors are filled. Cost is the attribute hookspan.cost.usd.",
	},
}

// recognise returns the backend that an OTLP endpoint with such headers is of, nil for one
// that may be any, such as a Collector.
func recognise(endpoint string, headers map[string]string) *knownBackend {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	i := slices.IndexFunc(backends, func(b knownBackend) bool {
		return slices.ContainsFunc(b.hosts, func(h string) bool { return host == h || strings.HasSuffix(host, "."+h) })
	})
	if i < 0 {
		i = slices.IndexFunc(backends, func(b knownBackend) bool {
			for name := range headers {
				if b.header != "" && strings.EqualFold(name, b.header) {
					return true
				}
			}
			return b.port != "" && u.Port() == b.port || b.path != "" && strings.HasSuffix(u.Path, b.path)
		})
	}
	if i < 0 {
		return nil
	}
	return &backends[i]
}

// backend returns the name of the backend behind a destination and what it shows, "" if it
// is not recognised.
func (s *Setup) backend(destination string) (name, shows string) {
	if destination != config.ExporterOTLP {
		return "", ""
	}
	o := s.Config.OTLP()
	b := recognise(o.Endpoint, o.Headers)
	switch {
	case b == nil:
		return "", ""
	case b.tried:
		return b.name, b.shows
	}
	return b.name, "By its documentation: " + b.shows
}

package config

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is the whole configuration. Fields are plain values that may be
// changed after Load, such as a secret taken from the keyring. The rows of table
// describe the variables that the tags name.
type Config struct {
	Exporters   []string `env:"HOOKSPAN_EXPORTERS"`
	FilePath    string   `env:"HOOKSPAN_FILE_PATH"`
	Traceparent string   `env:"HOOKSPAN_TRACEPARENT"`

	Disabled bool `env:"HOOKSPAN_DISABLED"`
	// DisabledProjects are those of the side that counts; see PrivateFolders.
	DisabledProjects string `env:"HOOKSPAN_DISABLED_PROJECTS"`

	Capture         string        `env:"HOOKSPAN_CAPTURE"`
	OTLPCapture     string        `env:"HOOKSPAN_OTLP_CAPTURE"`
	InfiniumCapture string        `env:"HOOKSPAN_INFINIUM_CAPTURE"`
	FileCapture     string        `env:"HOOKSPAN_FILE_CAPTURE"`
	MaxInput        int           `env:"CONNECTOR_MAX_INPUT_PREVIEW"`
	MaxOutput       int           `env:"CONNECTOR_MAX_OUTPUT_PREVIEW"`
	IdleTimeout     time.Duration `env:"HOOKSPAN_IDLE_TIMEOUT"`
	UsageCost       bool          `env:"HOOKSPAN_USAGE_COST"`

	Redact     bool   `env:"HOOKSPAN_REDACT"`
	RedactFile string `env:"HOOKSPAN_REDACT_FILE"`

	MaxEventBytes int64         `env:"HOOKSPAN_MAX_EVENT_BYTES"`
	SpoolSync     string        `env:"HOOKSPAN_SPOOL_SYNC"`
	SpoolMaxBytes int64         `env:"HOOKSPAN_SPOOL_MAX_BYTES"`
	Retention     time.Duration `env:"HOOKSPAN_RETENTION"`
	StoreMaxBytes int64         `env:"HOOKSPAN_STORE_MAX_BYTES"`
	MCP           bool          `env:"HOOKSPAN_MCP"`
	ConfigFile    string        `env:"HOOKSPAN_CONFIG_FILE"`

	Hooks           bool   `env:"HOOKSPAN_HOOKS"`
	HooksOnError    string `env:"HOOKSPAN_HOOKS_ON_ERROR"`
	HooksStrictExit bool   `env:"HOOKSPAN_HOOKS_STRICT_EXIT"`
	HooksSoftDeny   bool   `env:"HOOKSPAN_HOOKS_SOFT_DENY"`
	HooksAsk        string `env:"HOOKSPAN_HOOKS_ASK"`
	HooksDebug      bool   `env:"HOOKSPAN_HOOKS_DEBUG"`

	// Managed reports that users can only tighten what the machine-wide file sets.
	Managed bool `env:"HOOKSPAN_MANAGED"`

	// Proxies are as HTTP clients read them from the environment.
	HTTPSProxy string `env:"HTTPS_PROXY"`
	HTTPProxy  string `env:"HTTP_PROXY"`
	NoProxy    string `env:"NO_PROXY"`
	// HeadersCommand is the program that prints headers of OTLP requests.
	HeadersCommand string `env:"HOOKSPAN_OTLP_HEADERS_COMMAND"`
	// OTLPAccount names the account of the OTLP credential.
	OTLPAccount string `env:"HOOKSPAN_OTLP_ACCOUNT"`

	AllowInsecure bool `env:"HOOKSPAN_ALLOW_INSECURE"`
	// AllowOtherUsers sends to programs of other people on this machine.
	AllowOtherUsers bool `env:"HOOKSPAN_ALLOW_OTHER_USERS"`

	InfiniumAgentID     string `env:"INFINIUM_AGENT_ID"`
	InfiniumAgentSecret Secret `env:"INFINIUM_AGENT_SECRET"`
	InfiniumBaseURL     string `env:"INFINIUM_BASE_URL"`
	InfiniumGranularity string `env:"HOOKSPAN_INFINIUM_GRANULARITY"`

	// Export holds the OTLP variables; one for traces replaces the general one.
	Export      OTLP   `envPrefix:"OTEL_EXPORTER_OTLP_"`
	ServiceName string `env:"OTEL_SERVICE_NAME"`
	Resource    string `env:"OTEL_RESOURCE_ATTRIBUTES"`
	// TracesExporter is "none" if the otlp destination is to be off.
	TracesExporter string `env:"OTEL_TRACES_EXPORTER"`
	// Stability is a comma list of opt-ins, see LatestNames.
	Stability   string `env:"OTEL_SEMCONV_STABILITY_OPT_IN"`
	SDKDisabled bool   `env:"OTEL_SDK_DISABLED"`

	// StateDir holds the spool, the local store and the log; ConfigDir holds
	// the env file and the redaction rules. Both are absolute, or empty if no
	// home folder is known, which is a problem that Load reports.
	StateDir  string
	ConfigDir string
	// MachineFile is the machine-wide file if it counts.
	MachineFile string

	goos   string
	vars   map[string]string // the environment's
	values map[string]*value
	// refused are the destinations that are off because address and credential
	// are from different sides.
	refused map[string]*Problem
	// ownFile is the env file in the configuration folder.
	ownFile string
	// ineffective are the standard variables without effect.
	ineffective map[string]bool
	// held reports that the machine-wide file is managed.
	held bool
	// unread is the problem with an env file that cannot be read.
	unread *Problem
	read   func(string) ([]byte, error)
	salt   func(string) ([]byte, error)
}

// table has all variables in the order of the reference page. It is not part of
// the tags because each hook process would scan them again for every key.
var table = [...]variable{
	{group: "Destinations", name: "HOOKSPAN_EXPORTERS", whenWrong: "store", kind: "exporters", allowed: "a comma list of store, otlp, infinium, file", doc: "Where traces go. Unset: store, and each other that is configured. A wrong value counts as store."},
	{name: "HOOKSPAN_FILE_PATH", kind: "abspath", allowed: "an absolute path", doc: "File that receives traces as OTLP JSON lines. A link is refused, and so is a file of another user or that others can write to."},
	{name: "HOOKSPAN_TRACEPARENT", kind: "traceparent", allowed: "a W3C traceparent such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", doc: "Trace context that becomes the parent of each task."},

	{group: "Recording", name: "HOOKSPAN_DISABLED", byDefault: "false", whenWrong: "true", kind: "bool", allowed: "true, false", doc: "Switches recording off. A wrong value counts as true."},
	{name: disabledProjects, texts: true, whenWrong: "/", kind: "folders", allowed: "absolute paths with commas between them, which may begin with ~ and have * in a part", doc: "Folders in which nothing is recorded or imported, with all below them: `~/private, ~/clients/*/keys`. * is any text within one part of a path; symbolic links are followed. Those of the files and the environment add up. A wrong value counts as /, every folder."},
	{name: "HOOKSPAN_CAPTURE", texts: true, byDefault: "preview", whenWrong: "none", kind: "oneof", allowed: "preview, none, full", doc: "How much of prompts, tool inputs and results is put on spans. A wrong value counts as none."},
	{name: "HOOKSPAN_OTLP_CAPTURE", texts: true, whenWrong: "none", kind: "oneof", allowed: "preview, none, full", doc: "How much of that goes to the OTLP endpoint, at most HOOKSPAN_CAPTURE. Unset: as much. A wrong value counts as none."},
	{name: "HOOKSPAN_INFINIUM_CAPTURE", texts: true, whenWrong: "none", kind: "oneof", allowed: "preview, none, full", doc: "The same as HOOKSPAN_OTLP_CAPTURE, for Infinium."},
	{name: "HOOKSPAN_FILE_CAPTURE", texts: true, whenWrong: "none", kind: "oneof", allowed: "preview, none, full", doc: "The same as HOOKSPAN_OTLP_CAPTURE, for the file."},
	{name: "CONNECTOR_MAX_INPUT_PREVIEW", texts: true, byDefault: "0", whenWrong: "1", kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Longest preview of a tool's input in characters; 0 means 200 on Cline, 500 on other agents. A wrong value counts as 1."},
	{name: "CONNECTOR_MAX_OUTPUT_PREVIEW", texts: true, byDefault: "0", whenWrong: "1", kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Longest preview of a tool's result in characters; 0 means 300 on Cline, 500 on other agents. A wrong value counts as 1."},
	{name: "HOOKSPAN_IDLE_TIMEOUT", byDefault: "30m", kind: "duration", lowest: "1s", highest: "8760h", allowed: "a duration such as 30m, from 1s to 8760h", doc: "How long a task may stay silent before it counts as abandoned."},
	{name: "HOOKSPAN_USAGE_COST", byDefault: "false", kind: "bool", allowed: "true, false", doc: "Adds the cost of each request as gen_ai.usage.cost, which Langfuse reads, for otlp and file. hookspan.cost.usd is always there."},

	{group: "Secrets in texts", name: "HOOKSPAN_REDACT", texts: true, byDefault: "true", kind: "bool", allowed: "true, false", doc: "Removes secrets from every text before it is stored or sent. false counts in the env file alone."},
	{name: redactFile, texts: true, kind: "abspath", allowed: "an absolute path", doc: "File with more patterns to remove, one name and regular expression per line. Unset: redact.rules beside the env file, if it exists."},

	{group: "Local files", name: "HOOKSPAN_MAX_EVENT_BYTES", byDefault: "1MiB", kind: "size", lowest: "4KiB", highest: "32MiB", allowed: "a size such as 512KiB, from 4KiB to 32MiB", doc: "Largest hook payload that is kept whole; in larger ones long texts are cut."},
	{name: "HOOKSPAN_SPOOL_SYNC", byDefault: "boundary", kind: "oneof", allowed: "boundary, always, never", doc: "When events are forced to disk: before a delivery, at every event, or whenever the system sees fit."},
	{name: "HOOKSPAN_SPOOL_MAX_BYTES", byDefault: "1GiB", kind: "size", lowest: "1MiB", highest: "1TiB", allowed: "a size such as 1GiB, from 1MiB to 1TiB", doc: "Size of the event spool above which the oldest finished sessions are removed."},
	{name: "HOOKSPAN_RETENTION", byDefault: "720h", kind: "duration", lowest: "0s", highest: "876000h", allowed: "a duration such as 720h, or 0 for no limit", doc: "How long the local store keeps a trace, from its end or its import, whichever is later; 0 keeps it forever."},
	{name: "HOOKSPAN_STORE_MAX_BYTES", byDefault: "2GiB", kind: "size", lowest: "16MiB", highest: "1TiB", allowed: "a size such as 2GiB, from 16MiB to 1TiB", doc: "Size of the local store above which the oldest traces are removed. `hookspan status` shows how many."},
	{name: "HOOKSPAN_MCP", byDefault: "true", whenWrong: "false", kind: "bool", allowed: "true, false", doc: "Whether agents may ask about earlier tasks (`hookspan mcp`). A wrong value counts as false."},
	{name: configFile, kind: "abspath", allowed: "an absolute path", doc: "Env file to read instead of hookspan.env, whose settings that the environment may only tighten, and limits of spans, still count. Only read from the process environment."},

	{group: "Custom hooks on Cline", name: "HOOKSPAN_HOOKS", guards: true, byDefault: "true", kind: "bool", allowed: "true, false", doc: "Runs the Claude-format hooks in hooks.json when Cline works. Of this and the next three settings the environment may tighten what the env file says, not loosen it."},
	{name: "HOOKSPAN_HOOKS_ON_ERROR", guards: true, byDefault: "limits", whenWrong: "deny", kind: "oneof", allowed: "limits, allow, deny", doc: "What happens to a tool call whose hooks have not decided: limits denies it if resources or time ran out or your hooks.json cannot be opened; allow never denies it; deny also denies it, and a prompt, if a hook fails, a hooks.json is not valid or a matcher is not a valid expression. A wrong value counts as deny."},
	{name: "HOOKSPAN_HOOKS_STRICT_EXIT", guards: true, byDefault: "false", whenWrong: "true", kind: "bool", allowed: "true, false", doc: "Makes every exit code of a hook other than 0 block; in Claude Code only 2 does. A wrong value counts as true."},
	{name: "HOOKSPAN_HOOKS_SOFT_DENY", byDefault: "false", kind: "bool", allowed: "true, false", doc: "Lets Cline's SDK (CLI 3) continue after a denied command, read or edit."},
	{name: "HOOKSPAN_HOOKS_ASK", guards: true, byDefault: "host", whenWrong: "deny", kind: "oneof", allowed: "host, deny", doc: "What a hook's ask or defer means: host leaves it to Cline's own approval, deny denies. A wrong value counts as deny."},
	{name: "HOOKSPAN_HOOKS_DEBUG", byDefault: "false", kind: "bool", allowed: "true, false", doc: "Writes each decision about your hooks into the log."},

	{group: "Whole machine", name: managedName, byDefault: "false", whenWrong: "true", kind: "bool", allowed: "true, false", doc: "In the machine-wide file alone: its settings are fixed. A wrong value counts as true."},

	{group: "Budgets", name: budgetPrefix + "DAY_USD", fileOnly: true, kind: "usd", lowest: "0.01", highest: "1000000000", allowed: "US dollars from 0.01", doc: "What the tasks of a day [may cost](asking.md#budgets), by list prices. For budgets your env file and the machine-wide file count alone."},
	{name: budgetPrefix + "WEEK_USD", fileOnly: true, kind: "usd", lowest: "0.01", highest: "1000000000", allowed: "US dollars from 0.01", doc: "The same for a week."},
	{name: budgetPrefix + "DAY_TOKENS", fileOnly: true, kind: "int", lowest: "1", highest: "1000000000000000", allowed: "a whole number from 1", doc: "The tokens of a day, cached ones too."},
	{name: budgetPrefix + "WEEK_TOKENS", fileOnly: true, kind: "int", lowest: "1", highest: "1000000000000000", allowed: "a whole number from 1", doc: "The same for a week."},
	{name: budgetPrefix + "PLAN_PERCENT", fileOnly: true, kind: "int", lowest: "1", highest: "100", allowed: "percent, 1 to 100", doc: "The share of each window of a plan."},
	{name: budgetPrefix + "WARN", fileOnly: true, byDefault: "80", kind: "int", lowest: "1", highest: "100", allowed: "percent, 1 to 100", doc: "From which share of a budget there is a warning."},
	{name: budgetWebhook, fileOnly: true, kind: "url", allowed: "an http or https URL", secret: true, doc: "Gets messages about budgets by POST."},

	{group: "Network", name: "HTTPS_PROXY", kind: "proxy", allowed: "a URL such as http://proxy.example:3128", doc: "Proxy for https destinations."},
	{name: "HTTP_PROXY", kind: "proxy", allowed: "a URL such as http://proxy.example:3128", doc: "Proxy for http destinations."},
	{name: "NO_PROXY", kind: "text", allowed: "host names, domains and networks with commas between them", doc: "Destinations that are reached without a proxy. This machine always is."},
	{name: headersCommand, kind: "abspath", allowed: "an absolute path", doc: "Program that prints headers of OTLP requests within 5 s, for tokens that expire: `Name: value` lines, or a JSON object. `expires_in` says for how many seconds they are good; else until the endpoint answers 401. Only read from your env file and the machine-wide file."},
	{name: otlpAccount, kind: "text", allowed: "any text", doc: "Name of the account that the OTLP key is of, for keys from the environment that change with each shell or job. Unset: the user of Basic, the issuer, subject and audience of a JWT, else the key itself. What was recorded for one account is not sent under the key of another."},

	{group: "Safety", name: "HOOKSPAN_ALLOW_INSECURE", byDefault: "false", kind: "bool", allowed: "true, false", doc: "Lets credentials travel over cleartext http to other hosts. For those of the env file and the keyring it counts in the env file alone."},
	{name: allowOtherUsers, byDefault: "false", kind: "bool", allowed: "true, false", doc: "Allows destinations at localhost that a program of another person serves. Services, containers and root are always allowed. Counts in your env file and the machine-wide file alone."},

	{group: "Infinium", name: "INFINIUM_AGENT_ID", kind: "id", allowed: "letters, digits and - _ . : up to 200 characters", doc: "The agent's id."},
	{name: "INFINIUM_AGENT_SECRET", kind: "token", allowed: "printable ASCII without spaces", secret: true, doc: "The agent's secret. Unset: taken from the system's keyring."},
	{name: "INFINIUM_BASE_URL", byDefault: "https://platform.i42m.ai/api/v1", kind: "baseurl", allowed: "an http or https URL", doc: "Address of the Infinium API."},
	{name: "HOOKSPAN_INFINIUM_GRANULARITY", byDefault: "turn", kind: "oneof", allowed: "turn, session", doc: "What one Infinium trace holds: each task by itself, or all tasks of a session when it ends."},

	{group: "OpenTelemetry", name: otlpPrefix + "ENDPOINT", kind: "url", allowed: "an http or https URL such as http://localhost:4318", doc: "OTLP endpoint; /v1/traces is appended."},
	{name: otlpPrefix + "TRACES_ENDPOINT", general: otlpPrefix + "ENDPOINT", kind: "url", allowed: "an http or https URL such as http://localhost:4318/v1/traces", doc: "OTLP endpoint for traces, used as it is."},
	{name: otlpPrefix + "HEADERS", kind: "headers", allowed: "name=value pairs with commas between them, values percent-encoded", secret: true, doc: "Headers of each OTLP request."},
	{name: otlpPrefix + "TRACES_HEADERS", general: otlpPrefix + "HEADERS", kind: "headers", allowed: "name=value pairs with commas between them, values percent-encoded", secret: true, doc: "As OTEL_EXPORTER_OTLP_HEADERS, which it replaces."},
	{name: otlpPrefix + "TIMEOUT", byDefault: "10000", kind: "millis", lowest: "1", highest: "3600000", allowed: "milliseconds from 1 to 3600000", doc: "Longest wait for one OTLP request, in milliseconds."},
	{name: otlpPrefix + "TRACES_TIMEOUT", general: otlpPrefix + "TIMEOUT", kind: "millis", lowest: "1", highest: "3600000", allowed: "milliseconds from 1 to 3600000", doc: "As OTEL_EXPORTER_OTLP_TIMEOUT, which it replaces."},
	{name: otlpPrefix + "COMPRESSION", byDefault: "none", kind: "oneof", allowed: "none, gzip", doc: "Compression of OTLP requests."},
	{name: otlpPrefix + "TRACES_COMPRESSION", general: otlpPrefix + "COMPRESSION", kind: "oneof", allowed: "none, gzip", doc: "As OTEL_EXPORTER_OTLP_COMPRESSION, which it replaces."},
	{name: otlpPrefix + "PROTOCOL", byDefault: "http/protobuf", kind: "protocol", allowed: "http/protobuf, http/json", doc: "OTLP transport. grpc is not supported: name an endpoint that speaks OTLP over HTTP."},
	{name: otlpPrefix + "TRACES_PROTOCOL", general: otlpPrefix + "PROTOCOL", kind: "protocol", allowed: "http/protobuf, http/json", doc: "As OTEL_EXPORTER_OTLP_PROTOCOL, which it replaces."},
	{name: otlpPrefix + "CERTIFICATE", kind: "abspath", allowed: "an absolute path", doc: "PEM file with the endpoint's authorities."},
	{name: otlpPrefix + "TRACES_CERTIFICATE", general: otlpPrefix + "CERTIFICATE", kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CERTIFICATE, which it replaces."},
	{name: otlpPrefix + "CLIENT_CERTIFICATE", kind: "abspath", allowed: "an absolute path", doc: "PEM file with the client's certificate."},
	{name: otlpPrefix + "TRACES_CLIENT_CERTIFICATE", general: otlpPrefix + "CLIENT_CERTIFICATE", kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, which it replaces."},
	{name: otlpPrefix + "CLIENT_KEY", kind: "abspath", allowed: "an absolute path", doc: "PEM file with the client's private key."},
	{name: otlpPrefix + "TRACES_CLIENT_KEY", general: otlpPrefix + "CLIENT_KEY", kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CLIENT_KEY, which it replaces."},
	{name: "OTEL_SERVICE_NAME", kind: "text", allowed: "any text", doc: "The service.name of the spans. Unset: service.name in OTEL_RESOURCE_ATTRIBUTES, else the agent's name."},
	{name: "OTEL_RESOURCE_ATTRIBUTES", kind: "resource", allowed: "key=value pairs with commas between them, values percent-encoded", doc: "Attributes of the spans' resource."},
	{name: tracesExporter, kind: "text", allowed: "none, or any other name, which has no effect", doc: "none switches the otlp destination off, unless HOOKSPAN_EXPORTERS names it."},
	{name: "OTEL_ATTRIBUTE_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Most attributes of a span, an event and a link that otlp gets. This and the next limits count in your env file and the machine-wide file alone, and for otlp alone."},
	{name: "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Longest text of an attribute that otlp gets, in characters. JSON stays JSON."},
	{name: "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "As OTEL_ATTRIBUTE_COUNT_LIMIT, which it replaces for spans."},
	{name: "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "As OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, which it replaces for spans."},
	{name: "OTEL_SPAN_EVENT_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Most events of a span that otlp gets: the newest."},
	{name: "OTEL_SPAN_LINK_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "Most links of a span that otlp gets."},
	{name: "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "As OTEL_ATTRIBUTE_COUNT_LIMIT, which it replaces for events."},
	{name: "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", fileOnly: true, kind: "int", lowest: "0", highest: "1000000", allowed: "a whole number from 0 to 1000000", doc: "As OTEL_ATTRIBUTE_COUNT_LIMIT, which it replaces for links."},
	{name: stabilityOptIn, kind: "text", allowed: "a comma list; gen_ai_latest_experimental has a meaning here", doc: "With gen_ai_latest_experimental, otlp and file get the names of the latest GenAI conventions (see Names in a trace), if their address is in the same place, the env file or the environment."},
	{name: "OTEL_SDK_DISABLED", byDefault: "false", kind: "otelbool", allowed: "true, false", doc: "Switches recording off, as HOOKSPAN_DISABLED does."},

	{group: "Metrics", name: "HOOKSPAN_METRICS", fileOnly: true, byDefault: "false", kind: "bool", allowed: "true, false", doc: "Counts what is recorded from then on, of all projects, and sends OTLP metrics with each delivery. For metrics your env file and the machine-wide file count alone."},
	{name: "HOOKSPAN_METRICS_REPOSITORY", fileOnly: true, byDefault: "false", kind: "bool", allowed: "true, false", doc: "Adds the name of a task's repository to its metrics, as vcs.repository.name."},
	{name: metricsPrefix + "ENDPOINT", fileOnly: true, kind: "url", allowed: "an http or https URL such as http://localhost:4318/v1/metrics", doc: "OTLP endpoint for metrics, used as it is. Unset: OTEL_EXPORTER_OTLP_ENDPOINT, to which /v1/metrics is appended."},
	{name: metricsPrefix + "HEADERS", fileOnly: true, kind: "headers", allowed: "name=value pairs with commas between them, values percent-encoded", secret: true, doc: "As OTEL_EXPORTER_OTLP_HEADERS, which it replaces for metrics."},
	{name: metricsPrefix + "TIMEOUT", fileOnly: true, kind: "millis", lowest: "1", highest: "3600000", allowed: "milliseconds from 1 to 3600000", doc: "As OTEL_EXPORTER_OTLP_TIMEOUT, which it replaces for metrics."},
	{name: metricsPrefix + "COMPRESSION", fileOnly: true, kind: "oneof", allowed: "none, gzip", doc: "As OTEL_EXPORTER_OTLP_COMPRESSION, which it replaces for metrics."},
	{name: metricsPrefix + "PROTOCOL", fileOnly: true, kind: "protocol", allowed: "http/protobuf, http/json", doc: "As OTEL_EXPORTER_OTLP_PROTOCOL, which it replaces for metrics."},
	{name: metricsPrefix + "CERTIFICATE", fileOnly: true, kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CERTIFICATE, which it replaces for metrics."},
	{name: metricsPrefix + "CLIENT_CERTIFICATE", fileOnly: true, kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, which it replaces for metrics."},
	{name: metricsPrefix + "CLIENT_KEY", fileOnly: true, kind: "abspath", allowed: "an absolute path", doc: "As OTEL_EXPORTER_OTLP_CLIENT_KEY, which it replaces for metrics."},
	{name: metricInterval, fileOnly: true, byDefault: "60000", kind: "millis", lowest: "1", highest: "300000", allowed: "milliseconds from 1 to 300000", doc: "Least time between two reports of metrics, for whose end a delivery waits. hookspan flush and run report at once."},
	{name: metricsPrefix + "TEMPORALITY_PREFERENCE", fileOnly: true, byDefault: "cumulative", kind: "oneof", allowed: "cumulative, delta, lowmemory", doc: "cumulative sends totals; delta, and lowmemory, what was added since the endpoint's last answer."},
}

// Input is all that Load reads.
type Input struct {
	// Environ is the process environment in the form of os.Environ. Of two
	// entries with one name the first counts, as for os.Getenv.
	Environ []string
	// Home is the user's home folder; if empty, HOME (USERPROFILE on Windows)
	// of Environ.
	Home string
	// GOOS is the operating system's name; if empty, runtime.GOOS.
	GOOS string
	// ReadFile reads the env file; if nil, none is read.
	ReadFile func(string) ([]byte, error)
	// MachineFile is the path of the machine-wide file, and ReadMachine reads it. Its
	// error has a method Untrusted that reports a file that others than the
	// administrator can change. If either is missing, there is no such file.
	MachineFile string
	ReadMachine func(string) ([]byte, error)
	// Salt returns the secret with which fingerprints of keys are made, for the spool's folder. It is
	// called only if the environment has such a key. If nil, the fingerprint is unknown then.
	Salt func(spoolDir string) ([]byte, error)
}

// Load fills a Config. The Config is never nil and always usable; the error,
// if any, joins one *Problem for each wrong value (see Problems).
func Load(in Input) (*Config, error) {
	goos := cmp.Or(in.GOOS, runtime.GOOS)
	vars := environment(in.Environ, goos)
	c := &Config{goos: goos, vars: vars, read: in.ReadFile, salt: in.Salt, values: make(map[string]*value, len(table)), refused: make(map[string]*Problem), ineffective: make(map[string]bool)}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		if low := vars[strings.ToLower(name)]; low != "" && vars[name] == "" {
			vars[name] = low
		}
	}
	var errs []error
	found := cmp.Or(in.Home, vars["HOME"])
	if goos == "windows" {
		found = cmp.Or(in.Home, vars["USERPROFILE"])
	}
	home := found
	if !isAbs(goos, home) {
		home = ""
	}
	c.StateDir, c.ConfigDir = folders(vars, home, goos)
	if c.StateDir == "" || c.ConfigDir == "" {
		errs = append(errs, &Problem{Variable: "HOME", Found: shorten(found), Source: Environment, Allowed: "an absolute path"})
	}

	ck := checker{goos: goos, home: home}
	files, problems := c.readFiles(vars[configFile], ck)
	errs = append(errs, problems...)
	machine := source{name: in.MachineFile, kind: Machine, from: ofMachine}
	errs = append(errs, c.readFile(&machine, in.ReadMachine, false)...)
	if machine.vars != nil {
		c.MachineFile = machine.name
	}
	sources := append(append([]source{{name: Environment, kind: Environment, from: ofEnvironment, vars: vars}}, files...), machine)
	values := make([]value, len(table))
	for i := range values {
		values[i].variable, c.values[table[i].name] = &table[i], &values[i]
	}
	for _, s := range sources {
		for _, name := range withoutEffect {
			if s.vars[name] != "" {
				c.ineffective[name] = true
			}
		}
	}
	unknown := append(c.unknown(sources), c.hold(&sources[len(sources)-1], sources[:len(sources)-1])...)

	checked := make(map[string]string, len(table))
	for i := range values {
		row, v := &table[i], &values[i]
		text, problems := c.choose(v, sources, ck)
		errs = append(errs, problems...)
		if v.source == "" {
			// Where a mistake could send texts that were meant to stay here, the
			// strict value replaces the default.
			text = row.byDefault
			if v.wrong {
				text = cmp.Or(row.whenWrong, text)
			}
			if text != "" {
				text, _ = ck.check(text, row)
			}
		}
		if text != "" {
			checked[cmp.Or(row.general, row.name)] = text
		}
	}
	errs = append(errs, unknown...)

	// Every value has passed its check, so an error here is a defect of the
	// table; the tests load every default.
	if err := env.ParseWithOptions(c, env.Options{Environment: checked}); err != nil {
		errs = append(errs, err)
	}
	return c, errors.Join(append(errs, c.cross()...)...)
}

// environment turns os.Environ into a map. Case does not matter on Windows.
func environment(environ []string, goos string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			continue
		}
		if goos == "windows" {
			k = strings.ToUpper(k)
		}
		if _, dup := m[k]; !dup {
			m[k] = v
		}
	}
	return m
}

// choose checks the values that the sources give a variable and returns the
// first, except one that loosens what the user's own settings ask for. If there
// is none, or if it is wrong, v.source stays empty.
func (c *Config) choose(v *value, sources []source, ck checker) (text string, problems []error) {
	var found []candidate
	for i, s := range sources {
		raw := s.vars[v.name]
		if !s.has(v.name) || !s.counts(v.name) || s.replaced && !v.texts && !v.guards && !v.fileOnly {
			continue
		}
		if v.fileOnly && s.from == ofEnvironment {
			c.ineffective[v.name] = true
			continue
		}
		in := candidate{source: s, raw: raw}
		in.text, in.valid = ck.check(raw, v.variable)
		in.valid = in.valid && !s.unclear[v.name]
		if in.valid {
			v.inFile = v.inFile || i > 0
			v.by[s.from] = cmp.Or(v.by[s.from], in.text)
		} else if s.from != ofEnvironment {
			v.by[s.from] = cmp.Or(v.whenWrong, v.byDefault)
		} else {
			v.unusable = raw
		}
		found = append(found, in)
	}
	decided := false
	for _, in := range found {
		if decided && (in.valid || in.source.kind != File) {
			continue
		}
		if !in.valid {
			p := &Problem{Variable: v.name, Found: v.found(in.raw), Allowed: v.allowedFor(in.raw), Source: in.source.name}
			if !decided {
				v.wrong, v.problem = v.wrong || v.source == "", p
			}
			if !in.source.unclear[v.name] { // Otherwise the line or the name is the problem.
				problems = append(problems, p)
			}
		} else if than, file, refused := c.refusedBy(v, in); refused {
			problems = append(problems, c.refusal(v.name, than, file, in))
			continue
		} else if v.source == "" {
			text, v.from, v.shown, v.source = in.text, in.source.from, v.show(in.text, in.raw), in.source.kind
		}
		decided = v.name != redactFile // All files of rules count.
	}
	return text, problems
}

// cross reports values that are valid by themselves and wrong together.
func (c *Config) cross() (errs []error) {
	c.refused[ExporterOTLP], c.refused[ExporterInfinium] = c.otlpMixed(), c.infiniumMixed()
	for _, name := range []string{ExporterOTLP, ExporterInfinium} {
		if p := c.Refused(name); p != nil {
			errs = append(errs, p)
		}
	}
	if address, u := c.otlpURL(); address.name == otlpPrefix+"ENDPOINT" && strings.HasSuffix(u, "/v1/traces/v1/traces") {
		errs = append(errs, &Problem{
			Variable: address.name, Reason: "ends in /v1/traces, which is appended, so traces go to " + address.showURL(u),
			Allowed: "the address without it, or " + otlpPrefix + "TRACES_ENDPOINT, which is used as it is", Source: c.where(address),
		})
	}
	refuse := func(address *value) {
		address.wrong = true
		errs = append(errs, &Problem{
			Variable: address.name, Reason: "would send credentials over cleartext http",
			Allowed: "https, a host of this machine, or HOOKSPAN_ALLOW_INSECURE=true", Source: c.where(address),
		})
	}
	if address, u := c.otlpURL(); cleartext(u) && c.otlpSends() && !c.otlpInsecure() {
		refuse(address)
	}
	if cleartext(c.InfiniumBaseURL) && !c.InfiniumInsecure() {
		refuse(c.value("INFINIUM_BASE_URL"))
	}
	if v := c.value(budgetWebhook); cleartext(v.users()) && !c.insecure(v) {
		refuse(v)
	}
	if p := c.metricsFault(); p != nil {
		errs = append(errs, p)
	}
	for _, e := range c.Exporters {
		name := map[string]string{ExporterFile: "HOOKSPAN_FILE_PATH", ExporterInfinium: "INFINIUM_AGENT_ID"}[e]
		if v := c.value(name); name != "" && !v.wrong && v.source == "" {
			errs = append(errs, &Problem{
				Variable: name, Reason: "not set, but HOOKSPAN_EXPORTERS names " + e,
				Allowed: v.allowed, Source: c.where(c.value("HOOKSPAN_EXPORTERS")),
			})
		}
	}
	return errs
}

// PrivateFolders are those of every side, absolute, with * in parts; / is each of any system.
func (c *Config) PrivateFolders() []string {
	lists := strings.Join(append(c.value(disabledProjects).by[:], c.DisabledProjects), ",")
	out := strings.FieldsFunc(lists, func(r rune) bool { return r == ',' })
	slices.Sort(out)
	return slices.Compact(out)
}

// Off reports whether recording is switched off for this process.
func (c *Config) Off() bool { return c.Disabled || c.SDKDisabled }

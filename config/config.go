package config

import (
	"cmp"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is the whole configuration. Fields are plain values that may be
// changed after Load, such as a secret taken from the keyring. The tags are the
// table of all variables, which is also the reference page: doc explains, allowed
// says what a value may be, kind names the check (see check.go), secret keeps a
// value out of all output.
type Config struct {
	Exporters   []string `group:"Destinations" env:"HOOKSPAN_EXPORTERS" whenWrong:"store" kind:"exporters" allowed:"a comma list of store, otlp, infinium, file" doc:"Where traces go. Unset: store always, otlp when an OTLP endpoint is set, infinium when its id and secret are set, file when HOOKSPAN_FILE_PATH is set. A wrong value counts as store."`
	FilePath    string   `env:"HOOKSPAN_FILE_PATH" kind:"abspath" allowed:"an absolute path" doc:"File that receives traces as OTLP JSON lines. Refused are a link, a file of another user, and, in a folder that others can write to, a file that they can write to."`
	Traceparent string   `env:"HOOKSPAN_TRACEPARENT" kind:"traceparent" allowed:"a W3C traceparent such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" doc:"Trace context that becomes the parent of each run."`

	Disabled    bool          `group:"Recording" env:"HOOKSPAN_DISABLED" default:"false" whenWrong:"true" kind:"bool" allowed:"true, false" doc:"Switches recording off; a wrong value does so too."`
	Capture     string        `env:"HOOKSPAN_CAPTURE" default:"preview" whenWrong:"none" kind:"oneof" allowed:"preview, none, full" doc:"How much of prompts, tool inputs and results goes onto spans; a wrong value counts as none. The environment may ask for less than the env file, not for more."`
	MaxInput    int           `env:"CONNECTOR_MAX_INPUT_PREVIEW" default:"0" kind:"int" min:"0" max:"1000000" allowed:"a whole number from 0 to 1000000" doc:"Longest preview of a tool's input in characters; 0 means the host's own default (Cline 200, Claude Code 500)."`
	MaxOutput   int           `env:"CONNECTOR_MAX_OUTPUT_PREVIEW" default:"0" kind:"int" min:"0" max:"1000000" allowed:"a whole number from 0 to 1000000" doc:"Longest preview of a tool's result in characters; 0 means the host's own default (Cline 300, Claude Code 500)."`
	IdleTimeout time.Duration `env:"HOOKSPAN_IDLE_TIMEOUT" default:"30m" kind:"duration" min:"1s" max:"8760h" allowed:"a duration such as 30m, from 1s to 8760h" doc:"How long a run may stay silent before it counts as abandoned."`

	Redact     bool   `group:"Secrets in texts" env:"HOOKSPAN_REDACT" default:"true" kind:"bool" allowed:"true, false" doc:"Removes keys and tokens of well-known forms, and random-looking values beside a telling name, from every text before it is stored or sent. false counts in the env file alone."`
	RedactFile string `env:"HOOKSPAN_REDACT_FILE" kind:"abspath" allowed:"an absolute path" doc:"File with more patterns to remove, one name and regular expression per line. Unset: redact.rules beside the env file, if it exists. A file that the environment names is read in addition."`

	MaxEventBytes int64         `group:"Local files" env:"HOOKSPAN_MAX_EVENT_BYTES" default:"1MiB" kind:"size" min:"4KiB" max:"32MiB" allowed:"a size such as 512KiB, from 4KiB to 32MiB" doc:"Largest hook payload that is kept whole; in larger ones long texts are cut."`
	SpoolSync     string        `env:"HOOKSPAN_SPOOL_SYNC" default:"boundary" kind:"oneof" allowed:"boundary, always, never" doc:"When events are forced to disk: before a delivery, at every event, or whenever the system sees fit."`
	SpoolMaxBytes int64         `env:"HOOKSPAN_SPOOL_MAX_BYTES" default:"1GiB" kind:"size" min:"1MiB" max:"1TiB" allowed:"a size such as 1GiB, from 1MiB to 1TiB" doc:"Size of the event spool above which the oldest finished sessions are removed."`
	Retention     time.Duration `env:"HOOKSPAN_RETENTION" default:"720h" kind:"duration" min:"0s" max:"876000h" allowed:"a duration such as 720h, or 0 for ever" doc:"How long the local store keeps a trace, from its end or from when it was stored (imported), whichever is later; 0 keeps it for ever."`
	ConfigFile    string        `env:"HOOKSPAN_CONFIG_FILE" kind:"abspath" allowed:"an absolute path" doc:"Env file to read instead of hookspan.env in the configuration folder, whose HOOKSPAN_CAPTURE, HOOKSPAN_REDACT, HOOKSPAN_REDACT_FILE and lengths of previews still count. Only read from the process environment."`

	Hooks           bool   `group:"Hooks of your own on Cline" env:"HOOKSPAN_HOOKS" default:"true" kind:"bool" allowed:"true, false" doc:"Runs the Claude-format hooks in hooks.json when Cline works."`
	HooksOnError    string `env:"HOOKSPAN_HOOKS_ON_ERROR" default:"limits" whenWrong:"deny" kind:"oneof" allowed:"limits, allow, deny" doc:"What becomes of a tool call whose hooks have not decided: limits denies it where they could not be run to their end for want of resources or time (descriptors, processes, memory, the time for all hooks, hookspan's own program), allow never does, deny also denies it, and a prompt, where a hook fails, a hooks.json cannot be read or a matcher is no expression. A wrong value counts as deny."`
	HooksStrictExit bool   `env:"HOOKSPAN_HOOKS_STRICT_EXIT" default:"false" whenWrong:"true" kind:"bool" allowed:"true, false" doc:"Makes every exit code of a hook other than 0 block; in Claude Code only 2 does. A wrong value counts as true."`
	HooksSoftDeny   bool   `env:"HOOKSPAN_HOOKS_SOFT_DENY" default:"false" kind:"bool" allowed:"true, false" doc:"Lets Cline's SDK (CLI 3) go on after a denied command, read or edit: the call is replaced by one that says the reason and fails. Otherwise a denied call stops the task."`
	HooksAsk        string `env:"HOOKSPAN_HOOKS_ASK" default:"host" whenWrong:"deny" kind:"oneof" allowed:"host, deny" doc:"What a hook's ask or defer means: host leaves it to Cline's own approval, deny denies. A wrong value counts as deny."`
	HooksDebug      bool   `env:"HOOKSPAN_HOOKS_DEBUG" default:"false" kind:"bool" allowed:"true, false" doc:"Writes each decision about your hooks into the log: which matchers fit, what ran, what it answered."`

	AllowInsecure bool `group:"Safety" env:"HOOKSPAN_ALLOW_INSECURE" default:"false" kind:"bool" allowed:"true, false" doc:"Lets credentials travel over cleartext http to hosts other than this one. For credentials of the env file and the keyring it counts in the env file alone."`

	InfiniumAgentID     string `group:"Infinium" env:"INFINIUM_AGENT_ID" kind:"id" allowed:"letters, digits and - _ . : up to 200 characters" doc:"The agent's id."`
	InfiniumAgentSecret Secret `env:"INFINIUM_AGENT_SECRET" kind:"token" allowed:"printable ASCII without spaces" secret:"true" doc:"The agent's secret. Unset: taken from the system's keyring."`
	InfiniumBaseURL     string `env:"INFINIUM_BASE_URL" default:"https://platform.i42m.ai/api/v1" kind:"baseurl" allowed:"an http or https URL" doc:"Address of the Infinium API."`
	InfiniumGranularity string `env:"HOOKSPAN_INFINIUM_GRANULARITY" default:"turn" kind:"oneof" allowed:"turn, session" doc:"What one Infinium trace holds: turn sends each run by itself when it ends (for Claude Code a run is one turn), session sends all runs of a session as one when the session ends."`

	OTLPGeneral OTLPVariables `group:"OpenTelemetry" envPrefix:"OTEL_EXPORTER_OTLP_"`
	OTLPTraces  OTLPVariables `envPrefix:"OTEL_EXPORTER_OTLP_TRACES_"`
	ServiceName string        `env:"OTEL_SERVICE_NAME" kind:"text" allowed:"any text" doc:"The service.name of the spans. Unset: service.name in OTEL_RESOURCE_ATTRIBUTES, else the agent's name."`
	Resource    string        `env:"OTEL_RESOURCE_ATTRIBUTES" kind:"resource" allowed:"key=value pairs with commas between them, values percent-encoded" doc:"Attributes of the spans' resource."`
	SDKDisabled bool          `env:"OTEL_SDK_DISABLED" default:"false" kind:"otelbool" allowed:"true, false" doc:"Switches recording off, as HOOKSPAN_DISABLED does."`

	// StateDir holds the spool, the local store and the log; ConfigDir holds
	// the env file and the redaction rules. Both are absolute, or empty where
	// no home folder is known, which is a problem Load names.
	StateDir  string
	ConfigDir string

	goos string
	// own is what Fingerprint is made of, as NAME=value.
	own []string
	// set has an entry for each variable whose value was right.
	set map[string]setting
	// wrong names the variables whose value was replaced by its default.
	wrong map[string]bool
	// inFile names the variables that an env file gives a right value.
	inFile map[string]bool
	// sides are the right values of each side by itself. refused are the
	// destinations that are off because address and credential are from two sides.
	sides   sides
	refused map[string]*Problem
	// ownFile is the env file in the configuration folder.
	ownFile string
	// unread and noRules are what Protected answers: the env file that could
	// not be found or read, and a wrong name of the file with the rules.
	unread, noRules *Problem
	read            func(string) ([]byte, error)
}

// OTLPVariables are the variables that the OTLP exporter specification has twice:
// for all signals, and with TRACES_ in the name for traces, which replace them.
type OTLPVariables struct {
	Endpoint          string        `env:"ENDPOINT" kind:"url" allowed:"an http or https URL such as http://localhost:4318" doc:"OTLP endpoint; /v1/traces is appended." tracesAllowed:"an http or https URL such as http://localhost:4318/v1/traces" tracesDoc:"OTLP endpoint for traces, used as it is."`
	Headers           Secret        `env:"HEADERS" kind:"headers" allowed:"name=value pairs with commas between them, values percent-encoded" secret:"true" doc:"Headers of each OTLP request."`
	Timeout           time.Duration `env:"TIMEOUT" default:"10000" kind:"millis" min:"1" max:"3600000" allowed:"milliseconds from 1 to 3600000" doc:"Longest wait for one OTLP request, in milliseconds."`
	Compression       string        `env:"COMPRESSION" default:"none" kind:"oneof" allowed:"none, gzip" doc:"Compression of OTLP requests."`
	Protocol          string        `env:"PROTOCOL" default:"http/protobuf" kind:"protocol" allowed:"http/protobuf, http/json" doc:"OTLP transport. grpc is not supported: name an endpoint that speaks OTLP over HTTP."`
	Certificate       string        `env:"CERTIFICATE" kind:"abspath" allowed:"an absolute path" doc:"PEM file with the certificates that the endpoint's own is checked against."`
	ClientCertificate string        `env:"CLIENT_CERTIFICATE" kind:"abspath" allowed:"an absolute path" doc:"PEM file with the client's certificate."`
	ClientKey         string        `env:"CLIENT_KEY" kind:"abspath" allowed:"an absolute path" doc:"PEM file with the client's private key."`
}

// setting is a checked value in the form env parses, and where it came from.
type setting struct {
	shown, source string
	from          side
}

// Input is all that Load knows of the world.
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
}

// Load fills a Config. The Config is never nil and always usable; the error,
// if any, joins one *Problem for each wrong value (see Problems).
func Load(in Input) (*Config, error) {
	if in.GOOS == "" {
		in.GOOS = runtime.GOOS
	}
	c := &Config{
		goos: in.GOOS, read: in.ReadFile, set: make(map[string]setting), wrong: make(map[string]bool),
		inFile: make(map[string]bool), sides: make(sides), refused: make(map[string]*Problem),
	}
	var errs []error
	vars := environment(in.Environ, in.GOOS)
	for name, value := range vars {
		if countsForFingerprint(name, value) {
			c.own = append(c.own, name+"="+value)
		}
	}
	home := in.Home
	if home == "" {
		home = vars["HOME"]
		if in.GOOS == "windows" {
			home = vars["USERPROFILE"]
		}
	}
	found := home
	if !isAbs(in.GOOS, home) {
		home = ""
	}
	c.StateDir, c.ConfigDir = stateDir(vars, home, in.GOOS), configDir(vars, home, in.GOOS)
	if c.StateDir == "" || c.ConfigDir == "" {
		errs = append(errs, &Problem{Variable: "HOME", Found: shorten(found), Source: Environment, Allowed: "an absolute path"})
	}

	ck := checker{goos: in.GOOS, home: home}
	files, problems := c.readFiles(in.ReadFile, vars["HOOKSPAN_CONFIG_FILE"], ck)
	errs = append(errs, problems...)

	checked := make(map[string]string, len(vars))
	known := make(map[string]bool)
	for _, setting := range table() {
		name := setting.name
		known[name] = true
		v, ok, problems := c.choose(setting, files.candidates(name, vars[name]), ck)
		errs = append(errs, problems...)
		if !ok {
			// Where a mistake could send texts that were meant to stay here, the
			// strict value is taken in place of the default.
			v = setting.byDefault
			if c.wrong[name] {
				v = cmp.Or(setting.whenWrong, v)
			}
			if v, ok = ck.check(v, setting); !ok {
				continue
			}
		}
		checked[name] = v
	}
	errs = append(errs, unknown(files.vars(), vars, known, c.ConfigFile)...)

	// Every value has passed its check, so an error here is a defect of the
	// tags; the tests load every default.
	path := c.ConfigFile
	if err := env.ParseWithOptions(c, env.Options{Environment: checked}); err != nil {
		errs = append(errs, err)
	}
	c.ConfigFile = path
	errs = append(errs, c.cross()...)
	return c, errors.Join(errs...)
}

// choose takes the first of a variable's candidates, except one that loosens what
// the user's own settings ask for. It reports false where there is none, and where
// the value is wrong.
func (c *Config) choose(v *variable, from []candidate, ck checker) (value string, ok bool, problems []error) {
	name := v.name
	for i := range from {
		in := &from[i]
		if in.value, in.right = ck.check(in.raw, v); in.right {
			c.sides.add(name, in.from, in.value)
			c.inFile[name] = c.inFile[name] || in.source != Environment
		} else if in.from == mine {
			c.sides.add(name, mine, v.whenWrong)
		}
	}
	for _, in := range from {
		than, loosens := c.loosens(name, in.value)
		switch {
		case !in.right:
			c.wrong[name] = c.wrong[name] || !ok
			problems = append(problems, c.wrongValue(v, in))
		case in.from == outer && loosens:
			problems = append(problems, c.refusal(name, than, in))
			continue
		case !ok:
			c.set[name] = setting{shown: v.shown(in.value, in.raw), source: kindOfSource(in.source), from: in.from}
			value, ok = in.value, true
		}
		if name != "HOOKSPAN_REDACT_FILE" { // whose files all count
			break
		}
	}
	return value, ok, problems
}

// wrongValue is the problem with a value that fails its check. Without the file
// that two of the variables name, nothing may be delivered.
func (c *Config) wrongValue(v *variable, in candidate) *Problem {
	p := &Problem{Variable: v.name, Found: v.found(in.raw), Allowed: v.allowedFor(in.raw), Source: in.source}
	switch v.name {
	case "HOOKSPAN_CONFIG_FILE":
		c.unread = p
	case "HOOKSPAN_REDACT_FILE":
		c.noRules = p
	}
	return p
}

// cross names values that are right by themselves and wrong together.
func (c *Config) cross() []error {
	var errs []error
	refuse := func(variable string) {
		c.wrong[variable] = true
		errs = append(errs, &Problem{
			Variable: variable, Reason: "would send credentials over cleartext http",
			Allowed: "https, a host of this machine, or HOOKSPAN_ALLOW_INSECURE=true", Source: c.where(variable),
		})
	}
	c.refused[ExporterOTLP], c.refused[ExporterInfinium] = c.otlpMixed(), c.infiniumMixed()
	for _, name := range []string{ExporterOTLP, ExporterInfinium} {
		if p := c.Refused(name); p != nil {
			errs = append(errs, p)
		}
	}
	if name, u := c.otlpURL(); cleartext(u) && c.otlpSends() && !c.otlpInsecure() {
		refuse(name)
	}
	if cleartext(c.InfiniumBaseURL) && !c.InfiniumInsecure() {
		refuse("INFINIUM_BASE_URL")
	}
	for _, e := range c.Exporters {
		needs := map[string]string{ExporterFile: "HOOKSPAN_FILE_PATH", ExporterInfinium: "INFINIUM_AGENT_ID"}[e]
		if needs == "" || c.wrong[needs] || c.Source(needs) != Default {
			continue
		}
		errs = append(errs, &Problem{
			Variable: needs, Reason: "not set, but HOOKSPAN_EXPORTERS names " + e,
			Allowed: lookup(needs).allowed, Source: c.where("HOOKSPAN_EXPORTERS"),
		})
	}
	return errs
}

// where is the source of a variable for a problem's text.
func (c *Config) where(name string) string {
	if c.Source(name) == File {
		return c.ConfigFile
	}
	return Environment
}

// environment turns os.Environ into a map. Names are case-blind on Windows.
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

// Off tells whether recording is switched off for this process.
func (c *Config) Off() bool { return c.Disabled || c.SDKDisabled }

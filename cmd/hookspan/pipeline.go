package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/regular"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// pipeline is the way from the spool to the destinations, ready to run.
type pipeline struct {
	*deliver.Deliverer
	store *store.Store
	close []func() error
}

func (p *pipeline) Close() error {
	var errs []error
	for _, f := range slices.Backward(p.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// pipeline builds the way to the named destinations, or to all configured ones
// when none is named. A destination that cannot be built takes part with its
// error, so that its spans wait and the reason shows.
func (a *app) pipeline(ctx context.Context, only ...string) (*pipeline, error) {
	if err := a.cfg.Protected(); err != nil {
		// What protects the texts could not be read: nothing may go out.
		return nil, err
	}
	clean, err := a.redactor()
	if err != nil {
		return nil, err
	}
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return nil, err
	}
	p := &pipeline{close: []func() error{sp.Close}}
	p.Deliverer = &deliver.Deliverer{
		Spool: sp, Sources: a.sources(), Map: a.mapping(clean),
		SyncLog: a.cfg.SpoolSync != "never",
		Now:     a.now, Sleep: a.sleep, Log: a.logLine(clean),
	}
	p.Judge = a.judge
	a.noteAnswers(p, clean)
	if clean != nil {
		p.Redact = clean.Spans
	}
	p.Stored = func(ctx context.Context, trace string) ([]*tracepb.ResourceSpans, error) {
		t, err := p.store.Trace(ctx, trace)
		if err != nil {
			return nil, err
		}
		return t.ResourceSpans, nil
	}
	for _, name := range a.destinations() {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		d := deliver.Destination{Name: name, Batch: 512, Local: name == config.ExporterStore}
		d.Client, err = a.client(ctx, name, p)
		if err != nil {
			d.Client = broken{notSetUp{fmt.Errorf("%s: %w", name, err)}}
		}
		if name == config.ExporterStore {
			d.Batch = 8192 // each call sums its traces up anew, by all of their spans
		}
		if name == config.ExporterInfinium {
			d.Batch = 0 // a run is one document there
			if a.cfg.InfiniumGranularity == config.GranularitySession {
				d.Join = infinium.Session
			}
		}
		if name == config.ExporterOTLP {
			d.Timeout = a.cfg.OTLP().Timeout + time.Second
		}
		p.Destinations = append(p.Destinations, d)
	}
	if p.store == nil {
		p.Stored, p.KeepRefused = nil, true
	}
	return p, nil
}

// logLine writes to the log without secrets: a line may quote a payload, or a
// folder that stands in one.
func (a *app) logLine(clean *redact.Redactor) func(string) {
	if clean == nil {
		return a.log.Line
	}
	return func(line string) { a.log.Line(clean.Tail(line)) }
}

// judge reads a record's settings, a capture level and the fingerprint of the
// environment its hook ran in, as the hook process writes them. A person who
// asks for a delivery means what was recorded without any such variable, too;
// a hook of another project does not.
func (a *app) judge(settings string) (otelmap.Capture, bool) {
	capture, fingerprint, ok := strings.Cut(settings, "/")
	if !ok {
		return otelmap.Capture(a.cfg.Capture), true
	}
	same := fingerprint == a.cfg.Fingerprint() || a.byHand && fingerprint == ""
	return otelmap.Capture(capture), same
}

// destinations are the configured ones, a secret from the keyring included.
func (a *app) destinations() []string {
	if a.cfg.InfiniumAgentID != "" && a.cfg.InfiniumAgentSecret == "" && a.cfg.Refused(config.ExporterInfinium) == nil {
		if s, err := keyringGet(a.cfg.InfiniumAgentID); err == nil {
			a.cfg.InfiniumAgentSecret = config.Secret(s)
		}
	}
	names := a.cfg.Destinations()
	half := (a.cfg.InfiniumAgentID != "") != (a.cfg.InfiniumAgentSecret != "")
	if half && a.cfg.Refused(config.ExporterInfinium) == nil && len(a.cfg.Exporters) == 0 {
		// Somebody wants traces there, and a keyring may only be locked: they
		// wait, and the reason shows, in place of being passed over.
		names = append(names, config.ExporterInfinium)
	}
	return names
}

func (a *app) client(ctx context.Context, name string, p *pipeline) (deliver.Client, error) {
	switch name {
	case config.ExporterStore:
		if p.store == nil {
			s, err := store.Open(ctx, a.cfg.StorePath())
			if err != nil {
				return nil, err
			}
			s.Now = a.now
			p.store = s
			p.close = append(p.close, s.Close)
		}
		return p.store, nil
	case config.ExporterOTLP:
		o := a.cfg.OTLP()
		return deliver.NewOTLP(ctx, deliver.OTLP{
			Endpoint: o.Endpoint, Headers: o.Headers, JSON: o.Protocol == "http/json",
			Gzip: o.Compression == "gzip", Timeout: o.Timeout, CA: o.Certificate,
			Cert: o.ClientCertificate, Key: o.ClientKey, AllowInsecure: o.AllowInsecure,
		})
	case config.ExporterInfinium:
		switch {
		case a.cfg.InfiniumAgentID == "":
			return nil, errors.New("INFINIUM_AGENT_SECRET is set and INFINIUM_AGENT_ID is not")
		case a.cfg.InfiniumAgentSecret == "":
			return nil, fmt.Errorf("no secret of agent %s: set INFINIUM_AGENT_SECRET, or run hookspan credentials set", a.cfg.InfiniumAgentID)
		}
		return infinium.NewClient(a.infinium())
	case config.ExporterFile:
		return deliver.NewFile(a.cfg.FilePath)
	}
	return nil, fmt.Errorf("unknown destination %q", name)
}

func (a *app) infinium() infinium.Options {
	return infinium.Options{
		BaseURL: a.cfg.InfiniumBaseURL, AgentID: a.cfg.InfiniumAgentID,
		AgentSecret: string(a.cfg.InfiniumAgentSecret), Forms: a.infiniumForms(),
		AllowInsecure: a.cfg.InfiniumInsecure(), Version: buildVersion(),
	}
}

func (a *app) infiniumForms() infinium.Forms {
	return connectors.Forms().WithPreviews(a.cfg.MaxInput, a.cfg.MaxOutput)
}

// broken is the client of a destination that could not be set up: each upload
// fails with the reason.
type broken struct{ err error }

func (b broken) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return b.err }

// maxRules is the largest file of redaction rules, in bytes.
const maxRules = 4 << 20

// redactor removes secrets; it is nil when the user switched that off.
func (a *app) redactor() (*redact.Redactor, error) {
	if !a.cfg.Redact {
		return nil, nil
	}
	var rules []redact.Rule
	for _, f := range a.cfg.RedactFiles() {
		more, err := readRules(f)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return redact.New(rules), nil
}

// readRules reads the user's rules. Sending on without them would leak what they
// protect.
func readRules(in config.RulesFile) ([]redact.Rule, error) {
	f, _, err := regular.Open(in.Path, regular.Options{Max: maxRules})
	if errors.Is(err, fs.ErrNotExist) && !in.Named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("redaction rules: %w", err)
	}
	defer func() { _ = f.Close() }()
	rules, err := redact.ParseRules(f)
	if err != nil {
		return nil, fmt.Errorf("redaction rules %s: %w", in.Path, err)
	}
	return rules, nil
}

func (a *app) mapping(clean *redact.Redactor) otelmap.Options {
	o := otelmap.Options{
		ServiceName: a.cfg.Service(), ScopeVersion: buildVersion(),
		Capture:  otelmap.Capture(a.cfg.Capture),
		MaxInput: a.cfg.MaxInput, MaxOutput: a.cfg.MaxOutput,
		IdleTimeout: a.cfg.IdleTimeout,
	}
	if clean != nil {
		o.Clean = clean.Preview
	}
	if name, err := os.Hostname(); err == nil {
		o.Resource = append(o.Resource, otlp.String(otelmap.KeyHostName, name))
	}
	o.Resource = append(o.Resource,
		otlp.String(otelmap.KeyHostArch, runtime.GOARCH), otlp.String(otelmap.KeyOSType, a.goos))
	for _, kv := range a.cfg.ResourceAttributes() {
		o.Resource = append(o.Resource, otlp.String(kv.Key, kv.Value))
	}
	return o
}

func (a *app) sources() map[string]deliver.Source {
	files := &transcript.Files{Home: a.home, Getenv: a.getenv, GOOS: a.goos}
	return map[string]deliver.Source{
		claude.Host: source(files, claudefiles.Agent, claude.Decode),
		cline.Host:  source(files, clinefiles.Agent, cline.Decode),
	}
}

// source reads one agent's events and files. Files that are elsewhere, or not
// kept at all, are no error.
func source(files *transcript.Files, a transcript.Agent, decode func(hook.Raw) ([]hook.Event, error)) deliver.Source {
	query := func(session string, f deliver.Facts) transcript.Query {
		return transcript.Query{Session: session, Dialect: f.Dialect, Path: f.Transcript, Cwd: f.Cwd, Since: f.Since, Until: f.Until}
	}
	found := func(err error) error {
		if errors.Is(err, transcript.ErrNotFound) {
			return nil
		}
		return err
	}
	src := deliver.Source{
		Agent:  agents.Mapping(a.Host),
		Decode: func(r *spool.Record) ([]hook.Event, error) { return decode(stored(r)) },
		Transcript: func(ctx context.Context, session string, f deliver.Facts) (*hook.Transcript, error) {
			t, err := files.Read(ctx, a, query(session, f))
			return t, found(err)
		},
	}
	if a.Origin != nil {
		src.Origin = func(ctx context.Context, session string, f deliver.Facts) (string, string, error) {
			origin, turn, err := files.Origin(ctx, a, query(session, f))
			return origin, turn, found(err)
		}
	}
	if a.End != nil {
		src.End = func(ctx context.Context, session string, f deliver.Facts) (hook.Kind, time.Time, error) {
			kind, at, err := files.End(ctx, a, query(session, f))
			return kind, at, found(err)
		}
	}
	return src
}

// stored is what the decoders need of a record.
func stored(r *spool.Record) hook.Raw {
	return hook.Raw{
		Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset,
		Cwd: r.Cwd, TraceParent: r.TraceParent,
	}
}

// keyringService is the name under which the system's keyring keeps secrets.
const keyringService = "hookspan"

// keyringGet asks the system's keyring. On a machine without one the question
// can hang on a bus that nobody serves, so it gets two seconds.
func keyringGet(user string) (string, error) {
	type answer struct {
		secret string
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := keyring.Get(keyringService, user)
		got <- answer{s, err}
	}()
	select {
	case r := <-got:
		return r.secret, r.err
	case <-time.After(2 * time.Second):
		return "", errors.New("the keyring did not answer")
	}
}

// clean removes the secrets, unless the user switched that off.
func (p *pipeline) clean(spans *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	if p.Redact == nil {
		return spans
	}
	return p.Redact(spans)
}

// Package pipeline builds the delivery that the configuration describes: it
// gives a deliver.Deliverer its spool, the agents' sources, the mapping, the
// redaction and the destinations.
//
// It promises that nothing is delivered when the settings or rules that protect
// texts cannot be read, and that a destination that cannot be set up keeps its
// spans waiting instead of losing them.
package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Setup is what a pipeline is built from.
type Setup struct {
	Config *config.Config
	Agents agents.Table
	// Home is the user's home folder, Getenv the environment and GOOS the
	// system, by which the agents' files are found.
	Home   string
	Getenv func(string) string
	GOOS   string
	// Version is the version of hookspan.
	Version string
	// Now and Sleep are the clock, as in deliver.Deliverer.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	// Log writes a line to the log. Lines of a pipeline hold no secrets.
	Log func(line string)
	// ByHand reports that a person asked for the delivery. It then includes
	// events that were recorded without environment variables.
	ByHand bool
	// Off reports that nothing is recorded in a folder. If nil, it is everywhere.
	Off func(dir string) bool
	// RemoveOld removes what else is kept about old sessions. It may be nil.
	RemoveOld func() error
	// NoteLimits notes what an agent's files say of the user's plan. It may be nil.
	NoteLimits func(host string, all []hook.Limit)
	// Limits is what agents said of the user's plans, by host. It may be nil.
	Limits func() map[string][]hook.Limit
	// Store is the local store if the process has it open. It stays open.
	Store *store.Store

	// clock is how far the OTLP endpoint's clock is ahead of this machine's.
	clock atomic.Int64
	// connections are those of traces and metrics, shared where they go to one server.
	connections sync.Map
}

// Pipeline delivers from the spool to the destinations. It must be closed.
type Pipeline struct {
	Deliverer *deliver.Deliverer
	// Store is the local store, nil if it is no destination or cannot be opened.
	Store *store.Store

	setup *Setup
	close []func() error
	// noted reports that Close will record an answer of metrics.
	noted bool
}

// Open builds the pipeline to the named destinations, or to all that are
// configured if none is named.
func (s *Setup) Open(ctx context.Context, only ...string) (*Pipeline, error) {
	if err := s.Config.Protected(); err != nil {
		return nil, err
	}
	clean, err := configured.New(s.Config)
	if err != nil {
		return nil, err
	}
	sp, err := spool.Open(s.Config.SpoolDir(), spool.Options{})
	if err != nil {
		return nil, err
	}
	p := &Pipeline{setup: s, close: []func() error{sp.Close}}
	p.Deliverer = &deliver.Deliverer{
		Spool: sp, Sources: s.Sources(), Map: s.mapping(clean), Judge: s.judge, Memory: p.memory(clean),
		Look:    checkout.At,
		SyncLog: s.Config.SpoolSync != "never",
		Now:     s.Now, Sleep: s.Sleep, Log: s.Log,
	}
	if clean != nil {
		p.Deliverer.Redact = func(m *tracepb.ResourceSpans) *tracepb.ResourceSpans { return redactspans.Clean(clean, m) }
		// A line may quote a payload, or name a folder that a payload names.
		p.Deliverer.Log = func(line string) { s.Log(clean.Tail(line)) }
	}
	p.recordAnswers(clean)
	s.connections.Clear() // A certificate may have been replaced.
	for _, name := range s.Destinations() {
		if len(only) == 0 || slices.Contains(only, name) {
			p.Deliverer.Destinations = append(p.Deliverer.Destinations, p.destination(ctx, name))
		}
	}
	if p.Store != nil {
		p.Deliverer.NoteLess, p.Deliverer.Less = p.Store.NoteLess, p.Store.Less
	}
	p.Deliverer.KeepRefused = p.Store == nil
	return p, nil
}

// Close closes what the pipeline opened and records the answers of the
// destinations.
func (p *Pipeline) Close() error {
	var errs []error
	for _, f := range slices.Backward(p.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Ledger returns the local store, which knows what was imported. It is nil if
// the store is no destination. A store that cannot be opened is an error:
// without it, an import would send everything again.
func (p *Pipeline) Ledger() (*store.Store, error) {
	for i := range p.Deliverer.Destinations {
		if b, ok := p.Deliverer.Destinations[i].Client.(broken); ok && p.Deliverer.Destinations[i].Name == config.ExporterStore {
			return nil, b.err
		}
	}
	return p.Store, nil
}

// Alone keeps other imports waiting until its result is closed. Each would send what it does
// not find in the store, and a destination may count that twice. If another is under way,
// waits is called.
func (p *Pipeline) Alone(ctx context.Context, waits func()) (io.Closer, error) {
	dir := p.setup.Config.SpoolDir()
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lock, err := filelock.Folder(soon, dir)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		waits()
		lock, err = filelock.Folder(ctx, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for another import: %w", err)
	}
	return lock, nil
}

// maxRequest is the largest size of an OTLP request of several spans before it is compressed,
// in bytes. Receivers take 4 MiB and more, and a slow line as much as this within the time
// limit; as JSON it is up to three times as long.
const maxRequest = 5 << 18

// destination sets a destination up. If that fails, its client fails with the
// reason.
func (p *Pipeline) destination(ctx context.Context, name string) deliver.Destination {
	cfg := p.setup.Config
	d := deliver.Destination{Name: name, Batch: 512, Local: name == config.ExporterStore, Target: p.setup.Target(name), Account: cfg.Account(name)}
	if less := cfg.CaptureFor(name); !d.Local && less != cfg.Capture {
		d.Capture = otelmap.Capture(less)
	}
	if !d.Local {
		d.Paused = func() time.Time {
			all, _ := deliver.Answers(cfg.StateDir, name)
			return deliver.PausedUntil(all, d.Target, d.Account)
		}
		d.Taken = func() time.Time {
			if last, _ := p.setup.LastAnswer(name); last != nil {
				return last.Taken
			}
			return time.Time{}
		}
		d.Denials = func() int {
			if last, _ := p.setup.LastAnswer(name); last != nil {
				return last.Denials
			}
			return 0
		}
	}
	var err error
	switch name {
	case config.ExporterStore:
		d.Batch = 4096 // each call sums its traces up again, from all of their spans
		d.Client, err = p.openStore(ctx)
	case config.ExporterInfinium:
		d.Batch = 0 // a run is one document there
		if cfg.InfiniumGranularity == config.GranularitySession {
			d.Join = infinium.Session
		}
		d.Client, err = p.setup.client(ctx, name)
	default:
		if name == config.ExporterOTLP {
			d.Timeout = cfg.OTLP().Timeout + time.Second
			d.Bytes = maxRequest
		}
		d.Client, err = p.setup.client(ctx, name)
	}
	if err != nil {
		d.Client = broken{notSetUp{fmt.Errorf("%s: %w", name, err)}}
	}
	return d
}

func (p *Pipeline) openStore(ctx context.Context) (deliver.Client, error) {
	s, done, err := p.setup.LocalStore(ctx)
	if err != nil {
		return nil, err
	}
	if p.setup.Config.MetricsOn() {
		if err := s.Measure(ctx, p.setup.Config.MetricsRepository()); err != nil {
			return nil, errors.Join(err, done())
		}
	}
	p.Store, p.close = s, append(p.close, done)
	return s, nil
}

// LocalStore returns the local store, whether it is a destination or not, and what to
// call when it is no longer needed.
func (s *Setup) LocalStore(ctx context.Context) (*store.Store, func() error, error) {
	if s.Store != nil {
		return s.Store, func() error { return nil }, nil
	}
	opened, err := store.Open(ctx, s.Config.StorePath())
	if err != nil {
		return nil, nil, err
	}
	opened.Now = s.Now
	return opened, opened.Close, nil
}

// redactAnyway names the built-in rules, for records of an environment that asked for
// redaction where the user switched it off.
const redactAnyway = "redact"

// judge reads a record's settings, as the hook process writes them.
func (s *Setup) judge(settings string) (out deliver.Terms, here bool) {
	t, ok := config.ParseTerms(settings)
	if !ok {
		return deliver.Terms{Capture: otelmap.Capture(s.Config.Capture)}, true
	}
	out = deliver.Terms{
		Capture: otelmap.Capture(t.Capture), MaxInput: t.MaxInput, MaxOutput: t.MaxOutput, Rules: t.Rules,
	}
	for i, name := range config.Narrowed {
		if t.Less[i] != "" {
			if out.Less == nil {
				out.Less = make(map[string]otelmap.Capture)
			}
			out.Less[name] = otelmap.Capture(t.Less[i])
		}
	}
	if t.Redact && !s.Config.Redact && out.Rules == "" {
		out.Rules = redactAnyway
	}
	own := s.Config.Fingerprint()
	return out, t.Fingerprint == own && own != config.UnknownPlace || s.ByHand && t.Fingerprint == ""
}

// memory returns what removes secrets from a session by the rules that its records were made
// under, and by this process's. If rules cannot be read, those of this process's environment
// replace them: the user may have corrected them.
func (p *Pipeline) memory(own *redact.Redactor) func(rules []string) (deliver.Memory, error) {
	return func(names []string) (deliver.Memory, error) {
		if len(names) > 0 {
			clean, err := p.rules(names)
			if err != nil {
				return nil, err
			}
			return remembering{clean.Memory(), clean}, nil
		}
		if own == nil {
			return nil, nil
		}
		return remembering{own.Memory(), own}, nil
	}
}

// remembering is a memory that knows how to clean spans.
type remembering struct {
	*redact.Memory
	clean *redact.Redactor
}

func (m remembering) Redact(spans *tracepb.ResourceSpans, belongs func(offset int64) bool) *tracepb.ResourceSpans {
	return redactspans.CleanAgain(m.clean, spans, m.Values(belongs))
}

// rules returns what removes secrets by the rules of those names, and by this process's.
func (p *Pipeline) rules(names []string) (*redact.Redactor, error) {
	var all []redact.Rule
	for _, name := range names {
		if name == redactAnyway {
			continue
		}
		text, err := p.Deliverer.Spool.Rules(name)
		var rules []redact.Rule
		if err == nil {
			rules, err = redact.ParseRules(bytes.NewReader(text))
		}
		if _, own := p.setup.Config.Terms(); err != nil && own == "" {
			return nil, fmt.Errorf("it was recorded under redaction rules that cannot be used (HOOKSPAN_REDACT_FILE of its environment): %w; correct the file and run hookspan flush in that environment", err)
		}
		all = append(all, rules...)
	}
	return configured.With(p.setup.Config, all)
}

// Capture returns what a record's settings allow to show of its texts.
func (s *Setup) Capture(settings string) otelmap.Capture {
	terms, _ := s.judge(settings)
	if own := otelmap.Capture(s.Config.Capture); own.Stricter(terms.Capture) {
		return own
	}
	return terms.Capture
}

// Files finds the agents' files.
func (s *Setup) Files() *transcript.Files {
	return &transcript.Files{Home: s.Home, Getenv: s.Getenv, GOOS: s.GOOS, Now: s.Now, Sleep: s.Sleep}
}

// Sources returns the readers of the agents' events and files, by host.
func (s *Setup) Sources() map[string]deliver.Source {
	files := s.Files()
	sources := map[string]deliver.Source{}
	for _, a := range s.Agents.WithGuests() {
		sources[a.Host] = source(files, a, s.Off, s.NoteLimits)
	}
	return sources
}

// broken is the client of a destination that could not be set up.
type broken struct{ err error }

func (b broken) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return b.err }

// notSetUp is why a destination could not be set up.
type notSetUp struct{ error }

func (n notSetUp) Unwrap() error { return n.error }

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Destinations returns the names of the configured destinations. It adds an
// Infinium secret from the system's keyring to the configuration.
func (s *Setup) Destinations() []string {
	cfg := s.Config
	refused := cfg.Refused(config.ExporterInfinium) != nil
	if cfg.InfiniumAgentID != "" && cfg.InfiniumAgentSecret == "" && !refused {
		if secret, err := secret(cfg.InfiniumAgentID); err == nil {
			cfg.InfiniumAgentSecret = config.Secret(secret)
		}
	}
	names := cfg.Destinations()
	half := (cfg.InfiniumAgentID != "") != (cfg.InfiniumAgentSecret != "")
	if half && !refused && len(cfg.Exporters) == 0 {
		// The keyring may only be locked: the traces wait, and the reason shows.
		names = append(names, config.ExporterInfinium)
	}
	return names
}

// Target returns the address of a destination, without a credential.
func (s *Setup) Target(name string) string {
	switch name {
	case config.ExporterStore:
		return s.Config.StorePath()
	case config.ExporterOTLP:
		return withoutCredentials(s.Config.OTLP().Endpoint)
	case config.ExporterInfinium:
		return s.Config.InfiniumBaseURL
	case config.ExporterFile:
		return s.Config.FilePath
	case config.DestinationMetrics:
		return withoutCredentials(s.Config.MetricsOTLP().Endpoint)
	case config.DestinationBudget:
		if u := s.Config.Webhook(); u != nil {
			return u.Scheme + "://" + u.Host
		}
	}
	return ""
}

func withoutCredentials(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "an endpoint that is no URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Fault returns why a destination other than the local store cannot be set up,
// or nil.
func (s *Setup) Fault(ctx context.Context, name string) error {
	if name == config.DestinationMetrics {
		_, err := s.metricsClient()
		return err
	}
	_, err := s.client(ctx, name)
	return err
}

// client sets up a destination other than the local store.
func (s *Setup) client(ctx context.Context, name string) (deliver.Client, error) {
	client, err := s.plainClient(ctx, name)
	if err != nil || name != config.ExporterOTLP && name != config.ExporterFile {
		return client, err
	}
	if l, set := s.Config.Limits(); name == config.ExporterOTLP && set {
		client = changed{client, func(m *tracepb.ResourceSpans) *tracepb.ResourceSpans { return otelmap.WithLimits(m, limits(l)) }}
	}
	if s.Config.UsageCost {
		client = changed{client, otelmap.WithUsageCost}
	}
	if s.Config.LatestNames(name) {
		client = changed{client, otelmap.WithLatestNames}
	}
	return client, nil
}

// limits applies the limits of all attributes to spans, events and links without limits
// of their own.
func limits(l config.Limits) otelmap.Limits {
	or := func(own, general int) int {
		if own >= 0 {
			return own
		}
		return general
	}
	return otelmap.Limits{
		Attributes: or(l.SpanAttributes, l.Attributes), EventAttributes: or(l.EventAttributes, l.Attributes),
		LinkAttributes: or(l.LinkAttributes, l.Attributes), Events: l.Events, Links: l.Links,
		Length: or(l.SpanLength, l.Length), OtherLength: l.Length,
	}
}

// changed is a client that sends what change makes of the spans. The store, which is none,
// keeps them unchanged.
type changed struct {
	deliver.Client
	change func(*tracepb.ResourceSpans) *tracepb.ResourceSpans
}

func (c changed) UploadTraces(ctx context.Context, all []*tracepb.ResourceSpans) error {
	sent := make([]*tracepb.ResourceSpans, len(all))
	for i := range all {
		sent[i] = c.change(all[i])
	}
	return c.Client.UploadTraces(ctx, sent)
}

func (s *Setup) plainClient(ctx context.Context, name string) (deliver.Client, error) {
	cfg := s.Config
	switch name {
	case config.ExporterOTLP:
		if err := cfg.AccountFault(); err != nil {
			return nil, err
		}
		o := cfg.OTLP()
		return deliver.NewOTLP(ctx, deliver.OTLP{
			Endpoint: o.Endpoint, Headers: o.Headers, JSON: o.Protocol == "http/json",
			Gzip: o.Compression == "gzip", Timeout: o.Timeout, CA: o.Certificate,
			Cert: o.ClientCertificate, Key: o.ClientKey, AllowInsecure: o.AllowInsecure, AnyUser: cfg.AllowOtherUsers,
			HeadersCommand: cfg.HeadersCommand, HeadersCache: cfg.HeadersCachePath(), Shared: &s.connections,
			Date: func(there, here time.Time) { s.clock.Store(int64(there.Sub(here).Round(time.Second))) },
		})
	case config.ExporterInfinium:
		switch {
		case cfg.InfiniumAgentID == "":
			return nil, errors.New("INFINIUM_AGENT_SECRET is set and INFINIUM_AGENT_ID is not")
		case cfg.InfiniumAgentSecret == "":
			return nil, fmt.Errorf("no secret of agent %s: set INFINIUM_AGENT_SECRET, or run hookspan credentials set", cfg.InfiniumAgentID)
		}
		return infinium.NewClient(infinium.Options{
			BaseURL: cfg.InfiniumBaseURL, AgentID: cfg.InfiniumAgentID,
			AgentSecret: string(cfg.InfiniumAgentSecret), Forms: s.forms(),
			AllowInsecure: cfg.InfiniumInsecure(), AnyUser: cfg.AllowOtherUsers, Version: s.Version,
		})
	case config.ExporterFile:
		return deliver.NewFile(cfg.FilePath)
	}
	return nil, fmt.Errorf("unknown destination %q", name)
}

// forms returns the agents' forms at Infinium.
func (s *Setup) forms() infinium.Forms {
	return connectors.Forms().WithPreviews(s.Config.MaxInput, s.Config.MaxOutput)
}

// clockOff is a difference of clocks that matters, or zero.
func clockOff(d time.Duration) time.Duration {
	if d.Abs() > 5*time.Minute {
		return d
	}
	return 0
}

// ClockText says that this machine's clock differs from an endpoint's, which is ahead by
// d, or nothing.
func ClockText(d time.Duration) string {
	switch {
	case d > 0:
		return fmt.Sprintf("this machine's clock is %s behind the receiver's", d)
	case d < 0:
		return fmt.Sprintf("this machine's clock is %s ahead of the receiver's", -d)
	}
	return ""
}

// LastAnswer returns the last answer of a destination at its address. If it was
// not tried there, last is nil and other is the address that was tried last, if
// any.
func (s *Setup) LastAnswer(name string) (last *deliver.Answer, other string) {
	all, _ := deliver.Answers(s.Config.StateDir, name)
	return lastOf(all, s.Target(name), s.Config.Account(name))
}

func lastOf(all []deliver.Answer, target, account string) (last *deliver.Answer, other string) {
	if len(all) == 0 {
		return nil, ""
	}
	if i := slices.IndexFunc(all, func(x deliver.Answer) bool { return x.Target == target && x.Account == account }); i >= 0 {
		return &all[i], ""
	}
	if all[0].Target == target {
		return nil, "" // another account there
	}
	return nil, all[0].Target
}

// recordAnswers records the last answers of all destinations except the local
// store when the pipeline is closed. A destination that could not be set up was
// not tried and has none.
func (p *Pipeline) recordAnswers(clean *redact.Redactor) {
	s := p.setup
	var mu sync.Mutex
	last := map[string]deliver.Answer{}
	p.Deliverer.Answered = func(name string, err error) {
		if name == config.ExporterStore || errors.As(err, new(notSetUp)) {
			return
		}
		got := deliver.Answer{Target: s.Target(name), Account: s.Config.Account(name), Tried: s.Now()}
		if name == config.ExporterOTLP {
			got.Clock = clockOff(time.Duration(s.clock.Load()))
		}
		if err == nil {
			got.Taken = got.Tried
		} else if got.Error = termtext.Message(err); clean != nil {
			got.Error = clean.Tail(got.Error)
		}
		mu.Lock()
		defer mu.Unlock()
		before, known := last[name]
		if stored, _ := s.LastAnswer(name); !known && stored != nil {
			before.Denials = stored.Denials
		}
		if deliver.Denied(err) {
			got.Denials = before.Denials + 1
		}
		if got.Taken.IsZero() {
			got.Taken = last[name].Taken
		}
		last[name] = got
		if wait := deliver.Wait(err); wait > 0 {
			// Other processes must know it before this one ends.
			got.Until, got.Everyone = got.Tried.Add(wait), !deliver.OfAccount(err)
			last[name] = got
			_ = deliver.NoteAnswer(s.Config.StateDir, name, got)
		}
	}
	p.close = append(p.close, func() error {
		mu.Lock()
		defer mu.Unlock()
		for name, a := range last {
			// A failure does not matter: only status and doctor print answers.
			_ = deliver.NoteAnswer(s.Config.StateDir, name, a)
		}
		return nil
	})
}

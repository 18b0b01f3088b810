package way

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
)

// Stage is one step that events take, alone.
type Stage struct {
	Name string
	// Kind is where the step belongs.
	Kind Kind
	// Prepare makes what the next Run needs; it is not measured. It may be nil.
	Prepare func() error
	// Run takes all events of the session through the step.
	Run func() error
}

// Kind groups the steps.
type Kind int

// Kinds of steps.
const (
	// Delivery is what every delivery does.
	Delivery Kind = iota
	// Otelmap is package otelmap's part of that.
	Otelmap
	// Destination is what one destination does.
	Destination
	// Limit is the least that a step can come down to.
	Limit
)

// Stages are the steps of one session, made ready to be measured.
type Stages struct {
	Session backlog.Session
	All     []Stage
	// Bodies are the session's OTLP requests.
	Bodies [][]byte

	dir     string
	spool   *spool.Spool
	texts   []cleaned
	events  []hook.Event
	records []spool.Record
	clean   *redact.Redactor
	builder *otelmap.Builder
	runs    []*otelmap.Run
	spans   []*tracepb.ResourceSpans
	closers []func() error
}

// cleaned is one call of Options.Clean.
type cleaned struct {
	text  string
	limit int
}

// batch is the largest number of spans in one request.
const batch = 512

// New writes the session into a spool below dir and takes it through all steps
// once.
func New(ctx context.Context, dir string, s backlog.Session) (_ *Stages, err error) {
	w := &Stages{Session: s, dir: dir, clean: redact.New(nil)}
	if _, err := s.Write(filepath.Join(dir, "spool")); err != nil {
		return nil, err
	}
	if w.spool, err = spool.Open(filepath.Join(dir, "spool"), spool.Options{}); err != nil {
		return nil, err
	}
	w.closers = append(w.closers, w.spool.Close)
	err = w.read(func(r *spool.Record) {
		c := *r
		c.Payload = slices.Clone(r.Payload)
		w.records = append(w.records, c)
	})
	if err == nil {
		err = w.decode(func(e hook.Event) { w.events = append(w.events, e) })
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	// The texts that are cleaned are noted as they come.
	o := Mapping(nil)
	o.Clean = func(s string, limit int) string {
		w.texts = append(w.texts, cleaned{s, limit})
		return w.clean.Preview(s, limit)
	}
	w.add(o)
	for _, r := range w.ends() {
		w.spans = append(w.spans, w.builder.Spans(r, nil))
	}
	w.All = []Stage{
		{Name: "read the log", Run: func() error { return w.read(func(*spool.Record) {}) }},
		{Name: "decode the payload", Run: func() error { return w.decode(func(hook.Event) {}) }},
		{Name: "secrets out of each text, and cut it", Prepare: w.forget, Run: w.cleanTexts},
		{Name: "take in (otelmap Add)", Kind: Otelmap, Run: func() error { w.add(Mapping(nil)); return nil }},
		{Name: "find the runs (otelmap Runs)", Kind: Otelmap, Prepare: func() error { w.add(Mapping(nil)); return nil }, Run: func() error { w.ends(); return nil }},
		{Name: "make the spans (otelmap Spans)", Kind: Otelmap, Prepare: func() error { w.add(Mapping(nil)); w.ends(); return nil }, Run: w.mapRuns},
		{Name: "secrets out of the spans", Prepare: func() error { return errors.Join(w.forget(), w.cleanTexts()) }, Run: w.cleanSpans},
	}
	return w, errors.Join(w.encoder(ctx), w.store(ctx))
}

// Close ends what the steps use.
func (w *Stages) Close() error {
	var errs []error
	for _, f := range slices.Backward(w.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (w *Stages) read(each func(*spool.Record)) (err error) {
	s, err := w.spool.Session(w.Session.Key())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := s.Reader(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		each(r.Record())
	}
	return r.Err()
}

func (w *Stages) decode(each func(hook.Event)) error {
	decode := Sources()[w.Session.Key().Host].Decode
	for i := range w.records {
		events, err := decode(&w.records[i])
		if err != nil {
			return err
		}
		for j := range events {
			each(events[j])
		}
	}
	return nil
}

func (w *Stages) add(o otelmap.Options) {
	o.Agent = agentstest.Mapping(w.Session.Key().Host)
	w.builder = otelmap.NewBuilder(w.Session.Key().Host, w.events[0].Session, o, otelmap.Carry{})
	for i := range w.events {
		w.builder.Add(w.events[i])
	}
}

func (w *Stages) ends() []*otelmap.Run {
	w.runs = w.builder.Runs(w.Session.End.Add(time.Minute))
	return w.runs
}

func (w *Stages) mapRuns() error {
	spans := 0
	for _, r := range w.runs {
		spans += otlp.Count([]*tracepb.ResourceSpans{w.builder.Spans(r, nil)})
	}
	if spans != w.Session.Spans() {
		return errors.New("the mapping made another number of spans than the session has")
	}
	return nil
}

// forget makes the texts new to the redactor, as those of each delivery are.
func (w *Stages) forget() error {
	w.clean = redact.New(nil)
	return nil
}

func (w *Stages) cleanTexts() error {
	for _, t := range w.texts {
		w.clean.Preview(t.text, t.limit)
	}
	return nil
}

func (w *Stages) cleanSpans() error {
	for _, s := range w.spans {
		redactspans.Clean(w.clean, s)
	}
	return nil
}

// encoder adds the steps of the OTLP destination up to the network.
func (w *Stages) encoder(ctx context.Context) error {
	keep := true
	client := &http.Client{Transport: taker(func(b []byte) {
		if keep {
			w.Bodies = append(w.Bodies, b)
		}
	})}
	c := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL("http://nowhere.invalid/v1/traces"), otlptracehttp.WithHTTPClient(client))
	if err := c.Start(ctx); err != nil {
		return err
	}
	w.closers = append(w.closers, func() error { return c.Stop(context.WithoutCancel(ctx)) })
	encode := func() error { return w.upload(ctx, c, batch) }
	if err := encode(); err != nil {
		return err
	}
	keep = false
	requests := make([]*coltracepb.ExportTraceServiceRequest, len(w.Bodies))
	for i, b := range w.Bodies {
		requests[i] = &coltracepb.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(b, requests[i]); err != nil {
			return err
		}
	}
	w.All = append(w.All,
		Stage{Name: "encode for OTLP (otlptracehttp without a network)", Kind: Destination, Run: encode},
		Stage{Name: "the least of that: proto.Marshal", Kind: Limit, Run: func() error {
			for _, r := range requests {
				if _, err := proto.Marshal(r); err != nil {
					return err
				}
			}
			return nil
		}},
	)
	return nil
}

// store adds the steps of the local store.
func (w *Stages) store(ctx context.Context) error {
	var st *store.Store
	n := 0
	w.closers = append(w.closers, func() error {
		if st == nil {
			return nil
		}
		return st.Close()
	})
	fresh := func() (err error) {
		if st != nil {
			err = st.Close()
		}
		if err == nil {
			n++
			st, err = store.Open(ctx, filepath.Join(w.dir, "traces-"+string(rune('a'+n%26))+time.Now().Format("150405.000000")+".db"))
		}
		return err
	}
	write := func() error { return w.upload(ctx, st, 4096) }
	w.All = append(w.All,
		Stage{Name: "write into the local store", Kind: Destination, Prepare: fresh, Run: write},
		Stage{
			Name: "add to its full text", Kind: Destination,
			Prepare: func() error {
				if err := fresh(); err != nil {
					return err
				}
				return write()
			},
			Run: func() error {
				_, err := st.Index(ctx, 0)
				return err
			},
		},
	)
	return nil
}

// upload sends all spans in requests of that size.
func (w *Stages) upload(ctx context.Context, c deliver.Client, size int) error {
	for _, part := range otlp.Split(otlp.Merge(w.spans), size) {
		if err := c.UploadTraces(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// taker is a transport that hands on a request's body and answers for a server.
type taker func([]byte)

func (t taker) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err := errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	t(body)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/internal/measure"
)

// turnEvents is the number of events in a turn of a backlog.
const turnEvents = 100

// batchSpans is the largest number of spans in a request of `hookspan flush`, and
// the SDK's default batch size.
const batchSpans = 512

// longest is how long a delivery may take before it is stopped.
const longest = time.Minute

// delivery is one backlog that is delivered to some destinations by a process
// that is started for it.
type delivery struct {
	session backlog.Session
	// shape says in words what the backlog is.
	shape string
	// to are the destinations, as HOOKSPAN_EXPORTERS names them; empty means the
	// store and OTLP.
	to string

	logSize   int64
	took, cpu time.Duration
	peak      int // KiB, 0 if not measured
	requests  int64
	bytes     int64 // received
	// stopped says that it took too long and was not carried through.
	stopped bool
}

func (d *delivery) name() string {
	return fmt.Sprintf("%s events, %s, to %s", power(d.session.Events()), d.shape, d.destinations())
}

func (d *delivery) destinations() string {
	if d.to == "" {
		return "store and otlp"
	}
	return d.to
}

// power writes a number of events as people speak of it.
func power(n int) string {
	exponent := 0
	for rest := n; ; rest, exponent = rest/10, exponent+1 {
		if rest == 1 {
			return fmt.Sprintf("10^%d", exponent)
		}
		if rest%10 != 0 || rest == 0 {
			return fmt.Sprint(n)
		}
	}
}

// deliveries are the rows of the table, up to that many events.
func deliveries(most int) []*delivery {
	var all []*delivery
	add := func(dialect backlog.Dialect, events, turn int, shape string, to ...string) {
		if events > most {
			return
		}
		for _, d := range to {
			s := backlog.Session{Dialect: dialect, Turns: events / turn, Turn: turn}
			all = append(all, &delivery{session: s, shape: string(dialect) + shape, to: d})
		}
	}
	for _, events := range []int{10_000, 100_000, 1_000_000} {
		add(backlog.Classic, events, turnEvents, "", "otlp", "store", "")
	}
	add(backlog.Classic, 100_000, 100_000, ", all in one run", "otlp", "store", "")
	add(backlog.SDK, 100_000, turnEvents, "", "otlp", "store")
	add(backlog.Claude, 100_000, turnEvents, "", "otlp", "store")
	add(backlog.Claude, 100_000, 100_000, ", all in one run", "")
	return all
}

// flush delivers the backlog and holds the outcome to what must have come of it.
func (f *field) flush(ctx context.Context, d *delivery, r *measure.Receiver) (err error) {
	root, err := os.MkdirTemp(f.root, "flush")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	settings := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + r.URL + "/v1/traces\n"
	if d.to != "" {
		settings += "HOOKSPAN_EXPORTERS=" + d.to + "\n"
	}
	if err := os.MkdirAll(filepath.Join(root, "config", "hookspan"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "config", "hookspan", "hookspan.env"), []byte(settings), 0o600); err != nil {
		return err
	}
	// A minute has passed since: nothing is still settling.
	d.session.End = time.Now().Add(-time.Minute)
	if d.logSize, err = d.session.Write(filepath.Join(root, "state", "hookspan", "spool")); err != nil {
		return err
	}
	if _, err := r.Counts(ctx); err != nil {
		return err
	}
	c := &contestant{
		name: d.name(), argv: []string{f.program("hookspan"), "flush", "--wait", "--json"}, dir: root,
		env: append(f.environ(root), "XDG_CONFIG_HOME="+filepath.Join(root, "config"), "XDG_STATE_HOME="+filepath.Join(root, "state")),
	}
	u, err := f.measured(ctx, c, nil, longest)
	if err != nil {
		return err
	}
	d.took, d.cpu, d.peak, d.stopped = u.took, u.cpu, u.peak, u.stopped
	got, err := r.Counts(ctx)
	if err != nil {
		return err
	}
	d.requests, d.bytes = got.Requests, got.Bytes
	if d.stopped {
		return nil
	}
	return d.check(u.said, got)
}

// check compares what `hookspan flush` and the receiver say with what the backlog
// holds.
func (d *delivery) check(said []byte, got measure.Counts) error {
	var results []struct {
		Destination string
		Spans       int
	}
	if err := json.Unmarshal(said, &results); err != nil {
		return fmt.Errorf("%s: hookspan flush said %.200q: %w", d.name(), said, err)
	}
	want := d.session.Spans()
	for _, r := range results {
		if r.Spans != want {
			return fmt.Errorf("%s: %d spans were delivered to %s, want %d", d.name(), r.Spans, r.Destination, want)
		}
	}
	if len(results) == 0 || d.to != "" && len(results) > 1 {
		return fmt.Errorf("%s: %d destinations took part", d.name(), len(results))
	}
	received := want
	if d.to == "store" {
		received = 0
	}
	if got.Spans != int64(received) {
		return fmt.Errorf("%s: the receiver got %d spans, want %d", d.name(), got.Spans, received)
	}
	return nil
}

// plain is one run of the program plainloop.
type plain struct {
	name       string
	way        string
	batch      int
	spans      int
	requests   int
	perSecond  float64 // spans, from the first made to the last answer
	wallSecond float64 // spans, the program's start included
	cpuSecond  float64 // spans for each second of processor time
	bytes      int64   // received
	peak       int
}

// plainLoops are what deliveries are compared with: by batches of the size that a
// delivery may send, and by those of a turn.
func plainLoops() []*plain {
	return []*plain{
		{name: "a plain loop: SDK spans, otlptracehttp", way: "loop", batch: batchSpans},
		{name: "the same, a request for each trace", way: "loop", batch: turnEvents/2 - 1},
		{name: "sending alone, otlptracehttp, spans made before", way: "export", batch: batchSpans},
		{name: "sending alone, the exporter of hookspan flush", way: "deliver", batch: batchSpans},
	}
}

// loop runs plainloop over as many spans as a delivery of that many events has.
func (f *field) loop(ctx context.Context, p *plain, events int, r *measure.Receiver) error {
	if _, err := r.Counts(ctx); err != nil {
		return err
	}
	c := &contestant{name: p.name, dir: f.root, env: f.environ(f.home), argv: []string{
		f.program("plainloop"), "-endpoint", r.URL + "/v1/traces", "-way", p.way,
		"-turns", fmt.Sprint(events / turnEvents), "-turn", fmt.Sprint(turnEvents), "-batch", fmt.Sprint(p.batch),
	}}
	u, err := f.measured(ctx, c, nil, longest)
	if err != nil {
		return err
	}
	var seconds float64
	if _, err := fmt.Sscan(string(u.said), &p.spans, &p.requests, &seconds); err != nil {
		return fmt.Errorf("plainloop said %q, want three numbers: %w", u.said, err)
	}
	got, err := r.Counts(ctx)
	if err != nil {
		return err
	}
	if got.Spans != int64(p.spans) || p.spans == 0 {
		return fmt.Errorf("%s: the receiver got %d spans, want %d", p.name, got.Spans, p.spans)
	}
	p.bytes = got.Bytes
	// The best of several runs counts: each is short.
	p.perSecond = max(p.perSecond, float64(p.spans)/seconds)
	p.wallSecond = max(p.wallSecond, float64(p.spans)/u.took.Seconds())
	if u.cpu > 0 {
		p.cpuSecond = max(p.cpuSecond, float64(p.spans)/u.cpu.Seconds())
	}
	p.peak = u.peak
	return nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/bench/way"
	"github.com/hookspan/hookspan/tests/internal/measure"
)

// limitEvents is the number of events that are delivered to be held against what
// the machine allows.
const limitEvents = 100_000

// limits holds each path to the least it can come down to, measured beside it:
// the start of a process, one write, the encoding, a request over loopback.
func limits(ctx context.Context, f *field, o options) (_ report, err error) {
	var t limitTable
	if err := f.startLimit(ctx, &t, o.rounds); err != nil {
		return report{}, err
	}
	if err := f.writeLimit(&t, max(1000, o.rounds)); err != nil {
		return report{}, err
	}
	if err := f.sendLimits(ctx, &t); err != nil {
		return report{}, err
	}
	return report{text: t.String()}, nil
}

// limitTable is what came of them.
type limitTable struct{ strings.Builder }

func (t *limitTable) add(path, unit, least string, limit, ours float64) {
	if t.Len() == 0 {
		t.WriteString("| path | the least it can cost | unit | that | hookspan | times |\n|---|---|---|--:|--:|--:|\n")
	}
	fmt.Fprintf(t, "| %s | %s | %s | %.2f | %.2f | %.2f |\n", path, least, unit, limit, ours, ours/limit)
}

// startLimit holds a hook call against the start of a Go program.
func (f *field) startLimit(ctx context.Context, t *limitTable, rounds int) error {
	for _, name := range []string{"noop", "cline-hook"} {
		c := &contestant{name: name, argv: []string{f.program(name), "PostToolUse"}, dir: f.project, every: 1}
		c.payload = payload("PostToolUse", `"postToolUse":{"toolName":"read_file","parameters":{"path":"main.go"},"success":true,"executionTimeMs":12,"result":"%s"}`)
		c.env = append(f.environ(f.home), "XDG_STATE_HOME="+filepath.Join(f.root, "state", name))
		f.contestants = append(f.contestants, c)
	}
	if err := f.takeTurns(ctx, rounds); err != nil {
		return err
	}
	p50 := func(i int) float64 { return quantile(f.contestants[i].took, 0.5).Seconds() * 1e3 }
	t.add("a hook call, 4 KB", "ms", "a Go program that does nothing", p50(0), p50(1))
	return nil
}

// writeLimit holds the storing of an event against one write.
func (f *field) writeLimit(t *limitTable, rounds int) error {
	s := backlog.Session{Dialect: backlog.Classic, Turns: 1, Turn: turnEvents, End: time.Now()}
	dir := filepath.Join(f.root, "spool")
	if _, err := s.Write(dir); err != nil {
		return err
	}
	text := bytes.Repeat([]byte("x"), 4096)
	rec := &spool.Record{Host: s.Key().Host, Session: s.ID(), Event: "PostToolUse", At: s.End, Payload: []byte(`{"result":"` + string(text) + `"}`)}
	plain := func() error {
		file, err := os.OpenFile(filepath.Join(f.root, "plain"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		return errors.Join(err, file.Close())
	}
	ours := func() error {
		sp, err := spool.Open(dir, spool.Options{})
		if err != nil {
			return err
		}
		return errors.Join(sp.Append(rec), sp.Close())
	}
	var took [2][]time.Duration
	for range rounds {
		for i, do := range []func() error{plain, ours} {
			begin := time.Now()
			if err := do(); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	p50 := func(i int) float64 { return quantile(took[i], 0.5).Seconds() * 1e6 }
	t.add("storing an event of 4 KB, within the process", "µs", "open, one write, close", p50(0), p50(1))
	return nil
}

// sendLimits holds a delivery to OTLP against the encoding alone, and against
// requests that were encoded before.
func (f *field) sendLimits(ctx context.Context, t *limitTable) (err error) {
	r, err := measure.StartReceiver(ctx, f.program("receiver"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s := backlog.Session{Dialect: backlog.Classic, Turns: stageTurns, Turn: turnEvents, End: time.Now().Add(-time.Minute)}
	dir := filepath.Join(f.root, "way")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	w, err := way.New(ctx, dir, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	cost := func(name string) (float64, error) {
		for _, stage := range w.All {
			if strings.Contains(stage.Name, name) {
				c, err := w.Measure(stage, stageTime)
				return c.Time * float64(s.Events()) / float64(s.Spans()) / 1e3, err
			}
		}
		return 0, fmt.Errorf("no step is named %q", name)
	}
	marshal, err := cost("proto.Marshal")
	if err != nil {
		return err
	}
	encode, err := cost("encode for OTLP")
	if err != nil {
		return err
	}
	t.add("encoding a span for OTLP, processor time", "µs", "proto.Marshal", marshal, encode)

	// Each is measured several times, and the best of it counts: they are short.
	best := [3]float64{1e9, 1e9, 1e9}
	d := &delivery{session: backlog.Session{Dialect: backlog.Classic, Turns: limitEvents / turnEvents, Turn: turnEvents}, to: "otlp"}
	for range 3 {
		posts, err := post(ctx, r.URL+"/v1/traces", w.Bodies, d.session.Spans()/s.Spans())
		if err != nil {
			return err
		}
		send := &plain{name: "sending", way: "deliver", batch: batchSpans}
		if err := f.loop(ctx, send, limitEvents, r); err != nil {
			return err
		}
		if err := f.flush(ctx, d, r); err != nil {
			return err
		}
		for i, v := range []float64{posts.Seconds() / float64(d.session.Spans()), 1 / send.perSecond, d.took.Seconds() / float64(d.session.Spans())} {
			best[i] = min(best[i], v*1e6)
		}
	}
	const least = "a POST over loopback of what is encoded"
	t.add("sending a span with hookspan's exporter", "µs", least, best[0], best[1])
	if !d.stopped {
		t.add("a span's whole delivery from the log to OTLP", "µs", least, best[0], best[2])
	}
	return nil
}

// post sends the bodies so many times over, one after the other.
func post(ctx context.Context, url string, bodies [][]byte, times int) (time.Duration, error) {
	begin := time.Now()
	for range times {
		for _, b := range bodies {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
			if err != nil {
				return 0, err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil {
				return 0, err
			}
			if resp.StatusCode != http.StatusOK {
				return 0, fmt.Errorf("the receiver answered %s", resp.Status)
			}
		}
	}
	return time.Since(begin), nil
}

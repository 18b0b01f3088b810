package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/tests/bench/fleet/crowd"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/measure"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// atOnce is how many deliveries, or connections of the plain loop, are under way
// at the same time.
const atOnce = 16

// bench is what all parts share.
type bench struct {
	dir, collector string
	ports          *otelcol.Ports
	// requests is the file with what `hookspan flush` sent for a few tasks.
	requests string
	captured crowd.Result
	bytes    int
	// kinds are the recordings' names, spans and events.
	kinds []kind
	// marked are the captured spans' events and links.
	marked int
	facts  facts
	n      int
	first  int
}

type kind struct {
	name          string
	spans, events int
	requestBytes  int
}

func newBench(ctx context.Context, dir string) (_ *bench, err error) {
	b := &bench{dir: dir}
	progress("building hookspan, the load generator and the Collector")
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	if b.collector, err = otelcol.Build(ctx, dir); err != nil {
		return nil, err
	}
	return b, b.capture(ctx)
}

func (b *bench) program(name string) string { return built.Program(b.dir, name) }

// folder makes a separate folder.
func (b *bench) folder(name string) (string, error) {
	b.n++
	dir := filepath.Join(b.dir, fmt.Sprintf("%03d-%s", b.n, name))
	return dir, os.Mkdir(dir, 0o700)
}

// capture records what hookspan sends for one session of each recording.
func (b *bench) capture(ctx context.Context) error {
	root, err := built.Root()
	if err != nil {
		return err
	}
	recordings, err := crowd.Recordings(root)
	if err != nil {
		return err
	}
	var all [][]byte
	for i, rec := range recordings {
		dir, err := b.folder("capture")
		if err != nil {
			return err
		}
		p := crowd.Play{
			Developers: 1, Sessions: 1, First: i, Hookspan: b.program("hookspan"), Dir: dir,
			Settings: crowd.Settings{Exporters: "otlp"},
		}
		requests, r, err := p.Capture(ctx, []*crowd.Recording{rec})
		if err != nil {
			return err
		}
		size := 0
		for _, body := range requests {
			size += len(body)
			n, err := marks(body)
			if err != nil {
				return err
			}
			b.marked += n
		}
		b.kinds = append(b.kinds, kind{rec.Name, r.Spans, r.Events, size})
		b.captured.Sessions++
		b.captured.Spans += r.Spans
		b.captured.Events += r.Events
		b.captured.SpoolBytes += r.SpoolBytes
		b.bytes += size
		all = append(all, requests...)
	}
	if len(all) != len(recordings) {
		return fmt.Errorf("%d requests for %d tasks: the plain loop's -way task takes one for each", len(all), len(recordings))
	}
	b.requests = filepath.Join(b.dir, "requests")
	f, err := os.Create(b.requests)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(all), f.Close())
}

// spansPerTask is the mean over the recordings.
func (b *bench) spansPerTask() float64 {
	return float64(b.captured.Spans) / float64(b.captured.Sessions)
}

// marks counts the events and links of a request's spans.
func marks(body []byte) (n int, err error) {
	var req collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return 0, err
	}
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				n += len(s.GetEvents()) + len(s.GetLinks())
			}
		}
	}
	return n, nil
}

// marks are the events and links of a span, on average.
func (b *bench) marks() float64 { return float64(b.marked) / float64(b.captured.Spans) }

// backend is the process behind the gateways.
type backend struct {
	*measure.Receiver

	come int64
}

func (b *bench) backend(ctx context.Context, side int) (*backend, error) {
	r, err := measure.StartReceiver(ctx, b.program("receiver"), func(start func() error) error { return pinned(side, start) })
	return &backend{Receiver: r}, err
}

// spans returns how many have arrived since the start.
func (be *backend) spans(ctx context.Context) (int64, error) {
	c, err := be.Counts(ctx)
	be.come += c.Spans
	return be.come, err
}

// output runs a program on a side and returns what it printed and the processor
// time that it and what it started took.
func output(ctx context.Context, side int, name string, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // Our own programs.
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := pinned(side, cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, &stderr)
	}
	return stdout.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// sent is what one way of sending came to.
type sent struct {
	spans, requests int
	seconds         float64
	// cpu is that of who sends, peakKiB of the largest process of hookspan.
	cpu     time.Duration
	peakKiB int64
}

// hookspan sends by the load generator.
func (b *bench) hookspan(ctx context.Context, side, developers, sessions int, endpoints []string, more ...string) (s sent, err error) {
	dir, err := b.folder("homes")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	args := append([]string{
		"-endpoint", strings.Join(endpoints, ","), "-hookspan", b.program("hookspan"), "-dir", dir, "-at-once", fmt.Sprint(atOnce),
		"-developers", fmt.Sprint(developers), "-sessions", fmt.Sprint(sessions), "-first", fmt.Sprint(b.first),
	}, more...)
	b.first += developers * sessions
	text, _, err := output(ctx, side, b.program("loadgen"), args...)
	if err != nil {
		return s, err
	}
	var r crowd.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return s, fmt.Errorf("loadgen said %.200q: %w", text, err)
	}
	return sent{r.Spans, r.Deliveries, r.Seconds, time.Duration(r.CPUSeconds * float64(time.Second)), r.PeakKiB}, nil
}

// sender sends by the program of that name.
func (b *bench) sender(ctx context.Context, side int, way string, tasks int, endpoints []string) (s sent, err error) {
	text, took, err := output(ctx, side, b.program("sender"), "-endpoint", strings.Join(endpoints, ","), "-requests", b.requests,
		"-way", way, "-tasks", fmt.Sprint(tasks), "-at-once", fmt.Sprint(atOnce))
	if err != nil {
		return s, err
	}
	s.cpu = took
	_, err = fmt.Sscan(string(text), &s.spans, &s.requests, &s.seconds)
	return s, err
}

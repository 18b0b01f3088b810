package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/bench/fleet/crowd"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// sides are those of what stands with the developers and of the rest, apart where
// that can be.
func sides() (fleetSide, remote int) {
	if apartReason() != "" {
		return -1, -1
	}
	return 0, 1
}

// recorded lists the tasks that all parts send.
func recorded(_ context.Context, b *bench, _ options) (string, error) {
	var t strings.Builder
	t.WriteString("| recorded task | events | spans | bytes a span in OTLP |\n|---|--:|--:|--:|\n")
	for _, k := range b.kinds {
		fmt.Fprintf(&t, "| %s | %d | %d | %d |\n", k.name, k.events, k.spans, k.requestBytes/k.spans)
	}
	return t.String(), nil
}

// costs measures the processor time of each part of the way, all of what it does
// for a span: sampling and sending on, too.
func costs(ctx context.Context, b *bench, o options) (string, error) {
	var t strings.Builder
	t.WriteString("| who | does what | CPU ms per 1,000 spans | spans per CPU second | CPU ms per task |\n|---|---|--:|--:|--:|\n")
	line := func(who, what string, took time.Duration, spans int) {
		ms := perThousand(took, spans)
		fmt.Fprintf(&t, "| %s | %s | %.1f | %s | %.2f |\n", who, what, ms, rounded(1e6/ms), ms*b.spansPerTask()/1e3)
		progress("%s, %s: %.1f ms per 1,000 spans", who, what, ms)
	}
	if err := b.flushCosts(ctx, line); err != nil {
		return "", err
	}
	idle, err := b.idleFlush(ctx)
	if err != nil {
		return "", err
	}
	if err := b.agentCost(ctx, o.tasks/4, line); err != nil {
		return "", err
	}
	for _, c := range []struct {
		n          int
		way, keeps string
		what       string
	}{
		{1, "replay", "100", "all kept, a request for each task"},
		{1, "replay", "10", "10 % kept, a request for each task"},
		{1, "loop", "10", "10 % kept, 512 spans in a request"},
		{2, "replay", "10", "10 % kept, a request for each task"},
	} {
		took, spans, err := b.gatewayCost(ctx, c.n, c.way, c.keeps, o.tasks)
		if err != nil {
			return "", fmt.Errorf("%d gateways, %s: %w", c.n, c.what, err)
		}
		who := "one gateway"
		if c.n > 1 {
			who = fmt.Sprintf("%d gateways together", c.n)
			b.facts.gateway = took.Seconds() / float64(spans)
		}
		line(who, c.what, took, spans)
	}
	fmt.Fprintf(&t, "\nA `hookspan flush` that finds nothing to deliver takes %.1f ms of processor time.\n", idle.Seconds()*1e3)
	return t.String(), nil
}

func (b *bench) flushCosts(ctx context.Context, line func(who, what string, took time.Duration, spans int)) (err error) {
	fleetSide, remote := sides()
	be, err := b.backend(ctx, remote)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, be.Close()) }()
	for _, c := range []struct {
		what                 string
		developers, sessions int
		more                 []string
	}{
		{"a process for each task, to OTLP", 200, 1, nil},
		{"a process for each task, to OTLP and the local store", 100, 2, []string{"-exporters", ""}},
		{"20 tasks by one process, to OTLP", 20, 20, []string{"-day"}},
	} {
		s, err := b.hookspan(ctx, fleetSide, c.developers, c.sessions, []string{be.URL}, c.more...)
		if err != nil {
			return err
		}
		line("`hookspan flush`", c.what, s.cpu, s.spans)
	}
	return nil
}

// idleFlushes is how many of them are measured.
const idleFlushes = 100

// idleFlush is the processor time of a delivery that finds nothing.
func (b *bench) idleFlush(ctx context.Context) (time.Duration, error) {
	fleetSide, _ := sides()
	dir, err := b.folder("idle")
	if err != nil {
		return 0, err
	}
	d, err := crowd.Settle(dir, 0, crowd.Settings{Endpoints: []string{"http://127.0.0.1:1"}, Exporters: "otlp"})
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	err = pinned(fleetSide, func() error {
		for range idleFlushes {
			got, err := d.Flush(ctx, b.program("hookspan"))
			if err != nil {
				return err
			}
			sum += got.CPU
		}
		return nil
	})
	return sum / idleFlushes, err
}

// agentCost is that of a Collector beside the agent that sends on to a backend.
func (b *bench) agentCost(ctx context.Context, tasks int, line func(who, what string, took time.Duration, spans int)) (err error) {
	fleetSide, remote := sides()
	be, err := b.backend(ctx, remote)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, be.Close()) }()
	a, endpoint, _, err := b.agent(ctx, remote, be.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Kill()) }()
	before, err := cpu(a.PID())
	if err != nil {
		return err
	}
	s, err := b.sender(ctx, fleetSide, "replay", tasks, []string{endpoint})
	if err != nil {
		return err
	}
	if err := be.await(ctx, s.spans); err != nil {
		return err
	}
	after, err := cpu(a.PID())
	if err != nil {
		return err
	}
	line("Collector beside the agent", "secrets, queue on disk, a request for each task", after-before, s.spans)
	return nil
}

// agent starts a Collector with agent.yaml and returns where it listens and keeps
// its queue.
func (b *bench) agent(ctx context.Context, side int, to string) (a *otelcol.Collector, endpoint, queue string, err error) {
	config, err := otelcol.Config("agent.yaml")
	if err != nil {
		return nil, "", "", err
	}
	listen, err := b.ports.Next()
	if err != nil {
		return nil, "", "", err
	}
	dir, err := b.folder("agent")
	if err != nil {
		return nil, "", "", err
	}
	queue = filepath.Join(dir, "queue")
	o := otelcol.Options{
		Binary: b.collector, Dir: dir, Configs: []string{config}, Ready: []string{listen},
		Env: []string{"BACKEND_ENDPOINT=" + to, "QUEUE_DIRECTORY=" + queue, "AGENT_LISTEN=" + listen},
	}
	err = pinned(side, func() (err error) { a, err = otelcol.Start(ctx, o); return err })
	return a, "http://" + listen, queue, err
}

// await waits until as many spans have come.
func (be *backend) await(ctx context.Context, want int) error {
	return until(ctx, fmt.Sprintf("%d spans at the backend", want), func() (bool, error) {
		spans, err := be.spans(ctx)
		if err == nil && spans > int64(want) {
			err = fmt.Errorf("%d spans came to the backend, want %d", spans, want)
		}
		return spans == int64(want), err
	})
}

// quiet is how long no span may come to the backend before all that is kept has:
// longer than the gateways wait before they decide about a trace.
const quiet = 8 * time.Second

// rest waits until nothing comes any more.
func (be *backend) rest(ctx context.Context) error {
	last, since := int64(-1), time.Now()
	return until(ctx, "an end of what comes to the backend", func() (bool, error) {
		spans, err := be.spans(ctx)
		if spans != last {
			last, since = spans, time.Now()
		}
		return spans > 0 && time.Since(since) > quiet, err
	})
}

func (b *bench) gatewayCost(ctx context.Context, n int, way, keeps string, tasks int) (took time.Duration, spans int, err error) {
	fleetSide, remote := sides()
	g, err := b.gateways(ctx, remote, n, "KEEP_PERCENT="+keeps)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	before, err := g.cpu()
	if err != nil {
		return 0, 0, err
	}
	s, err := b.sender(ctx, fleetSide, way, tasks, g.endpoints)
	if err != nil {
		return 0, 0, fmt.Errorf("%w; %s", err, g.complaints())
	}
	if keeps == "100" {
		err = g.backend.await(ctx, s.spans+g.probes)
	} else {
		err = g.backend.rest(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w; %s", err, g.complaints())
	}
	after, err := g.cpu()
	return after - before, s.spans, err
}

// held makes a gateway keep all traces in memory, undecided.
const held = "yaml:\nprocessors: {tail_sampling: {decision_wait: 10m, decision_wait_after_root_received: 10m}}"

// memory measures what tail sampling takes for traces that it has not decided
// about.
func memory(ctx context.Context, b *bench, o options) (string, error) {
	var t strings.Builder
	t.WriteString("| tasks undecided | spans | peak MiB of the gateway | bytes a span, over the idle gateway |\n|--:|--:|--:|--:|\n")
	idle := 0.0
	for _, tasks := range []int{0, o.tasks / 4, o.tasks, o.tasks * 5 / 2} {
		p, spans, err := b.holding(ctx, tasks)
		if err != nil {
			return "", fmt.Errorf("%d tasks undecided: %w", tasks, err)
		}
		each := "-"
		if tasks == 0 {
			idle = p
			b.facts.idle = p * (1 << 20)
		} else {
			b.facts.held = (p - idle) * (1 << 20) / float64(spans)
			each = rounded((p - idle) * (1 << 20) / float64(spans))
		}
		fmt.Fprintf(&t, "| %d | %d | %.0f | %s |\n", tasks, spans, p, each)
		progress("%d tasks undecided: %.0f MiB, %s bytes a span", tasks, p, each)
	}
	return t.String(), nil
}

func (b *bench) holding(ctx context.Context, tasks int) (mib float64, spans int, err error) {
	fleetSide, remote := sides()
	g, err := b.configured(ctx, remote, 1, []string{held})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if tasks > 0 {
		s, err := b.sender(ctx, fleetSide, "replay", tasks, g.endpoints)
		if err != nil {
			return 0, 0, fmt.Errorf("%w; %s", err, g.complaints())
		}
		spans = s.spans
		if err := g.counted(ctx, spans); err != nil {
			return 0, 0, err
		}
	}
	all, err := g.peaks()
	if err != nil {
		return 0, 0, err
	}
	return all[0], spans, nil
}

// queue measures what an outage costs on disk, at each place that keeps spans.
func queue(ctx context.Context, b *bench, o options) (string, error) {
	var t strings.Builder
	t.WriteString("| what is out of reach | what keeps the spans | spans | bytes a span | of the file, a span |\n|---|---|--:|--:|--:|\n")
	line := func(down, keeps string, spans int, used, long int64) (perSpan float64) {
		fmt.Fprintf(&t, "| %s | %s | %d | %d | %d |\n", down, keeps, spans, used/int64(spans), long/int64(spans))
		progress("%s: %d bytes a span, the file %d", keeps, used/int64(spans), long/int64(spans))
		// The disk must hold the larger of the two.
		return float64(max(used, long)) / float64(spans)
	}
	b.facts.spool = line("everything", "hookspan's log of events, on the developer's machine", b.captured.Spans, b.captured.SpoolBytes, b.captured.SpoolBytes)
	nowhere, err := b.ports.Next()
	if err != nil {
		return "", err
	}
	if err := b.agentQueue(ctx, "http://"+nowhere, o.tasks/2, line); err != nil {
		return "", err
	}
	err = b.gatewayQueue(ctx, "http://"+nowhere, o.tasks, line)
	return t.String(), err
}

func (b *bench) agentQueue(ctx context.Context, nowhere string, tasks int, line func(down, keeps string, spans int, used, long int64) float64) (err error) {
	fleetSide, remote := sides()
	a, endpoint, dir, err := b.agent(ctx, remote, nowhere)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Kill()) }()
	s, err := b.sender(ctx, fleetSide, "replay", tasks, []string{endpoint})
	if err != nil {
		return err
	}
	long, used, err := sizeOf(dir)
	if err != nil {
		return err
	}
	line("the gateways", "the queue of the Collector beside the agent", s.spans, used, long)
	return nil
}

func (b *bench) gatewayQueue(ctx context.Context, nowhere string, tasks int, line func(down, keeps string, spans int, used, long int64) float64) (err error) {
	fleetSide, remote := sides()
	g, err := b.gateways(ctx, remote, 1, "BACKEND_ENDPOINT="+nowhere, "KEEP_PERCENT=100")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	s, err := b.sender(ctx, fleetSide, "replay", tasks, g.endpoints)
	if err != nil {
		return fmt.Errorf("%w; %s", err, g.complaints())
	}
	// The queue is a database without a count: it has everything once it has
	// stopped to grow.
	dir := g.queues[0]
	last, since := int64(-1), time.Now()
	var long int64
	err = until(ctx, "an end of what comes into the queue", func() (bool, error) {
		var used int64
		if long, used, err = sizeOf(dir); err != nil {
			return false, err
		}
		if used != last {
			last, since = used, time.Now()
		}
		return time.Since(since) > quiet, nil
	})
	if err != nil {
		return err
	}
	b.facts.gatewayQueue = line("the backend", "a gateway's queue, all kept", s.spans, last, long)
	return nil
}

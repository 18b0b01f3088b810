package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/internal/measure"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// gateways are Collectors that share the traces among them, and the backend
// behind them.
type gateways struct {
	all       []*otelcol.Collector
	queues    []string
	endpoints []string
	metrics   []string
	backend   *backend
	// probes are the spans that were sent to see that all are ready.
	probes int
}

// seen makes the gateways report at once what they have counted, so that no caller
// has to wait for it.
const seen = "yaml:\nconnectors: {agent_metrics: {interval: 1s}}\nservice: {telemetry: {metrics: {level: none}}}"

// gateways starts n of them on a side, with those settings on top.
func (b *bench) gateways(ctx context.Context, side, n int, env ...string) (*gateways, error) {
	return b.configured(ctx, side, n, nil, env...)
}

// configured starts them with more configuration on top.
func (b *bench) configured(ctx context.Context, side, n int, more []string, env ...string) (_ *gateways, err error) {
	g := &gateways{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	if g.backend, err = b.backend(ctx, side); err != nil {
		return nil, err
	}
	config, err := otelcol.Config("gateway.yaml")
	if err != nil {
		return nil, err
	}
	var listen, peers, health []string
	for range n {
		for _, list := range []*[]string{&listen, &peers, &health, &g.metrics} {
			address, err := b.ports.Next()
			if err != nil {
				return nil, err
			}
			*list = append(*list, address)
		}
	}
	for i := range n {
		dir, err := b.folder("gateway")
		if err != nil {
			return nil, err
		}
		o := otelcol.Options{
			Binary: b.collector, Dir: dir, Configs: append([]string{config, seen}, more...),
			Ready: []string{"http://" + health[i], listen[i], peers[i]},
			Env: append([]string{
				"BACKEND_ENDPOINT=" + g.backend.URL, "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue"),
				"GATEWAY_LISTEN=" + listen[i], "GATEWAY_PEER_LISTEN=" + peers[i], "GATEWAY_HEALTH=" + health[i],
				"GATEWAY_METRICS=" + g.metrics[i], "GATEWAY_PEERS=[" + strings.Join(peers, ",") + "]", "GATEWAY_NAME=gateway-" + strconv.Itoa(i),
			}, env...),
		}
		var c *otelcol.Collector
		err = pinned(side, func() (err error) { c, err = otelcol.Start(ctx, o); return err })
		if err != nil {
			return nil, err
		}
		g.all = append(g.all, c)
		g.queues = append(g.queues, filepath.Join(dir, "queue"))
		g.endpoints = append(g.endpoints, "http://"+listen[i])
	}
	g.probes, err = g.warm(ctx)
	return g, err
}

func (g *gateways) close() error {
	var errs []error
	for _, c := range g.all {
		errs = append(errs, c.Kill())
	}
	if g.backend != nil {
		errs = append(errs, g.backend.Close())
	}
	return errors.Join(errs...)
}

// cpu is the processor time of all gateways so far.
func (g *gateways) cpu() (sum time.Duration, err error) {
	for _, c := range g.all {
		took, err := cpu(c.PID())
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

// peaks are the gateways' peak memory in MiB.
func (g *gateways) peaks() (all []float64, err error) {
	for _, c := range g.all {
		p, err := peak(c.PID())
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// patience is how long anything that has to come may take.
const patience = time.Minute

// until polls until done says so.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, stop := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s: not within %s", what, patience))
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// counted waits until the gateways' metrics report as many spans, and fails
// where they report more.
func (g *gateways) counted(ctx context.Context, want int) error {
	want += g.probes
	last := 0
	err := until(ctx, fmt.Sprintf("%d spans in the gateways' metrics", want), func() (bool, error) {
		last = 0
		for _, m := range g.metrics {
			text, err := measure.Get(ctx, "http://"+m+"/metrics")
			if err != nil {
				return false, err
			}
			n, err := calls(text)
			if err != nil {
				return false, err
			}
			last += n
		}
		return last >= want, nil
	})
	if err == nil && last > want {
		err = fmt.Errorf("the gateways counted %d spans of %d", last, want)
	}
	if err != nil {
		return fmt.Errorf("%w; counted %d; %s", err, last, g.complaints())
	}
	return nil
}

// calls sums the series of agent.calls, one of which each span counts in.
func calls(text string) (sum int, err error) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "agent_calls_total{") {
			continue
		}
		value, err := strconv.ParseFloat(strings.Fields(line[strings.LastIndexByte(line, '}')+1:])[0], 64)
		if err != nil {
			return 0, fmt.Errorf("series %q: %w", line, err)
		}
		sum += int(value)
	}
	return sum, nil
}

// complaints are the gateways' warnings and errors, the last few.
func (g *gateways) complaints() string {
	var out []string
	for _, c := range g.all {
		for line := range strings.Lines(c.Log()) {
			if strings.Contains(line, "\terror\t") || strings.Contains(line, "\twarn\t") {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	if len(out) == 0 {
		return "their logs report nothing"
	}
	return fmt.Sprintf("their logs report %d faults, at last: %.600s", len(out), out[len(out)-1])
}

// sizeOf is the room a folder's files take: as long as they say, and on the disk.
func sizeOf(dir string) (long, disk int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, 0, err
		}
		long += info.Size()
		disk += blocks(info)
	}
	return long, disk, nil
}

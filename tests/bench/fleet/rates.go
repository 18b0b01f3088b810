package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// setting says what stands on which core.
type setting struct {
	name          string
	fleet, remote int // the side of what stands with the developers, and of the rest
}

func settings() []setting {
	return []setting{
		{"all on all cores", -1, -1},
		{"developers on one core, gateways on another", 0, 1},
	}
}

// ways are what is compared, in the order of the table. Each sends the same
// spans.
var ways = []struct{ way, name string }{
	{"tasks", "`hookspan flush`, a process for each task"},
	{"replay", "its requests, replayed"},
	{"task", "plain loop, a request for each task"},
	{"loop", "plain loop, 512 spans in a request"},
}

// measured is one line of the table.
type measured struct {
	sent
	// rates are the rounds' spans per second.
	rates      []float64
	gatewayCPU time.Duration
	peaks      []float64
}

// rate is that of the middle round: the others may have met other work on the machine.
func (m *measured) rate() float64 { return median(m.rates) }

// cost is the gateways' processor time for a span.
func (m *measured) cost() float64 { return m.gatewayCPU.Seconds() / float64(m.spans) }

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func (m *measured) add(s sent, cpu time.Duration) {
	m.rates = append(m.rates, float64(s.spans)/s.seconds)
	m.spans += s.spans
	m.requests += s.requests
	m.seconds += s.seconds
	m.cpu += s.cpu
	m.peakKiB = max(m.peakKiB, s.peakKiB)
	m.gatewayCPU += cpu
}

// cell is a fleet of a size against a number of gateways.
type cell struct {
	developers, gateways int
	by                   map[string]*measured
}

// rounds is how often what is compared takes its turn.
const rounds = 3

// rates measures spans per second until the last one has been taken by the
// gateway that keeps it.
func rates(ctx context.Context, b *bench, o options) (string, error) {
	var head, out strings.Builder
	head.WriteString("| to the plain loop by tasks | gateways | hookspan's requests, replayed | the same by the gateways' CPU | `hookspan flush`, a process for each task |\n|---|--:|--:|--:|--:|\n")
	fmt.Fprintf(&out, "\nA task has %.1f spans on average, of %d bytes each in OTLP. %d deliveries, or connections of the plain loop, are under way at once.\n",
		b.spansPerTask(), b.bytes/b.captured.Spans, atOnce)
	for _, s := range settings() {
		fmt.Fprintf(&out, "\n**%s**\n\n", strings.ToUpper(s.name[:1])+s.name[1:])
		if why := apartReason(); why != "" && s.fleet >= 0 {
			fmt.Fprintf(&out, "Not measured here: %s.\n", why)
			continue
		}
		var cells []*cell
		for _, gateways := range []int{1, 2} {
			for _, developers := range o.developers {
				c, err := b.cell(ctx, s, developers, gateways, o.tasks)
				if err != nil {
					return "", fmt.Errorf("%s, %d developers, %d gateways: %w", s.name, developers, gateways, err)
				}
				cells = append(cells, c)
			}
		}
		out.WriteString(ratesTable(cells))
		head.WriteString(summary(s.name, cells))
	}
	return head.String() + out.String(), nil
}

// sessionsOf is how many sessions each developer has, so that few developers
// keep the gateways busy for a while, too.
func sessionsOf(developers int) int { return max(1, min(20, 600/developers)) }

func (b *bench) cell(ctx context.Context, s setting, developers, n, tasks int) (_ *cell, err error) {
	g, err := b.gateways(ctx, s.remote, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	c := &cell{developers, n, make(map[string]*measured)}
	spans := 0
	for round := range rounds {
		for _, w := range ways {
			if w.way == "tasks" && round > 0 {
				continue
			}
			before, err := g.cpu()
			if err != nil {
				return nil, err
			}
			var got sent
			if w.way == "tasks" {
				got, err = b.hookspan(ctx, s.fleet, developers, sessionsOf(developers), g.endpoints)
			} else {
				got, err = b.sender(ctx, s.fleet, w.way, tasks/rounds, g.endpoints)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w; %s", w.name, err, g.complaints())
			}
			after, err := g.cpu()
			if err != nil {
				return nil, err
			}
			if c.by[w.way] == nil {
				c.by[w.way] = &measured{}
			}
			m := c.by[w.way]
			m.add(got, after-before)
			if m.peaks, err = g.peaks(); err != nil {
				return nil, err
			}
			spans += got.spans
		}
	}
	// What was answered must have been counted, each once.
	if err := g.counted(ctx, spans); err != nil {
		return nil, err
	}
	progress("%s: %d developers, %d gateways: to the plain loop by tasks: hookspan flush %s, its requests %s, by the gateways' CPU %s", s.name, developers, n,
		percent(c.share("tasks", "task")), percent(c.share("replay", "task")), percent(c.thrift("replay")))
	return c, nil
}

// share is the one's rate to the other's.
func (c *cell) share(way, of string) float64 { return c.by[way].rate() / c.by[of].rate() }

// thrift is how many spans the gateways take from it for the processor time in
// which they take one from the plain loop by tasks.
func (c *cell) thrift(way string) float64 { return c.by["task"].cost() / c.by[way].cost() }

// summary holds what hookspan sends against the plain loop by tasks, in the
// middle of the fleets of all sizes.
func summary(name string, cells []*cell) string {
	var b strings.Builder
	for _, gateways := range []int{1, 2} {
		var flush, replay, thrift []float64
		for _, c := range cells {
			if c.gateways == gateways {
				flush, replay, thrift = append(flush, c.share("tasks", "task")), append(replay, c.share("replay", "task")), append(thrift, c.thrift("replay"))
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", name, gateways, percent(median(replay)), percent(median(thrift)), percent(median(flush)))
	}
	return b.String()
}

func ratesTable(cells []*cell) string {
	var b strings.Builder
	b.WriteString("| developers | gateways | who sends | to the plain loop by tasks | by the gateways' CPU | to the loop by 512 | spans/s | spans in a request | gateways' CPU busy | gateways' CPU ms per 1,000 spans | peak MiB of a gateway so far | peak MiB of `hookspan flush` |\n" +
		"|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range cells {
		for _, w := range ways {
			m := c.by[w.way]
			own := "-"
			if m.peakKiB > 0 {
				own = fmt.Sprintf("%.0f", float64(m.peakKiB)/1024)
			}
			fmt.Fprintf(&b, "| %d | %d | %s | %s | %s | %s | %s | %.0f | %s | %.1f | %s | %s |\n", c.developers, c.gateways, w.name,
				percent(c.share(w.way, "task")), percent(c.thrift(w.way)), percent(c.share(w.way, "loop")), rounded(m.rate()),
				float64(m.spans)/float64(m.requests), percent(m.gatewayCPU.Seconds()/m.seconds), perThousand(m.gatewayCPU, m.spans), megabytes(m.peaks), own)
		}
	}
	return b.String()
}

// perThousand is milliseconds for 1,000 spans.
func perThousand(took time.Duration, spans int) float64 {
	return took.Seconds() * 1e3 * 1e3 / float64(spans)
}

func megabytes(all []float64) string {
	var words []string
	for _, m := range all {
		words = append(words, fmt.Sprintf("%.0f", m))
	}
	return strings.Join(words, ", ")
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }

// rounded writes a number with three digits and commas.
func rounded(v float64) string {
	n, step := int64(v), int64(1)
	for n/step >= 1000 {
		step *= 10
	}
	s := fmt.Sprint((n + step/2) / step * step)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

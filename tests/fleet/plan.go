package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

// facts are what the parts have measured that the plan is made from.
type facts struct {
	// flush is hookspan's processor time for a task, with the local store, gateway
	// that of several gateways together for a span; in seconds.
	flush, gateway float64
	// idle is a gateway's memory in bytes, held that of a span undecided.
	idle, held float64
	// spool, agentQueue and gatewayQueue are bytes on disk for a span.
	spool, agentQueue, gatewayQueue float64
}

// assumed are the numbers that nobody can measure here. Who plans puts in their
// own.
type assumed struct {
	developers, tasks float64 // tasks a developer and day
	hours             float64 // of a day in which the work is done
	peak              float64 // the busiest second, to the mean of those hours
	kept              float64 // share of the spans that sampling keeps
	use               float64 // share of a core that may be busy at the peak
	cores             float64 // of a gateway
	wait              float64 // seconds a trace is held, as gateway.yaml has it
	longer            float64 // a task, to a recorded one
}

func assumptions() []assumed {
	a := assumed{developers: 100_000, tasks: 40, hours: 8, peak: 3, kept: 0.15, use: 0.5, cores: 4, wait: 6, longer: 1}
	long := a
	long.longer = 10
	return []assumed{a, long}
}

// infiniumRate is Infinium's documented number of requests a second; each takes
// one trace.
const infiniumRate = 10

// workdays is how many days of a month count.
const workdays = 22

// plan works out a large fleet on paper from what the other parts have measured.
func plan(_ context.Context, b *bench, _ options) (string, error) {
	f := b.facts
	if f.gateway == 0 || f.held == 0 || f.gatewayQueue == 0 {
		return "", errors.New("the plan is made from what costs, memory and queue measure: run these before it, as -part costs,memory,queue,plan")
	}
	all := assumptions()
	var t strings.Builder
	t.WriteString("| | formula | tasks as recorded | tasks ten times as long |\n|---|---|--:|--:|\n")
	row := func(what, formula string, value func(p paper) string) {
		fmt.Fprintf(&t, "| %s | %s |", what, formula)
		for _, a := range all {
			fmt.Fprintf(&t, " %s |", value(b.paper(a)))
		}
		t.WriteString("\n")
	}
	number := func(format string, get func(p paper) float64) func(paper) string {
		return func(p paper) string { return fmt.Sprintf(format, get(p)) }
	}
	row("developers, D", "assumed", func(p paper) string { return rounded(p.developers) })
	row("tasks a developer and day, T", "assumed", number("%.0f", func(p paper) float64 { return p.tasks }))
	row("hours of work a day, H; peak to their mean, P", "assumed", func(p paper) string { return fmt.Sprintf("%.0f; %.0f", p.hours, p.peak) })
	row("share of spans kept, K", "assumed", func(p paper) string { return percent(p.kept) })
	row("spans a task, S", "measured; times ten: assumed", number("%.1f", func(p paper) float64 { return p.perTask }))
	row("bytes a span, B", "measured", func(p paper) string { return rounded(p.bytes) })
	row("tasks a day", "D T", func(p paper) string { return rounded(p.developers * p.tasks) })
	row("spans a day, N", "D T S", func(p paper) string { return rounded(p.day) })
	row("spans a second at the peak, R", "N P / (3600 H)", func(p paper) string { return rounded(p.rate) })
	row("requests a second at the peak", "R / S; 512 spans in a request at most", func(p paper) string { return rounded(p.rate / min(p.perTask, 512)) })
	row("gateway CPU for a span, c", "measured", number("%.0f µs", func(p paper) float64 { return f.gateway * 1e6 }))
	row("cores busy at the peak", "R c", number("%.1f", func(p paper) float64 { return p.rate * f.gateway }))
	row("gateways of 4 cores, G", "R c / (4 · 50 %), up, and one that may fail", number("%.0f", func(p paper) float64 { return p.gateways }))
	row("spans undecided at the peak", "R W, W = 6 s: 5 s after the root, decided each second", func(p paper) string { return rounded(p.rate * p.wait) })
	row("traces undecided in a gateway (num_traces is 50,000)", "R W / (S G)", func(p paper) string { return rounded(p.rate * p.wait / p.perTask / p.gateways) })
	row("memory of a gateway", "idle + R W m / G, m measured", number("%.0f MiB", func(p paper) float64 { return (f.idle + p.rate*p.wait*f.held/p.gateways) / (1 << 20) }))
	row("the same if no root came (30 s)", "idle + R · 30 · m / G", number("%.0f MiB", func(p paper) float64 { return (f.idle + p.rate*30*f.held/p.gateways) / (1 << 20) }))
	row("backend down: all gateways' disks, an hour at the peak", "R K q · 3600, q measured", func(p paper) string { return size(p.rate * p.kept * f.gatewayQueue * 3600) })
	row("backend down: all gateways' disks, a day", "N K q", func(p paper) string { return size(p.day * p.kept * f.gatewayQueue) })
	row("gateways down: a developer's disk, an hour at the peak, with a Collector", "R a · 3600 / D, a measured", func(p paper) string { return size(p.rate / p.developers * f.agentQueue * 3600) })
	row("gateways down: a developer's disk, a day, with a Collector", "T S a", func(p paper) string { return size(p.tasks * p.perTask * f.agentQueue) })
	row("gateways down: a developer's disk, a day, without", "T S e, e measured", func(p paper) string { return size(p.tasks * p.perTask * f.spool) })
	row("a developer's CPU a day, `hookspan flush`, tasks as recorded", "T times a task, measured", func(p paper) string {
		if p.longer != 1 {
			return "not measured"
		}
		return fmt.Sprintf("%.1f s", p.tasks*f.flush)
	})
	row("to the backend a day, before compression", "N K B", func(p paper) string { return size(p.day * p.kept * p.bytes) })
	row("the same unsampled", "N B", func(p paper) string { return size(p.day * p.bytes) })
	row("bytes a second at the peak", "R K B", func(p paper) string { return size(p.rate * p.kept * p.bytes) })
	row("requests a minute at the peak, 256 spans each", "60 R K / 256", func(p paper) string { return rounded(math.Ceil(p.rate * p.kept / 256 * 60)) })
	row("spans, span events and links a month of 22 days", "22 N K (1 + x), x measured", func(p paper) string { return rounded(workdays * p.day * p.kept * (1 + b.marks())) })
	row("Infinium: tasks a day it takes", "10 requests a second, documented", func(paper) string { return rounded(infiniumRate * 86_400) })
	row("Infinium: developers that is for", "864,000 / T", func(p paper) string { return rounded(infiniumRate * 86_400 / p.tasks) })
	row("Infinium: developers it keeps up with at the peak", "10 · 3600 H / (T P)", func(p paper) string { return rounded(infiniumRate * 3600 * p.hours / p.tasks / p.peak) })
	return t.String(), nil
}

// paper is what comes of the assumptions before anything else is asked.
type paper struct {
	assumed
	perTask, bytes, day, rate, gateways float64
}

func (b *bench) paper(a assumed) paper {
	p := paper{assumed: a, perTask: b.spansPerTask() * a.longer, bytes: float64(b.bytes) / float64(b.captured.Spans)}
	p.day = a.developers * a.tasks * p.perTask
	p.rate = p.day * a.peak / (3600 * a.hours)
	p.gateways = math.Ceil(p.rate*b.facts.gateway/(a.cores*a.use)) + 1
	return p
}

// size writes bytes with a unit of the powers of ten.
func size(v float64) string {
	for _, u := range []struct {
		unit string
		of   float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if v >= u.of {
			return fmt.Sprintf("%.3g %s", v/u.of, u.unit)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

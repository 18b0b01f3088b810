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
	// gateway is the processor time of several gateways together for a span, in
	// seconds.
	gateway float64
	// idle is a gateway's memory in bytes, held that of a span undecided.
	idle, held float64
	// spool and gatewayQueue are bytes on disk for a span.
	spool, gatewayQueue float64
}

// assumed are the numbers that cannot be measured here. Users put in their
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
	t.WriteString("| | how | tasks as recorded | tasks ten times as long |\n|---|---|--:|--:|\n")
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
	row("developers", "assumed", func(p paper) string { return rounded(p.developers) })
	row("tasks per developer and day", "assumed", number("%.0f", func(p paper) float64 { return p.tasks }))
	row("spans that sampling keeps", "assumed", func(p paper) string { return percent(p.kept) })
	row("spans per task", "measured; times ten: assumed", number("%.1f", func(p paper) float64 { return p.perTask }))
	row("bytes per span", "measured", func(p paper) string { return rounded(p.bytes) })
	row("spans per second at the peak", "3 times the mean of 8 working hours", func(p paper) string { return rounded(p.rate) })
	row("gateway cores busy at the peak", "CPU per span, measured", number("%.1f", func(p paper) float64 { return p.rate * f.gateway }))
	row("gateways with 4 cores", "half busy, and one that may fail", number("%.0f", func(p paper) float64 { return p.gateways }))
	row("memory of a gateway", "spans of 6 s undecided, bytes per span measured", number("%.0f MiB", func(p paper) float64 { return (f.idle + p.rate*p.wait*f.held/p.gateways) / (1 << 20) }))
	row("the same if no root span arrives", "spans of 30 s undecided", number("%.0f MiB", func(p paper) float64 { return (f.idle + p.rate*30*f.held/p.gateways) / (1 << 20) }))
	row("backend down for a day: disk of all gateways", "bytes per kept span, measured", func(p paper) string { return size(p.day * p.kept * f.gatewayQueue) })
	row("gateways down for a day: disk of a developer", "hookspan's log, measured", func(p paper) string { return size(p.tasks * p.perTask * f.spool) })
	row("to the backend per day, uncompressed", "kept spans", func(p paper) string { return size(p.day * p.kept * p.bytes) })
	row("spans, span events and links per month", "kept spans, 22 days", func(p paper) string { return rounded(workdays * p.day * p.kept * (1 + b.marks())) })
	row("developers that Infinium keeps up with at the peak", "10 requests a second, documented", func(p paper) string { return rounded(infiniumRate * 3600 * p.hours / p.tasks / p.peak) })
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

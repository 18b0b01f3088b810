package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/internal/measure"
)

// loopRounds is how often each plain loop runs: one before each of so many
// deliveries, that all have the same luck.
const loopRounds = 3

// backlogs measures `hookspan flush` over backlogs of many events, beside a plain
// loop that sends as many spans.
func backlogs(ctx context.Context, f *field, o options) (_ report, err error) {
	r, err := measure.StartReceiver(ctx, f.program("receiver"), nil)
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var rows []*delivery
	for _, d := range deliveries(o.most) {
		if strings.Contains(d.name(), o.only) {
			rows = append(rows, d)
		}
	}
	plains := plainLoops()
	for i, d := range rows {
		if i < loopRounds {
			for _, p := range plains {
				if err := f.loop(ctx, p, min(o.most, 400_000), r); err != nil {
					return report{}, err
				}
			}
		}
		begin := time.Now()
		if err := f.flush(ctx, d, r); err != nil {
			return report{}, err
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %s of %s\n", d.name(), d.took.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	}
	return report{flushTable(rows, plains), flushBudgets(rows, plains), flushLines(rows, plains)}, nil
}

func flushTable(rows []*delivery, plains []*plain) string {
	var b strings.Builder
	b.WriteString("| backlog | log MB | to | s | events/s | spans/s | to the plain loop | spans in a request | bytes a span | CPU s | spans per CPU s | peak MiB |\n" +
		"|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, d := range rows {
		fmt.Fprintf(&b, "| %s events, %s | %.0f | %s |", power(d.session.Events()), d.shape, float64(d.logSize)/1e6, d.destinations())
		if d.stopped {
			fmt.Fprintf(&b, " stopped after %.0f | - | - | - | - | - | %.2f | - | %s |\n", d.took.Seconds(), d.cpu.Seconds(), mebi(d.peak))
			continue
		}
		request, size := "-", "-"
		if d.requests > 0 {
			request = fmt.Sprintf("%.0f", float64(d.session.Spans())/float64(d.requests))
			size = fmt.Sprintf("%.0f", float64(d.bytes)/float64(d.session.Spans()))
		}
		fmt.Fprintf(&b, " %.2f | %s | %s | %s | %s | %s | %.2f | %s | %s |\n", d.took.Seconds(), rounded(d.events()), rounded(d.spans()),
			percent(d.spans()/plains[0].wallSecond), request, size, d.cpu.Seconds(), rounded(float64(d.session.Spans())/d.cpu.Seconds()), mebi(d.peak))
	}
	b.WriteString("\n| beside it | spans in a request | bytes a span | spans/s | with the program's start | spans per CPU s | peak MiB |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, p := range plains {
		if p.spans == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %s | %s | %s | %s |\n", p.name, float64(p.spans)/float64(p.requests), float64(p.bytes)/float64(p.spans), rounded(p.perSecond), rounded(p.wallSecond),
			rounded(p.cpuSecond), mebi(p.peak))
	}
	return b.String()
}

func (d *delivery) events() float64 { return float64(d.session.Events()) / d.took.Seconds() }
func (d *delivery) spans() float64  { return float64(d.session.Spans()) / d.took.Seconds() }

func mebi(kib int) string {
	if kib == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(kib)/1024)
}

func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", share*100)
}

// rounded writes a rate with three digits and commas.
func rounded(rate float64) string {
	if math.IsNaN(rate) || math.IsInf(rate, 0) {
		return "-"
	}
	n := int64(rate)
	step := int64(1)
	for n/step >= 1000 {
		step *= 10
	}
	s := fmt.Sprint((n + step/2) / step * step)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

const (
	// deliveryMost is the memory in KiB that a delivery may take, taskMost that of one task of
	// 10^5 events to one destination.
	deliveryMost, taskMost = 128 << 10, 106 << 10
	// shareLeast is what the exporter sends of what the SDK's does.
	shareLeast = 0.9
)

// flushBudgets holds the deliveries to what is promised: memory that does not
// follow the backlog, and an exporter that is hardly slower than the SDK's. What the
// whole way from the log costs beside a loop that has no log is in the table.
func flushBudgets(rows []*delivery, plains []*plain) []budget {
	var out []budget
	memory := func(what string, most int, of func(*delivery) bool) {
		worst, stopped := 0, 0
		for _, d := range rows {
			if of(d) {
				worst = max(worst, d.peak)
				if d.stopped {
					stopped++
				}
			}
		}
		if worst > 0 {
			out = append(out, budget{what: fmt.Sprintf("%s takes at most %d MiB", what, most>>10), found: fmt.Sprintf("%s MiB at worst, %d stopped", mebi(worst), stopped), kept: worst <= most && stopped == 0})
		}
	}
	task := func(d *delivery) bool { return d.session.Turns == 1 && d.session.Events() == 100_000 }
	memory("a delivery of 10^6 events", deliveryMost, func(d *delivery) bool { return d.session.Events() == 1_000_000 })
	memory("a delivery of one task of 10^5 events", deliveryMost, task)
	memory("such a delivery to one destination", taskMost, func(d *delivery) bool { return task(d) && d.to != "" })
	if export, deliver := plains[2], plains[3]; export.perSecond > 0 {
		share := deliver.perSecond / export.perSecond
		found := percent(share)
		if export.cpuSecond > 0 {
			// Other programs do not disturb this one.
			share = deliver.cpuSecond / export.cpuSecond
			found += ", " + percent(share) + " by processor time, which decides"
		}
		out = append(out, budget{what: fmt.Sprintf("the exporter alone sends at least %g %% of what otlptracehttp does", shareLeast*100), found: found, kept: share >= shareLeast})
	}
	return out
}

// flushLines are what a span costs in processor time from the log to each
// destination beside the plain loop, and the memory of one long run.
func flushLines(rows []*delivery, plains []*plain) []line {
	var lines []line
	for _, d := range rows {
		events, long := d.session.Events(), d.session.Turns == 1
		if events != 100_000 || d.stopped || d.to == "" || !strings.HasPrefix(d.shape, string(backlog.Classic)) {
			continue
		}
		if long {
			if d.to == "store" {
				lines = append(lines, line{
					what: "memory for one task of 10^5 events", unit: "MiB", ours: float64(d.peak) / 1024,
					least: "the plain loop, which keeps no run", limit: float64(plains[0].peak) / 1024, aim: "106 MiB",
				})
			}
			continue
		}
		lines = append(lines, line{
			what: "a span from the log to " + map[string]string{"otlp": "OTLP", "store": "the local store and its full text"}[d.to] + ", CPU", unit: "µs",
			ours: d.cpu.Seconds() / float64(d.session.Spans()) * 1e6, least: "the plain loop: made by the SDK, sent", limit: 1e6 / plains[0].cpuSecond,
			aim: map[string]string{"otlp": "2 times", "store": "17 µs"}[d.to],
		})
	}
	return lines
}

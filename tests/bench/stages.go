package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/bench/way"
)

// stageTime is about how long each step is measured.
const stageTime = time.Second

// stageTurns is the number of turns that go through each step.
const stageTurns = 200

// stages measures each step of an event's way from the log to a destination alone,
// on one core: the first that is worth making quicker is the largest.
func stages(ctx context.Context, f *field, _ options) (_ report, err error) {
	costs, session, err := f.stageCosts(ctx, stageTime)
	if err != nil {
		return report{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d events of classic Cline on one core, a span for each two of them\n\n", session.Events())
	b.WriteString("| step | ns/event | events/s | heap B/event | objects/event |\n|---|--:|--:|--:|--:|\n")
	row := func(name string, c way.Cost) {
		fmt.Fprintf(&b, "| %s | %.0f | %s | %.0f | %.1f |\n", name, c.Time, rounded(1e9/c.Time), c.Bytes, c.Allocs)
	}
	var otelmap, delivery way.Cost
	for _, c := range costs {
		row(c.name, c.Cost)
		switch c.kind {
		case way.Otelmap:
			otelmap, delivery = sum(otelmap, c.Cost), sum(delivery, c.Cost)
		case way.Delivery:
			delivery = sum(delivery, c.Cost)
		case way.Destination, way.Limit:
		}
	}
	row("**otelmap, its three steps**", otelmap)
	row("**all up to the destination**", delivery)
	rate := 1e9 / otelmap.Time
	secrets, least := secretsCost()
	return report{b.String(), []budget{{
		what: "events are mapped to spans at 200,000 a second or more, on one core", found: rounded(rate), kept: rate >= 200_000,
	}}, []line{{
		what: "secrets out of a text of 600 bytes, CPU", unit: "µs", ours: secrets,
		least: "each byte looked up in a table", limit: least, aim: "1 µs",
	}}}, nil
}

// stageCost is what one step came to.
type stageCost struct {
	name string
	kind way.Kind
	way.Cost
}

func (f *field) stageCosts(ctx context.Context, long time.Duration) (costs []stageCost, s backlog.Session, err error) {
	s = backlog.Session{Dialect: backlog.Classic, Turns: stageTurns, Turn: turnEvents, End: time.Now().Add(-time.Minute)}
	dir := filepath.Join(f.root, "way")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, s, err
	}
	w, err := way.New(ctx, dir, s)
	if err != nil {
		return nil, s, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, stage := range w.All {
		c, err := w.Measure(stage, long)
		if err != nil {
			return nil, s, err
		}
		costs = append(costs, stageCost{stage.Name, stage.Kind, c})
	}
	return costs, s, nil
}

func sum(a, b way.Cost) way.Cost {
	return way.Cost{Time: a.Time + b.Time, Bytes: a.Bytes + b.Bytes, Allocs: a.Allocs + b.Allocs}
}

// secretsCost is the processor time in microseconds that redaction takes for a text
// of some 600 bytes that is new to it, and that of a look at each of its bytes.
func secretsCost() (ours, least float64) {
	texts := make([]string, 5000)
	for i := range texts {
		texts[i] = fmt.Sprintf("src/part_%d.ts\n%s", i, backlog.Text)
	}
	var table [256]int
	table['='] = 1
	found := 0
	best := func(run func()) float64 {
		least := time.Hour
		for range 10 {
			begin := way.CPUTime()
			run()
			least = min(least, way.CPUTime()-begin)
		}
		return least.Seconds() * 1e6 / float64(len(texts))
	}
	ours = best(func() {
		r := redact.New(nil)
		for _, s := range texts {
			r.Preview(s, 4096)
		}
	})
	least = best(func() {
		for _, s := range texts {
			for i := range len(s) {
				found += table[s[i]]
			}
		}
	})
	if found == 0 {
		least = 0 // The texts have the sign.
	}
	return ours, least
}

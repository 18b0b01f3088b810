package deliver

import (
	"errors"
	"testing"
	"time"

	"github.com/hookspan/hookspan/spool"
)

// TestClockThatWasAhead stores everything with a clock that is ahead and then right.
func TestClockThatWasAhead(t *testing.T) {
	const ahead = 60 * 24 * time.Hour
	// during is what happens while the clock is ahead.
	back := func(t *testing.T, during func(b *bench, d *Deliverer)) (*bench, *Deliverer, *memory) {
		b, m := newBench(t), &memory{}
		d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m})
		b.clock.Advance(ahead)
		during(b, d)
		b.clock.Advance(-ahead)
		return b, d, m
	}
	t.Run("a destination that was down is tried again", func(t *testing.T) {
		b, d, m := back(t, func(b *bench, d *Deliverer) {
			b.append(turn("p1")...)
			b.clock.Advance(time.Minute)
			m := d.Destinations[0].Client.(*memory)
			m.before = fail(&Error{Err: errTest})
			if res := b.run(d, Pass{}); res["otlp"].Waiting == 0 {
				t.Fatalf("delivered: %+v", res)
			}
			m.before = nil
		})
		b.run(d, Pass{})
		if len(m.ids()) == 0 {
			t.Error("nothing is delivered")
		}
	})
	t.Run("a killed run ends", func(t *testing.T) {
		b, d, m := back(t, func(b *bench, _ *Deliverer) { b.append(turn("p1")[:2]...) })
		if running, err := d.Running(t.Context(), "otlp"); err != nil || len(running) > 0 {
			t.Errorf("running: %d, error %v, want none", len(running), err)
		}
		b.run(d, Pass{})
		if len(m.ids()) == 0 {
			t.Error("nothing is delivered")
		}
	})
	t.Run("a killed session ends for a destination that gets whole sessions", func(t *testing.T) {
		j := &joined{}
		b, d, _ := back(t, func(b *bench, _ *Deliverer) { b.append(turn("p1")...) })
		d.Destinations = []Destination{{Name: "infinium", Client: j, Join: j.join}}
		b.run(d, Pass{})
		if len(j.taken) == 0 {
			t.Error("nothing is delivered")
		}
	})
	t.Run("a run that continues is not ended", func(t *testing.T) {
		b, d, m := back(t, func(b *bench, _ *Deliverer) { b.append(turn("p1")[:2]...) })
		b.append(turn("p1")[2])
		if b.run(d, Pass{}); len(m.ids()) > 0 {
			t.Errorf("%d spans are delivered of a run that goes on", len(m.ids()))
		}
		b.append(turn("p1")[3])
		b.clock.Advance(time.Minute)
		if b.run(d, Pass{}); len(m.ids()) != 2 || m.doubles() > 0 {
			t.Errorf("%d spans, %d doubles, want a run with one call", len(m.ids()), m.doubles())
		}
	})
	t.Run("logs are evicted, and removed once delivered", func(t *testing.T) {
		for _, delivered := range []bool{false, true} {
			var k spool.Key
			b, d, _ := back(t, func(b *bench, _ *Deliverer) {
				k = b.append(turn("p1")...)
				b.at(k, b.clock.Now())
			})
			l := Limits{MaxBytes: 1}
			if delivered {
				b.run(d, Pass{})
				l = Limits{}
			}
			if err := d.Housekeep(t.Context(), l); err != nil || b.there(k) {
				t.Errorf("delivered %t: error %v, log is there: %t", delivered, err, b.there(k))
			}
		}
	})
	t.Run("refused runs are not kept for ever", func(t *testing.T) {
		var k spool.Key
		b, d, _ := back(t, func(b *bench, d *Deliverer) {
			k = b.append(turn("p1")...)
			b.clock.Advance(time.Minute)
			d.Destinations[0].Client.(*memory).before = fail(&Error{Err: errors.New("no"), Permanent: true})
			b.run(d, Pass{})
			b.at(k, b.clock.Now())
		})
		for hours := 0; ; hours += 12 {
			if err := d.Housekeep(t.Context(), Limits{}); err != nil {
				t.Fatal(err)
			}
			if old := hours >= 30*24; b.there(k) == old {
				t.Fatalf("after %d hours the log is there: %t", hours, !old)
			} else if old {
				break
			}
			b.clock.Advance(12 * time.Hour)
		}
	})
}

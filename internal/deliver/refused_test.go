package deliver

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// later does things while the delivery sleeps, each once so much time has passed.
func (b *bench) later(d *Deliverer, steps map[time.Duration]func()) {
	start := b.clock.Now()
	d.Sleep = func(ctx context.Context, pause time.Duration) error {
		err := b.clock.Sleep(ctx, pause)
		for after, step := range steps {
			if b.clock.Now().Sub(start) >= after {
				delete(steps, after)
				step()
			}
		}
		return err
	}
}

// TestEventsDecideAnUndecidedEnd stores an event while the agent's files do not tell whether
// one of the user's hooks has refused the turn's end.
func TestEventsDecideAnUndecidedEnd(t *testing.T) {
	goes := []spool.Record{said("PreToolUse", "p1", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t-2"`)}
	for _, tt := range []struct {
		name  string
		after []spool.Record
		want  [][]string
	}{
		{"the turn goes on", goes, nil},
		{"the turn goes on and ends", slices.Concat(goes, []spool.Record{said("Stop", "p1", `"stop_hook_active":true`)}), [][]string{{"p1"}}},
		{"a note", []spool.Record{said("Notification", "p1", `"message":"idle"`)}, [][]string{{"p1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst := &joined{}
			d := b.claudeDeliverer(func(Facts) *hook.Transcript { return &hook.Transcript{Pending: true, Undecided: true} },
				Destination{Name: "otlp", Client: dst})
			b.append(turn("p1")...)
			b.later(d, map[time.Duration]func(){5 * time.Second: func() { b.append(tt.after...) }})
			b.run(d, Pass{})
			if diff := cmp.Diff(tt.want, dst.taken); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package fault_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// flushersRows have deliveries meet one another, and their end at the moment
// when a destination has what they have not noted yet.
var flushersRows = []proof.Row{
	{
		Name:  fmt.Sprintf("%d deliveries at once", flushers),
		Rule:  "every span reaches each destination once",
		Short: flushers * 5, Long: flushers * 50,
		Run: flushersAtOnce,
	},
	{
		Name:  "SIGKILL of a delivery while the OTLP receiver has the spans and has not answered",
		Rule:  "every span reaches each destination, under the same ids; the store has each once",
		Short: 6, Long: 200,
		Run: killedUnanswered,
	},
	{
		Name: "SIGKILL of a delivery between the answer and its note of it",
		Rule: "every span reaches each destination, under the same ids; the store has each once",
		Run:  killedUnnoted,
	},
}

// flushers is how many deliveries are started at once.
const flushers = 8

func flushersAtOnce(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	b := newBacklog(t, true)
	for done := 0; done < r.N; done += flushers {
		b.restore(t)
		var wg sync.WaitGroup
		for i := range flushers {
			args := []string{"flush"}
			if i%2 == 0 {
				args = append(args, "--wait")
			}
			cmd := b.w.Program("hookspan", args...)
			wg.Go(func() {
				if out, err := cmd.CombinedOutput(); err != nil {
					r.Break("delivery %d: %v: %s", done+i, err, out)
				}
				r.Trial(1)
			})
		}
		wg.Wait()
		again, filed := b.check(t, func(format string, args ...any) {
			r.Break("deliveries %d to %d: %s", done, done+flushers-1, fmt.Sprintf(format, args...))
		})
		if again+filed > 0 {
			r.Break("deliveries %d to %d: %d spans came to the OTLP receiver again, %d to the file", done, done+flushers-1, again, filed)
		}
	}
}

func killedUnanswered(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	b := newBacklog(t, true)
	// Each session is a separate request.
	const requests = 2
	more := 0
	for i := range r.N {
		b.restore(t)
		before := len(b.w.OTLP.Requests())
		answered := i % requests
		b.w.OTLP.Script(append(make([]otlptest.Answer, answered), otlptest.Hang())...)
		cmd := b.w.Program("hookspan", "flush", "--wait")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := b.w.OTLP.Wait(t.Context(), before+answered+1); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		// Its error is the kill's.
		_ = cmd.Wait()
		b.w.OTLP.Release()
		r.Trial(1)
		again, _ := b.check(t, func(format string, args ...any) {
			r.Break("killed at request %d: %s", answered+1, fmt.Sprintf(format, args...))
		})
		if again == 0 {
			r.Break("killed at request %d: no span came again, though nobody could know that they had come", answered+1)
		}
		more += again
	}
	r.Note("%d spans came to the OTLP receiver a second time", more)
}

func killedUnnoted(t *testing.T, r *proof.Result) {
	var more, filed atomic.Int64
	backlogs(t, r, func(t *testing.T, b *backlog) {
		// The note is a file that is written, synced and renamed.
		for _, c := range points(b.calls, 24, func(name string) bool { return name == "renameat" || name == "fsync" }) {
			if end := b.flush(t, &trace.Fault{At: c}); end.Hit {
				r.Trial(1)
			}
			again, filedAgain := b.check(t, func(format string, args ...any) {
				r.Break("killed at %s: %s", c, fmt.Sprintf(format, args...))
			})
			more.Add(int64(again))
			filed.Add(int64(filedAgain))
		}
	})
	r.Note("%d spans came to the OTLP receiver a second time, %d to the file", more.Load(), filed.Load())
}

package fault_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// killHookRows kill a hook before each of its system calls.
var killHookRows = everyHost(killHook)

// everyHost are the rows of all agents. Those whose hooks are the same program with another
// word are made in the long form alone: the program's calls are the same but for the
// decoder, which makes none.
func everyHost(row func(*host) proof.Row) (rows []proof.Row) {
	for i := range hosts {
		one, run := row(&hosts[i]), row(&hosts[i]).Run
		one.Run = func(t *testing.T, r *proof.Result) {
			if hosts[i].twin() && !proof.Soak() {
				r.Elsewhere("\"make soak\" kills and fails %s, which is %s with another word", hosts[i].command(), hosts[i].program)
			}
			run(t, r)
		}
		rows = append(rows, one)
	}
	return rows
}

// situation is what a hook meets.
type situation struct {
	name string
	// session is the one of the nth trial.
	session func(n int) string
	// prepare is called before each trial.
	prepare func(t testing.TB, w *lab.World)
	// ends has the run end with the event.
	ends bool
	// delivers reports that the event starts a delivery, which the next trial kills, perhaps while it
	// writes a file.
	delivers bool
	// fresh has every trial begin with no state at all.
	fresh bool
	// soak leaves it to the long form.
	soak bool
}

var situations = []situation{
	{name: "a session that is there", session: sameSession, prepare: holdSweeps},
	{name: "a new session", session: newSession, prepare: holdSweeps},
	{name: "the first event on a machine", session: newSession, prepare: forgetAll, fresh: true, soak: true},
	{name: "the end of a run", session: sameSession, prepare: delivered, ends: true, delivers: true, soak: true},
	{name: "a sweep that is due", session: sameSession, prepare: sweepDue, delivers: true, soak: true},
}

func sameSession(int) string  { return "killed" }
func newSession(n int) string { return fmt.Sprintf("killed-%d", n) }

func delivered(t testing.TB, w *lab.World) {
	t.Helper()
	w.Settle()
	holdSweeps(t, w)
}

func forgetAll(t testing.TB, w *lab.World) {
	t.Helper()
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.State()); err != nil {
		t.Fatal(err)
	}
}

func sweepDue(t testing.TB, w *lab.World) {
	t.Helper()
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	holdSweeps(t, w)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(w.State(), "spool", "sweep.stamp"), old, old); err != nil {
		t.Fatal(err)
	}
}

// everyCall makes a trial for each use of each call that an undisturbed run has
// made, or from the first on for each stepth, and beyond these for as long as there are
// more: a process under pressure makes some calls more often.
func everyCall(calls map[string]int, first, step int, trial func(trace.Call) (hit bool)) {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for n := first; n <= 4*calls[name]+16; n += step {
			if !trial(trace.Call{Name: name, N: n}) && n >= calls[name] {
				break
			}
		}
	}
}

// private are calls that change nothing outside the process, and ask nothing that does.
// Killed before one of them, a process leaves what it leaves when it is killed before
// its next other call; two thirds of a hook's calls are such. So the short form leaves
// them out.
var private = []string{
	"arch_prctl", "epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2", "fstat", "futex", "getcwd", "geteuid", "getppid", "gettid", "madvise", "mmap",
	"munmap", "nanosleep", "newfstatat", "ppoll", "prctl", "prlimit64", "rt_sigaction", "rt_sigprocmask", "sched_getaffinity", "sigaltstack", "umask",
}

func killHook(a *host) proof.Row {
	return proof.Row{
		Name: "SIGKILL at every system call of " + a.command(),
		Rule: "an event that was answered for is there, whole, once; earlier events are untouched, later hooks work, all is delivered",
		Run: func(t *testing.T, r *proof.Result) {
			if err := trace.Available(); err != nil {
				r.Skip("%v", err)
			}
			played := a.plays()
			notes := make([]string, len(played))
			t.Run("in", func(t *testing.T) {
				for i, s := range played {
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						notes[i] = killInSituation(t, r, a, &s)
					})
				}
			})
			for _, note := range notes {
				r.Note("%s", note)
			}
		},
	}
}

func killInSituation(t *testing.T, r *proof.Result, a *host, s *situation) (note string) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file")
	var l ledger
	hook := a.tool
	if s.ends {
		hook = a.end
	}
	run := func(f *trace.Fault) *trace.Ending {
		s.prepare(t, w)
		n := l.number()
		end, err := trace.Run(a.traced(w, hook, s.session(n), n), f)
		if err != nil {
			t.Fatal(err)
		}
		acked, err := a.acknowledged(end)
		l.acked[n] = acked
		switch {
		case err != nil && end.Hit:
			r.Break("%s, killed at %s: %v", s.name, f.At, err)
		case err != nil:
			r.Break("%s, undisturbed: %v", s.name, err)
		case !end.Hit && (end.Code != 0 || !acked || end.Hung):
			r.Break("%s, undisturbed: code %d, signal %q, answered %q", s.name, end.Code, end.Signal, end.Stdout)
		}
		return end
	}
	// What a call meets that is not the first of its kind.
	if err := a.hook(w, a.tool, s.session(l.number()), l.next); err != nil {
		t.Fatal(err)
	}
	l.acked[l.next] = true
	quiet := run(nil)
	if s.fresh {
		l.acked = nil
	}
	var killed []int
	kept := make(map[int]int)
	calls := quiet.Calls
	if !proof.Soak() {
		maps.DeleteFunc(calls, func(name string, _ int) bool { return slices.Contains(private, name) })
	}
	everyCall(calls, 1, a.killStep(), func(c trace.Call) bool {
		end := run(&trace.Fault{At: c})
		last := l.next
		if end.Hit {
			killed = append(killed, last)
		}
		// The next hook of the same session.
		n := l.number()
		if err := a.hook(w, a.tool, s.session(last), n); err != nil {
			r.Break("%s, after a kill at %s: %v", s.name, c, err)
		}
		l.acked[n] = true
		if s.fresh {
			// The next trial removes what this one has stored.
			records, _ := stored(t, w)
			maps.Copy(kept, l.check(t, r, records))
			l.acked = nil
		}
		return end.Hit
	})
	r.Trial(len(killed))
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	if names, inMaking := strays(t, w); len(names) > 0 || inMaking > 0 && !s.delivers {
		r.Break("%s: killed hooks left %v and %d files in the making", s.name, names, inMaking)
	}
	records, damage := stored(t, w)
	if damage > 0 {
		r.Break("%s: %d stretches of damage", s.name, damage)
	}
	maps.Copy(kept, l.check(t, r, records))
	deliverAll(t, r, w, &l)
	after := 0
	for _, n := range killed {
		after += kept[n]
	}
	return fmt.Sprintf("%s: %d calls, %d of them with the event already stored", s.name, len(killed), after)
}

package fault_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// killFlushRows kill a delivery before its system calls, or have these fail.
var killFlushRows = []proof.Row{
	{
		Name: "SIGKILL at the system calls of hookspan flush",
		Rule: "the next delivery brings every span to each destination under the same ids; the store has each once",
		Run:  killFlush,
	},
	{
		Name: "Every error that a system call of hookspan flush can return",
		Rule: "the next delivery brings every span to each destination under the same ids; the store has each once",
		Run:  errnoFlush,
	},
}

// backlog is a machine with events that wait for their delivery, which can be
// had again as often as it is delivered.
type backlog struct {
	w *lab.World
	// files are the state folder's and the file destination's, by path.
	files map[string][]byte
	// want are the spans that wait, old those that were delivered before.
	want, old map[otlptest.ID]bool
	// seen is how often each span reached the OTLP receiver.
	seen map[otlptest.ID]int
	// calls are those of an undisturbed delivery.
	calls map[string]int
}

// newBacklog makes one of two runs of Cline's and one of Claude Code's. With
// begun there is a local store already, and all that is there was delivered once.
func newBacklog(t *testing.T, begun bool) *backlog {
	t.Helper()
	b := &backlog{
		w: lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file"), files: make(map[string][]byte),
		want: make(map[otlptest.ID]bool), old: make(map[otlptest.ID]bool), seen: make(map[otlptest.ID]int),
	}
	var l ledger
	run := func(a *host, session string, tools int) {
		for range tools {
			holdSweeps(t, b.w)
			if err := a.hook(b.w, a.tool, session, l.number()); err != nil {
				t.Fatal(err)
			}
		}
		endRuns(t, b.w, &l)
	}
	if begun {
		run(&hosts[0], "first", 2)
		b.w.Flush()
		for _, s := range b.w.OTLP.Spans() {
			b.old[s.ID] = true
		}
	}
	run(&hosts[0], "first", 2)
	run(&hosts[0], "first", 1)
	run(&hosts[1], "second", 2)
	b.save(t)
	b.w.Flush()
	for _, s := range b.w.OTLP.Spans() {
		b.seen[s.ID] = s.Count
		if !b.old[s.ID] {
			b.want[s.ID] = true
		}
	}
	if len(b.want) < 8 {
		t.Fatalf("the backlog has %d spans, want three roots and five tool calls", len(b.want))
	}
	b.calls = b.flush(t, nil).Calls
	b.check(t, func(format string, args ...any) { t.Fatalf(format, args...) })
	return b
}

// save keeps the files that are there now.
func (b *backlog) save(t *testing.T) {
	t.Helper()
	for _, top := range []string{b.w.State(), b.w.File()} {
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b.files[path], err = os.ReadFile(path) //nolint:gosec // The test's own.
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// restore puts them back.
func (b *backlog) restore(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(b.w.State()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.w.File()); err != nil {
		t.Fatal(err)
	}
	for path, content := range b.files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// flush delivers the backlog from its beginning, with a fault in it.
func (b *backlog) flush(t *testing.T, f *trace.Fault) *trace.Ending {
	t.Helper()
	b.restore(t)
	end, err := trace.Run(trace.Program{
		Path: filepath.Join(lab.Programs, "hookspan"), Args: []string{"flush", "--wait"}, Env: b.w.Environ, Dir: b.w.Work,
	}, f)
	if err != nil {
		t.Fatal(err)
	}
	if !end.Hit && end.Code != 0 {
		t.Fatalf("an undisturbed delivery ended with %d: %s%s", end.Code, end.Stdout, end.Stderr)
	}
	return end
}

// check delivers what is left and holds what came against what waited. It
// returns how many spans came to the OTLP receiver, and to the file, once more.
func (b *backlog) check(t *testing.T, broke func(format string, args ...any)) (again, filedAgain int) {
	t.Helper()
	for name, res := range b.w.Flush() {
		if len(res.Errors) > 0 || res.Waiting > 0 || res.Parked > 0 || res.Busy > 0 {
			broke("the next delivery to %s: %+v", name, res)
		}
	}
	for _, s := range b.w.OTLP.Spans() {
		came := s.Count - b.seen[s.ID]
		b.seen[s.ID] = s.Count
		switch {
		case s.Changed:
			broke("span %v %q came with another content", s.ID, s.Name)
		case b.want[s.ID] && came == 0:
			broke("span %v %q never came to otlp", s.ID, s.Name)
		case b.want[s.ID]:
			again += came - 1
		case !b.old[s.ID] || came > 0:
			broke("span %v %q came to otlp, which was not waiting", s.ID, s.Name)
		}
	}
	all := make(map[otlptest.ID]int)
	for _, ids := range []map[otlptest.ID]bool{b.want, b.old} {
		for id := range ids {
			all[id] = 1
		}
	}
	if diff := cmp.Diff(all, idCounts(b.w.Stored())); diff != "" {
		broke("store (-want +got):\n%s", diff)
	}
	filed := idCounts(b.w.Filed())
	for id, n := range filed {
		filedAgain += n - 1
		filed[id] = 1
	}
	if diff := cmp.Diff(all, filed); diff != "" {
		broke("file (-want +got):\n%s", diff)
	}
	if names, _ := strays(t, b.w); len(names) > 0 {
		broke("files that nobody speaks of: %q", names)
	}
	return again, filedAgain
}

func idCounts(spans []otlptest.Span) map[otlptest.ID]int {
	n := make(map[otlptest.ID]int)
	for _, s := range spans {
		n[s.ID]++
	}
	return n
}

// changing are the calls that change what a later process finds.
var changing = []string{
	"write", "pwrite64", "fsync", "fdatasync", "renameat", "unlinkat", "unlink", "ftruncate", "mkdirat", "openat", "open", "fchmod", "close",
	"flock", "fcntl",
}

// points are the uses of the calls that keep says are of interest, but no more
// than about most, spread evenly.
func points(calls map[string]int, most int, keep func(name string) bool) []trace.Call {
	var all []trace.Call
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for n := 1; n <= calls[name] && keep(name); n++ {
			all = append(all, trace.Call{Name: name, N: n})
		}
	}
	if proof.Soak() || len(all) <= most {
		return all
	}
	drawn := make([]trace.Call, most)
	for i := range drawn {
		drawn[i] = all[i*len(all)/most]
	}
	return drawn
}

// backlogs runs f on the two kinds of backlog at once.
func backlogs(t *testing.T, r *proof.Result, f func(t *testing.T, b *backlog)) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	t.Run("in", func(t *testing.T) {
		for _, begun := range []bool{false, true} {
			t.Run(fmt.Sprintf("store is there %t", begun), func(t *testing.T) {
				t.Parallel()
				f(t, newBacklog(t, begun))
			})
		}
	})
}

func killFlush(t *testing.T, r *proof.Result) {
	var again, inMaking atomic.Int64
	backlogs(t, r, func(t *testing.T, b *backlog) {
		isChange := func(name string) bool { return slices.Contains(changing, name) }
		at := slices.Concat(points(b.calls, 32, isChange), points(b.calls, 4, func(name string) bool { return !isChange(name) }))
		for _, c := range at {
			end := b.flush(t, &trace.Fault{At: c})
			if end.Hit {
				r.Trial(1)
			}
			_, n := strays(t, b.w)
			inMaking.Add(int64(n))
			more, _ := b.check(t, func(format string, args ...any) {
				r.Break("killed at %s: %s", c, fmt.Sprintf(format, args...))
			})
			again.Add(int64(more))
		}
	})
	r.Note("%d spans came to the OTLP receiver a second time", again.Load())
	r.Note("%d state files were left in the making", inMaking.Load())
}

func errnoFlush(t *testing.T, r *proof.Result) {
	var again, silent atomic.Int64
	// SQLite locks its file by it, and waits where it reads of a lock of another
	// else in the error. A hook only asks for flags.
	can := maps.Clone(possible)
	can["fcntl"] = []syscall.Errno{broken, interrupted}
	backlogs(t, r, func(t *testing.T, b *backlog) {
		var faults []*trace.Fault
		for _, c := range points(b.calls, 1<<30, func(name string) bool { return len(can[name]) > 0 }) {
			for _, errno := range can[c.Name] {
				faults = append(faults, &trace.Fault{At: c, Errno: errno})
				if errno != interrupted {
					faults = append(faults, lasting(c, errno))
				}
			}
		}
		stride := 1
		if !proof.Soak() {
			// It has nothing in common with the number of errors of a call.
			stride = len(faults)/30 | 1
		}
		for i := 0; i < len(faults); i += stride {
			f := faults[i]
			end := b.flush(t, f)
			if !end.Hit {
				continue
			}
			r.Trial(1)
			if end.Hung {
				r.Break("%q at %s: the delivery did not end", f.Errno, f.At)
			}
			if end.Code == 0 {
				silent.Add(1)
			}
			more, _ := b.check(t, func(format string, args ...any) {
				r.Break("%q at %s, lasting %t: %s", f.Errno, f.At, f.Lasts != nil, fmt.Sprintf(format, args...))
			})
			again.Add(int64(more))
		}
	})
	r.Note("%d deliveries were not disturbed by it", silent.Load())
	r.Note("%d spans came to the OTLP receiver a second time", again.Load())
}

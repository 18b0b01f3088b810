package pipeline_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// session is a recorded session and the files that Cline kept of it.
type session struct {
	dir string
	// files lie below the storage folder, home is where Cline has them below
	// the home folder.
	files, home string
}

var sessions = []session{
	{demo + "/session", "../../demo/task", ".cline/data/tasks/1795175957341"},
	{"next-session", "", ""},
	{"sdk-session", "", ""},
	{"e2e-cli2/ok", "cli2/1795174833149", ".cline/data/tasks/1795174833149"},
	{"e2e-cli2/precompact", "", ""},
	{"e2e-cli3/tools", "sdk/tools/1795174957841_0jeru", ".cline/data/sessions/1795174957841_0jeru"},
	{"e2e-cli3/subagent", "sdk/subagent/1795175660887_ibxt7", ".cline/data/sessions/1795175660887_ibxt7"},
	{"e2e-cli3/provider-error", "sdk/provider-error/1795175034447_1mokh", ".cline/data/sessions/1795175034447_1mokh"},
	{"e2e-cli3/sigint", "", ""},
	{"e2e-cli3/yolo", "", ""},
}

// demo is the folder of hookspan demo, from that of the payloads.
const demo = "../../../internal/demo"

func (s session) name() string {
	return strings.ReplaceAll(strings.Replace(s.dir, demo, "classic", 1), "/", "-")
}

func (s session) install(w *world) {
	w.T.Helper()
	if s.files == "" {
		return
	}
	if err := os.CopyFS(filepath.Join(w.Home, filepath.FromSlash(s.home)), os.DirFS(filepath.Join(storage, s.files))); err != nil {
		w.T.Fatal(err)
	}
}

// play gives the events to hooks. The files of Cline's SDK say that the session has ended, so
// that they are there only when the last event is, and no other delivery is under way: however
// slow the hooks are, none takes a run for ended before.
func (s session) play(w *world, events []lab.Event, hook func(lab.Event)) {
	w.T.Helper()
	w.HoldSweeps()
	whole := 0
	if strings.HasPrefix(s.files, "sdk/") {
		whole = len(events) - 1
	}
	for i, e := range events {
		if i == whole {
			s.install(w)
		}
		hook(e)
	}
}

// row is what must be the same of a span wherever it went.
type row struct {
	Trace, Span, Parent, Name string
	Status                    tracepb.Status_StatusCode
	Message                   string
	Start, End                uint64
	Attributes, Events, Links int
}

// rows are the spans in one order, of each the newest.
func rows(spans []otlptest.Span) []row {
	newest := make(map[otlptest.ID]row)
	for i := range spans {
		s := &spans[i]
		newest[s.ID] = row{
			s.Trace, s.Span, s.Parent, s.Name, s.Proto.GetStatus().GetCode(), s.Proto.GetStatus().GetMessage(),
			s.Proto.GetStartTimeUnixNano(), s.Proto.GetEndTimeUnixNano(),
			len(s.Proto.GetAttributes()), len(s.Proto.GetEvents()) - lateNotes(s), len(s.Proto.GetLinks()),
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Span, b.Span))
	})
}

// lateNotes counts the notifications that Cline reports after a run's end. They begin no delivery
// and change no delivered run: whether a run has them depends on which was faster, hook or delivery.
func lateNotes(s *otlptest.Span) (n int) {
	for _, e := range s.Proto.GetEvents() {
		if e.GetName() == otelmap.EventNotification && e.GetTimeUnixNano() >= s.Proto.GetEndTimeUnixNano() {
			n++
		}
	}
	return n
}

// golden are the session's spans as they are mapped without programs; ended leaves out the runs
// that no event of the recording ended.
func (s session) golden(t testing.TB, ended bool) []otlptest.Span {
	t.Helper()
	all := lab.Decode(t, recorded.JSON(t, s.name()))
	abandoned := map[string]bool{}
	for i := range all {
		for _, a := range all[i].Proto.GetAttributes() {
			if a.GetKey() == "hookspan.outcome" && a.GetValue().GetStringValue() == "abandoned" {
				abandoned[all[i].Trace] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(s otlptest.Span) bool { return ended && abandoned[s.Trace] })
}

// TestRecordedSessions plays each session with every destination at once.
func TestRecordedSessions(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s.play(w, lab.Recording(t, payloads, s.dir), func(e lab.Event) { w.Hook(e.Name, e.Payload) })
			w.Settle()
			want := rows(s.golden(t, true))
			w.holds(t, "after the hooks' own deliveries", want)
			if all := rows(s.golden(t, false)); len(all) > len(want) {
				want = all
				w.idle(len(all))
				w.holds(t, "after the idle time", want)
			}
			w.adds(t, "a second flush", 0)
			w.quiet(t)
		})
	}
}

// TestEveryEventTwice gives each payload to two hooks at once, as Cline does
// where a global and a project's hook are installed.
func TestEveryEventTwice(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s.play(w, lab.Recording(t, payloads, s.dir), func(e lab.Event) {
				second := make(chan error, 1)
				go func() { second <- w.TryHook(e.Name, e.Payload) }()
				w.Hook(e.Name, e.Payload)
				if err := <-second; err != nil {
					t.Fatal(err)
				}
			})
			w.Settle()
			w.holds(t, "after two hooks for each event", rows(s.golden(t, true)))
			w.adds(t, "a second flush", 0)
			w.quiet(t)
		})
	}
}

// TestTheSamePayloadsAfterDelivery plays a session again when all of it has
// been delivered and the positions stand behind it: what goes out once more
// must go out under the same ids.
func TestTheSamePayloadsAfterDelivery(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			events := lab.Recording(t, payloads, s.dir)
			s.play(w, events, func(e lab.Event) { w.Hook(e.Name, e.Payload) })
			w.Settle()
			otlp, stored, filed := ids(w.OTLP.Spans()), ids(w.Stored()), ids(w.Filed())
			w.Play(events)
			w.Settle()
			if diff := gocmp.Diff(otlp, ids(w.OTLP.Spans())); diff != "" {
				t.Errorf("otlp has other spans (-once +twice):\n%s", diff)
			}
			if diff := gocmp.Diff(stored, ids(w.Stored())); diff != "" {
				t.Errorf("the store has other spans (-once +twice):\n%s", diff)
			}
			if diff := gocmp.Diff(filed, ids(w.Filed())); diff != "" {
				t.Errorf("the file has other spans (-once +twice):\n%s", diff)
			}
			w.quiet(t)
		})
	}
}

// ids are the spans' ids, each once.
func ids(spans []otlptest.Span) []otlptest.ID {
	var out []otlptest.ID
	for i := range spans {
		out = append(out, spans[i].ID)
	}
	slices.SortFunc(out, func(a, b otlptest.ID) int {
		return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Span, b.Span))
	})
	return slices.Compact(out)
}

// idle delivers until every destination has n spans: a run without an end
// counts as abandoned when it has been silent for the shortest time that can be
// set and is longer than any silence within the recordings.
func (w *world) idle(n int) {
	w.T.Helper()
	w.Environ = append(w.Environ, "HOOKSPAN_IDLE_TIMEOUT=4s")
	for tick := time.Tick(200 * time.Millisecond); ; {
		w.Flush()
		if len(w.OTLP.Spans()) >= n && len(w.Stored()) >= n && len(w.Filed()) >= n {
			return
		}
		select {
		case <-tick:
		case <-w.T.Context().Done():
			w.T.Fatal("the run without an end was never delivered")
		}
	}
}

// quiet looks for trouble in the log.
func (w *world) quiet(t testing.TB) {
	t.Helper()
	for _, word := range []string{"panic", "refused", "not stored", "damaged"} {
		if log := w.log(); strings.Contains(log, word) {
			t.Errorf("the log says %q:\n%s", word, log)
		}
	}
}

// holds compares every destination with the spans it should have.
func (w *world) holds(t testing.TB, when string, want []row) {
	t.Helper()
	for _, got := range []struct {
		name  string
		spans []otlptest.Span
	}{{"otlp", w.OTLP.Spans()}, {"store", w.Stored()}, {"file", w.Filed()}} {
		if diff := gocmp.Diff(want, rows(got.spans)); diff != "" {
			t.Errorf("%s: %s differs (-golden +got):\n%s", when, got.name, diff)
		}
	}
	for _, s := range w.OTLP.Spans() {
		// The root may come again if the hook of a note was slower than the delivery.
		if s.Changed && s.Parent != "" {
			t.Errorf("%s: otlp: span %s of %q came with two contents", when, s.Span, s.Name)
		}
	}
	traces := map[string]bool{}
	for _, r := range want {
		traces[r.Trace] = true
	}
	if got := len(w.infiniumTraces()); got != len(traces) {
		t.Errorf("%s: infinium has %d traces, want %d", when, got, len(traces))
	}
}

// adds flushes once more and counts what that sends.
func (w *world) adds(t testing.TB, when string, want int) {
	t.Helper()
	requests := len(w.OTLP.Requests()) + len(w.Infinium.Requests())
	for name, r := range w.Flush() {
		if r.Runs != want || r.Waiting != 0 || r.Parked != 0 {
			t.Errorf("%s: %s: %+v, want %d runs", when, name, r, want)
		}
	}
	if n := len(w.OTLP.Requests()) + len(w.Infinium.Requests()) - requests; n != want {
		t.Errorf("%s: %d requests, want %d", when, n, want)
	}
}

// infiniumTraces are the different traces that Infinium keeps.
func (w *world) infiniumTraces() []string {
	var ids []string
	for _, r := range w.Infinium.Requests() {
		if !r.Stored {
			w.T.Errorf("infinium refused a trace with %d", r.Status)
		}
		if body := string(r.Body); !slices.Contains(ids, body) {
			ids = append(ids, body)
		}
	}
	return ids
}

func (w *world) log() string {
	b, err := os.ReadFile(filepath.Join(w.State(), "hookspan.log"))
	if err != nil && !os.IsNotExist(err) {
		w.T.Fatal(err)
	}
	return string(b)
}

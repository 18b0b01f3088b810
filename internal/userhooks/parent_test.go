package userhooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/place"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/spanid"
	"github.com/hookspan/hookspan/spool"
)

// recording is a session's log and what a reader of all of it makes of it.
type recording struct {
	t     testing.TB
	spool *spool.Spool
	b     *otelmap.Builder
	n     int
	later time.Duration // what has passed beside the events
	dir   string        // for what is remembered; empty remembers nothing
	// known counts the spans that are found without otelmap, unknown those that are left
	// to another program.
	known, unknown int
}

func newRecording(t testing.TB) *recording {
	t.Helper()
	sp, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close() })
	return &recording{t: t, spool: sp, b: otelmap.NewBuilder(hook.HostCline, "17", otelmap.Options{}, otelmap.Carry{})}
}

// add stores the next event, of its own moment.
func (r *recording) add(name, body string) hook.Event {
	r.t.Helper()
	r.n++
	at := time.UnixMilli(1776506405123 + int64(r.n)*10).Add(r.later)
	payload := fmt.Appendf(nil, `{"clineVersion":"3.89.2","hookName":%q,"timestamp":"%d","taskId":"17","workspaceRoots":["/home/dev/project"]%s}`,
		name, at.UnixMilli(), body)
	if err := r.spool.Append(&spool.Record{Host: hook.HostCline, Session: "17", Event: name, At: at, Payload: payload}); err != nil {
		r.t.Fatal(err)
	}
	events, err := cline.Decode(hook.Raw{Payload: payload, Event: name, StoredAt: at, Offset: int64(r.n)})
	if err != nil || len(events) != 1 {
		r.t.Fatalf("%s: %v", payload, err)
	}
	r.b.Add(events[0])
	return events[0]
}

func (r *recording) start() hook.Event {
	return r.add("TaskStart", `,"taskStart":{"taskMetadata":{"initialTask":"x"}}`)
}

// call stores the beginning or the end of a tool call.
func (r *recording) call(name, more string) hook.Event {
	member := strings.ToLower(name[:1]) + name[1:]
	return r.add(name, `,"`+member+`":{"toolName":"execute_command","parameters":{"command":"npm test"}`+more+`}`)
}

func (r *recording) calls(n int, result string) {
	for range n {
		r.call("PreToolUse", "")
		r.call("PostToolUse", `,"success":true,"result":"`+result+`"`)
	}
}

func (r *recording) parent(about uint64) string {
	r.t.Helper()
	got, err := Parent(r.spool, place.Find, r.dir, "17", about, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	dir := r.dir
	if dir != "" {
		dir = filepath.Join(dir, "plain") // what the other remembers would change the answer
	}
	switch plain, err := Parent(r.spool, nil, dir, "17", about, 0); {
	case errors.Is(err, ErrSpan):
		r.unknown++
	case err != nil:
		r.t.Fatal(err)
	case plain != got:
		r.t.Errorf("%s without otelmap, want %s", plain, got)
	default:
		r.known++
	}
	return got
}

// place is where a reader of the whole log has the event.
func (r *recording) place(ev hook.Event) string {
	r.t.Helper()
	own, _ := r.places(ev)
	return own
}

func (r *recording) places(ev hook.Event) (own, root string) {
	r.t.Helper()
	sc, rc, ok := r.b.SpanFor(&ev)
	if !ok {
		r.t.Fatalf("%s has no place", ev.Name)
	}
	return spanid.Traceparent(sc.TraceID(), sc.SpanID()), spanid.Traceparent(rc.TraceID(), rc.SpanID())
}

// TestParentInALongRun asks at every event, as hooks do: for the call's span as
// long as everything is certain or the run is short, then for the run's, and never for
// another run's.
func TestParentInALongRun(t *testing.T) {
	const done = `,"taskComplete":{"taskMetadata":{"result":"y"}}`
	large := strings.Repeat("x", firstLook/8)
	for name, steps := range map[string]func(r *recording, ask func(hook.Event)){
		"one run": func(r *recording, ask func(hook.Event)) {
			ask(r.start())
			for range 200 {
				ask(r.call("PreToolUse", ""))
				ask(r.call("PostToolUse", `,"success":true,"result":"`+large+`"`))
			}
			ask(r.add("TaskComplete", done))
			ask(r.add("UserPromptSubmit", ""))
			ask(r.call("PreToolUse", ""))
		},
		"an end nobody asked about": func(r *recording, ask func(hook.Event)) {
			ask(r.start())
			for range 3 {
				for range 12 {
					ask(r.call("PreToolUse", ""))
					ask(r.call("PostToolUse", `,"success":true,"result":"`+large+`"`))
				}
				r.add("TaskComplete", done)
				r.add("UserPromptSubmit", "")
				r.calls(12, large)
			}
		},
		"a long silence": func(r *recording, ask func(hook.Event)) {
			ask(r.start())
			for range 3 {
				for range 12 {
					ask(r.call("PreToolUse", ""))
					ask(r.call("PostToolUse", `,"success":true,"result":"`+large+`"`))
				}
				r.later += 2 * otelmap.DefaultIdleTimeout
			}
		},
		// With a subagent among the newest events nothing can be told from a part.
		"a run with a subagent after another": func(r *recording, ask func(hook.Event)) {
			const lead, sub = `,"agent_id":"lead","parent_agent_id":null`, `,"agent_id":"sub","parent_agent_id":"lead"`
			call := func(agent, result string) {
				ask(r.add("tool_call", agent+`,"tool_call":{"id":"x","name":"run_commands","input":{"commands":["ls"]}}`))
				ask(r.add("tool_result", agent+`,"tool_result":{"id":"x","name":"run_commands","output":"`+result+`"}`))
			}
			ask(r.add("agent_start", lead))
			for range 12 {
				call(lead, large)
			}
			r.add("agent_end", lead)
			r.add("agent_start", lead)
			r.add("agent_start", sub)
			call(sub, "x")
			call(lead, "x")
		},
		"a run that began too far back": func(r *recording, ask func(hook.Event)) {
			r.start()
			r.calls(200, large)
			for range 20 {
				ask(r.call("PreToolUse", ""))
				ask(r.call("PostToolUse", `,"success":true,"result":"`+large+`"`))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			r.dir = t.TempDir()
			exact, ofRun, none := 0, 0, 0
			steps(r, func(ev hook.Event) {
				own, root := r.places(ev)
				switch got := r.parent(ev.Hash); got {
				case own:
					exact++
				case root:
					ofRun++
				case "":
					none++
				default:
					t.Fatalf("event %d, %s: got %s, want %s or %s", r.n, ev.Name, got, own, root)
				}
			})
			t.Logf("the call's span %d times, the run's %d times, none %d times; %d of them without otelmap", exact, ofRun, none, r.known)
			if r.known == 0 {
				t.Errorf("all %d spans are left to another program", r.unknown)
			}
			certain := strings.HasPrefix(name, "one run") || strings.HasPrefix(name, "an end")
			if far := strings.Contains(name, "far back"); far != (none > 0) || far != (exact == 0) || !far && certain != (ofRun == 0) {
				t.Error("that is not what was expected")
			}
		})
	}
}

// TestParentOfAnotherLog takes what is remembered for what it is: of a log that is
// there no more.
func TestParentOfAnotherLog(t *testing.T) {
	dir := t.TempDir()
	var last string
	for _, later := range []time.Duration{0, time.Second} {
		r := newRecording(t)
		r.dir, r.later = dir, later
		r.start()
		r.calls(200, strings.Repeat("x", firstLook/64))
		ev := r.call("PreToolUse", "")
		_, root := r.places(ev)
		if got := r.parent(ev.Hash); got == last || got != r.place(ev) && got != root {
			t.Errorf("got %q, of which the former log's is %q", got, last)
		}
		last = root
	}
}

func TestParentIsTheSpanOfTheEvent(t *testing.T) {
	const many = 500 // calls are more than firstLook
	const done = `,"taskComplete":{"taskMetadata":{"result":"y"}}`
	for name, log := range map[string]func(r *recording) hook.Event{
		"a task's start":    func(r *recording) hook.Event { return r.start() },
		"a call":            func(r *recording) hook.Event { r.start(); r.calls(3, "x"); return r.call("PreToolUse", "") },
		"a call's end":      func(r *recording) hook.Event { r.start(); r.call("PreToolUse", ""); return r.call("PostToolUse", "") },
		"the task's end":    func(r *recording) hook.Event { r.start(); r.calls(1, "x"); return r.add("TaskComplete", done) },
		"a call after many": func(r *recording) hook.Event { r.start(); r.calls(many, "x"); return r.call("PreToolUse", "") },
		"a call's end with a large result": func(r *recording) hook.Event {
			r.start()
			r.call("PreToolUse", "")
			return r.call("PostToolUse", `,"result":"`+strings.Repeat("x", 2*firstLook)+`"`)
		},
		"a prompt after the end": func(r *recording) hook.Event {
			r.start()
			r.add("TaskComplete", done)
			return r.add("UserPromptSubmit", "")
		},
		"a call after the end": func(r *recording) hook.Event {
			r.start()
			r.add("TaskComplete", done)
			return r.call("PreToolUse", "")
		},
		"a call of a later run": func(r *recording) hook.Event {
			r.start()
			r.calls(many, "x")
			r.add("TaskComplete", done)
			r.add("UserPromptSubmit", "")
			r.calls(2, "x")
			return r.call("PreToolUse", "")
		},
		"a later run with much behind it": func(r *recording) hook.Event {
			r.start()
			r.calls(5, strings.Repeat("x", parentTail/4))
			r.add("TaskComplete", done)
			r.add("UserPromptSubmit", "")
			r.calls(many, "x")
			return r.call("PreToolUse", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			ev := log(r)
			if got, want := r.parent(ev.Hash), r.place(ev); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestParentOfWhatCannotBeKnown(t *testing.T) {
	r := newRecording(t)
	if got := r.parent(1); got != "" {
		t.Errorf("no session: %q", got)
	}
	r.start()
	r.calls(1, "x")
	if got := r.parent(1); got != "" {
		t.Errorf("an event that is not stored: %q", got)
	}
	ev := r.call("PreToolUse", "")
	if got := r.parent(ev.Hash); got == "" {
		t.Error("an event of a short run has no span")
	}
	r.calls(4, strings.Repeat("x", parentTail/4))
	ev = r.call("PreToolUse", "")
	if got := r.parent(ev.Hash); got != "" {
		t.Errorf("an event whose run began too far back: %q", got)
	}
}

func TestBelow(t *testing.T) {
	env := []string{"A=1", "TRACEPARENT=old", "TRACESTATE=x=1", "B=2"}
	if diff := cmp.Diff([]string{"A=1", "B=2", "TRACEPARENT=new"}, below(env, "new")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(env, below(env, "")); diff != "" {
		t.Errorf("without one (-want +got):\n%s", diff)
	}
}

// BenchmarkParent asks for the span of the newest event of a run.
func BenchmarkParent(b *testing.B) {
	for _, n := range []int{10, 1000, 4000, 20000} {
		r := newRecording(b)
		r.start()
		r.calls(n/2-1, strings.Repeat(`line of output\n`, 5))
		ev := r.call("PreToolUse", "")
		for _, dir := range []string{"", b.TempDir()} {
			b.Run(fmt.Sprintf("%d/remembered=%t", n, dir != ""), func(b *testing.B) {
				r.dir = dir
				for b.Loop() {
					r.parent(ev.Hash)
				}
			})
		}
	}
}

// TestParentReadsOn gives each look-up only what was stored since an earlier one.
func TestParentReadsOn(t *testing.T) {
	r := newRecording(t)
	r.dir = t.TempDir()
	r.start()
	r.calls(100, strings.Repeat("x", firstLook/64))
	r.parent(r.call("PreToolUse", "").Hash)
	file := filepath.Join(r.dir, "cline", spool.SessionKey(hook.HostCline, "17").Name, "run")
	kept, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(kept), `"name:execute_command":101`) {
		t.Fatalf("remembered %.400s, %v", kept, err)
	}
	// The number of calls before shows in the span of the next one.
	changed := strings.Replace(string(kept), `"name:execute_command":101`, `"name:execute_command":7`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r.call("PostToolUse", "")
	next := r.call("PreToolUse", "")
	if got, _ := Parent(r.spool, nil, r.dir, "17", next.Hash, 0); got == "" || got == r.place(next) {
		t.Errorf("got %q, which is not by what is remembered", got)
	}
	// What is damaged does not count.
	own, root := r.places(next)
	for _, member := range []string{"plain1", "made", "waiting", "first", "last"} {
		damaged := strings.Replace(string(kept), `"`+member+`":`, `"other":`, 1)
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Parent(r.spool, nil, r.dir, "17", next.Hash, 0); err != nil || got != own && got != root {
			t.Errorf("without %s: got %q, %v, want %s or %s", member, got, err, own, root)
		}
	}
}

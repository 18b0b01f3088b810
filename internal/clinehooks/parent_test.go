package clinehooks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// recording is a session's log and what a reader of all of it makes of it.
type recording struct {
	t     testing.TB
	spool *spool.Spool
	b     *otelmap.Builder
	n     int
}

func newRecording(t testing.TB) *recording {
	t.Helper()
	sp, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close() })
	return &recording{t: t, spool: sp, b: otelmap.NewBuilder(cline.Host, "17", otelmap.Options{}, otelmap.Carry{})}
}

// add stores the next event, of its own moment.
func (r *recording) add(name, body string) hook.Event {
	r.t.Helper()
	r.n++
	at := time.UnixMilli(1776506405123 + int64(r.n)*10)
	payload := fmt.Appendf(nil, `{"clineVersion":"3.89.2","hookName":%q,"timestamp":"%d","taskId":"17","workspaceRoots":["/home/dev/project"]%s}`,
		name, at.UnixMilli(), body)
	if err := r.spool.Append(&spool.Record{Host: cline.Host, Session: "17", Event: name, At: at, Payload: payload}); err != nil {
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
	got, err := Parent(r.spool, "17", about, otelmap.Options{Capture: otelmap.CaptureNone})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// place is where a reader of the whole log has the event.
func (r *recording) place(ev hook.Event) string {
	r.t.Helper()
	sc, ok := r.b.Place(&ev)
	if !ok {
		r.t.Fatalf("%s has no place", ev.Name)
	}
	return otelmap.Traceparent(sc)
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
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				r.parent(ev.Hash)
			}
		})
	}
}

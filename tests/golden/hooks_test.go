package golden_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/spanid"
)

// withHooks is a recorded session of Cline as it would be with a hook of the
// user's that looks at every event: behind each stands the record of its run.
func withHooks(t *testing.T, events []hook.Event, answer func(*hook.Event) hook.HookAnswer) []hook.Event {
	t.Helper()
	var out []hook.Event
	for i := range events {
		e := &events[i]
		run := hook.HookRun{Event: e.Name, Command: "./look.sh", Started: e.At(), Status: hook.HookOK}
		payload, err := cline.EncodeHookRuns(e, []hook.HookRun{run}, answer(e))
		if err != nil {
			t.Fatal(err)
		}
		recs, err := cline.Decode(cline.Raw{Payload: payload, Event: cline.HookRunsEvent, StoredAt: e.StoredAt})
		if err != nil || len(recs) != 1 || recs[0].Kind != hook.KindHookRuns {
			t.Fatalf("%s gives %+v, %v", payload, recs, err)
		}
		out = append(out, *e, recs[0])
	}
	for i := range out {
		out[i].Offset = int64(i)
	}
	return out
}

// TestHooksOfTheUsersOnlyAddToATrace wants a recorded session with the user's
// hooks to be the one without, and each run of a hook on a span of it, in any
// order in which the log can have them.
func TestHooksOfTheUsersOnlyAddToATrace(t *testing.T) {
	for _, s := range recorded.Sessions() {
		if s.Agent != "cline" {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			events, tr := read(t, s)
			b, runs := build(events, tr)
			want := encode(t, b, runs, tr)
			hooked := withHooks(t, events, func(*hook.Event) hook.HookAnswer { return hook.HookAnswer{} })
			rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // A repeatable shuffle.
			for round := range 10 {
				if round > 0 {
					hooked = reorder(hooked, rng)
				}
				b, runs := build(hooked, tr)
				var got []byte
				found := 0
				for _, r := range runs {
					run, hooks := stripped(b.Spans(r, tr))
					found += hooks
					got = append(got, encodeSpans(t, run)...)
				}
				if diff := gocmp.Diff(numbered(want), numbered(got)); diff != "" {
					t.Fatalf("round %d: spans differ (-without +with hooks):\n%s", round, diff)
				}
				if found == 0 || found > len(events) {
					t.Fatalf("round %d: %d runs of hooks for %d events", round, found, len(events))
				}
			}
		})
	}
}

// stripped are the spans without the runs of hooks, and how many there were.
func stripped(run *tracepb.ResourceSpans) (*tracepb.ResourceSpans, int) {
	n, spans := 0, run.ScopeSpans[0].Spans
	for i := range spans {
		before := len(spans[i].Events)
		spans[i].Events = slices.DeleteFunc(spans[i].Events, func(e *tracepb.Span_Event) bool { return e.Name == otelmap.EventHook })
		n += before - len(spans[i].Events)
		if len(spans[i].Events) == 0 {
			spans[i].Events = nil
		}
	}
	return run, n
}

// TestPlaceOfRecordedEvents asks where each call and each prompt belongs with
// what had been recorded by then, and looks for that span in the whole trace.
func TestPlaceOfRecordedEvents(t *testing.T) {
	for _, s := range recorded.Sessions() {
		t.Run(s.Name(), func(t *testing.T) {
			events, tr := read(t, s)
			if s.Agent == "cline" {
				events = withHooks(t, events, func(*hook.Event) hook.HookAnswer { return hook.HookAnswer{} })
			}
			b, runs := build(events, nil)
			names := make(map[string]string)
			for _, r := range runs {
				for _, span := range spansOf(b, r, tr) {
					names["00-"+otlp.TraceID(span)+"-"+otlp.SpanID(span)+"-01"] = span.Name
				}
			}
			asked := 0
			for i := range events {
				e := &events[i]
				want := "invoke_agent " + e.Host
				switch e.Kind {
				case hook.KindToolStart, hook.KindToolEnd:
					want = "execute_tool " + e.Tool.Name
				case hook.KindPrompt:
					if e.Host == hook.HostKimi && e.Turn == "" {
						asked++
						continue // a later event names its turn
					}
				default:
					continue
				}
				asked++
				then, _ := build(events[:i+1], nil)
				sc, _, ok := then.SpanFor(e)
				header := spanid.Traceparent(sc.TraceID(), sc.SpanID())
				// A call that made others is the span of a script.
				if got := strings.Replace(names[header], otelmap.OpInvokeWorkflow, otelmap.OpExecuteTool, 1); !ok || got != want {
					t.Errorf("event %d, %s: %s (%v) is %q, want %q", i, e.Name, header, ok, got, want)
				}
			}
			if asked == 0 && !strings.Contains(s.Payloads, "precompact") && !strings.Contains(s.Payloads, "provider-error") {
				t.Error("no call and no prompt was recorded")
			}
		})
	}
}

// TestARecordedCallThatAHookDenied takes a call of classic Cline whose end was
// never reported: without hooks it is unfinished, with one that denied it denied.
func TestARecordedCallThatAHookDenied(t *testing.T) {
	events, _ := read(t, recorded.Session{Agent: "cline", Payloads: "classic-session"})
	i := slices.IndexFunc(events, func(e hook.Event) bool { return e.Kind == hook.KindToolStart })
	cancel := events[i]
	cancel.Kind, cancel.Name, cancel.Tool, cancel.Hash = hook.KindRunCancel, "TaskCancel", nil, 1
	cancel.Time = cancel.Time.Add(300 * time.Millisecond)
	cancel.StoredAt = cancel.Time
	events = append(slices.Clone(events[:i+1]), cancel)

	errors := func(events []hook.Event) (out []string) {
		b, runs := build(events, nil)
		for _, span := range spansOf(b, runs[len(runs)-1], nil) {
			for _, kv := range span.Attributes {
				if kv.Key == otelmap.KeyErrorType {
					out = append(out, kv.Value.GetStringValue()+": "+span.Status.Message)
				}
			}
		}
		return out
	}
	hooked := withHooks(t, events, func(e *hook.Event) hook.HookAnswer {
		if e.Kind != hook.KindToolStart {
			return hook.HookAnswer{}
		}
		return hook.HookAnswer{Cancelled: true, By: "./look.sh", Reason: "not today"}
	})
	if diff := gocmp.Diff([]string{"ToolUnfinished: the tool never reported an end"}, errors(events)); diff != "" {
		t.Errorf("without hooks (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"ToolDenied: denied by ./look.sh: not today"}, errors(hooked)); diff != "" {
		t.Errorf("with hooks (-want +got):\n%s", diff)
	}
}

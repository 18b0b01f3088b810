package otelmap

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// A turn that was cut off shortly before the next prompt keeps its requests, whether the
// agent writes a prompt before it calls the hook, after it, or not at all.
func TestCutOffTurnKeepsItsRequests(t *testing.T) {
	start := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	prompt := func(ms int, text string) hook.Event {
		return hook.Event{Host: "h", Session: "s", Kind: hook.KindPrompt, Name: "Prompt", Prompt: text, Time: at(ms), StoredAt: at(ms + 5), Hash: uint64(ms) + 1, Offset: int64(ms)}
	}
	tool := func(ms int, kind hook.Kind) hook.Event {
		return hook.Event{
			Host: "h", Session: "s", Kind: kind, Name: "Tool", Time: at(ms), StoredAt: at(ms + 5), Hash: uint64(ms) + 1, Offset: int64(ms),
			Tool: &hook.Tool{Name: "read", Input: "{}", Duration: hook.UnknownDuration},
		}
	}
	events := []hook.Event{
		prompt(0, "first"), tool(300, hook.KindToolStart), tool(400, hook.KindToolEnd), // cut off
		prompt(2000, "second"), {Host: "h", Session: "s", Kind: hook.KindRunComplete, Name: "End", Time: at(3000), StoredAt: at(3005), Hash: 9, Offset: 3000},
	}
	call := func(id string, from, to int) hook.Request {
		return hook.Request{ID: id, Model: "m", Start: at(from), End: at(to), Usage: &hook.Usage{Input: 1}}
	}
	for _, tt := range []struct {
		name    string
		prompts []hook.Prompt
		second  int // when the second turn's request begins
	}{
		{"prompts after their hooks", []hook.Prompt{{At: at(20), Text: "first"}, {At: at(2020), Text: "second"}}, 2020},
		{"prompts before their hooks", []hook.Prompt{{At: at(-900), Text: "first"}, {At: at(1100), Text: "second"}}, 1150},
		{"prompts that the agent changes", []hook.Prompt{{At: at(20), Text: "first, and more"}, {At: at(2020), Text: "second, and more"}}, 2020},
		{"no prompts", nil, 1990},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := &hook.Transcript{
				Prompts:  tt.prompts,
				Requests: []hook.Request{call("1", 20, 250), call("2", 380, 900), call("3", tt.second, 2900)},
				ToolResults: []hook.ToolResult{
					{ID: "c1", Name: "read", Input: "{}", Asked: at(250), At: at(395)},
				},
			}
			if tt.prompts == nil {
				tr.Requests[1].Start = at(300)
			}
			b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{})
			for _, e := range events {
				b.Add(e)
			}
			var got []string
			for _, r := range b.Runs(at(5000)) {
				root := spansOf(b, r, tr)[0]
				got = append(got, fmt.Sprint(r.Outcome, " ", value(root, KeyLLMRequests), " requests, ", value(root, KeyToolCalls), " calls"))
			}
			if diff := cmp.Diff([]string{"interrupted 2 requests, 1 calls", "completed 1 requests, 0 calls"}, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestsThatWereQuickerThanTheHookOfTheirPrompt has the agent at work before its hook has
// stored the prompt. A fork's copy of another turn stays out: its prompt is another.
func TestRequestsThatWereQuickerThanTheHookOfTheirPrompt(t *testing.T) {
	at := func(sec float64) time.Time { return ev(sec, 0).Time }
	call := func(id string, from, to float64) hook.Request {
		return hook.Request{ID: id, Turn: "p1", Model: id, Start: at(from), End: at(to)}
	}
	b := buildTurns(Carry{}, logged(turnPrompt(10, "p1"), turnStop(12, "p1")))
	tr := &hook.Transcript{
		Prompts:  []hook.Prompt{{At: at(7), Text: "copied", Turn: "p1"}, {At: at(9), Text: "do p1", Turn: "p1"}},
		Requests: []hook.Request{call("copied", 7.1, 8), call("m1", 9.1, 9.5), call("m2", 9.6, 11)},
	}
	runs := b.Runs(far)
	if diff := cmp.Diff([]string{"completed: chat m1, chat m2"}, outline(b, runs, tr)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	spans := spansOf(b, runs[0], tr)
	if got := otlp.End(spans[1]); !otlp.Start(spans[0]).Equal(at(9.1)) || !got.Equal(at(9.5)) {
		t.Errorf("the run starts at %s, its first request ends at %s", otlp.Start(spans[0]), got)
	}
}

// The failure of a request ends a run only if nothing but an end follows it.
func TestFailedRequestThatIsSentAgain(t *testing.T) {
	start := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		kinds []hook.Kind
		idle  bool
		want  []string
	}{
		{"and succeeds", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindToolStart, hook.KindToolEnd, hook.KindRunComplete}, false, []string{"completed"}},
		{"and ends the turn", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindRunComplete}, false, []string{"completed"}},
		{"and again", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindRequestError, hook.KindRequestError, hook.KindRunComplete}, false, []string{"completed"}},
		{"or is still to be", []hook.Kind{hook.KindPrompt, hook.KindRequestError}, false, []string{"open"}},
		{"or not before the agent is gone", []hook.Kind{hook.KindPrompt, hook.KindRequestError}, true, []string{"failed"}},
		{"or not before the session ends", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindSessionEnd}, false, []string{"failed"}},
		{"or not before the next prompt", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindPrompt, hook.KindRunComplete}, false, []string{"failed", "completed"}},
		{"or not, as the files say", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindRunError}, false, []string{"failed"}},
		{"and the user stops it", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindRunCancel}, false, []string{"interrupted"}},
		{"and the session ends in the middle", []hook.Kind{hook.KindPrompt, hook.KindRequestError, hook.KindToolStart, hook.KindSessionEnd}, false, []string{"interrupted"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder("h", "s", Options{Agent: turnAgent}, Carry{})
			now := start
			for i, kind := range tt.kinds {
				e := hook.Event{Host: "h", Session: "s", Kind: kind, Name: kind.String(), Time: now, StoredAt: now, Hash: uint64(i) + 1, Offset: int64(i)}
				if kind == hook.KindToolStart || kind == hook.KindToolEnd {
					e.Tool = &hook.Tool{ID: "c", Name: "read", Input: "{}", Duration: hook.UnknownDuration}
				}
				if kind == hook.KindRequestError {
					e.Message = "overloaded"
				}
				b.Add(e)
				now = now.Add(10 * time.Second)
			}
			if tt.idle {
				now = now.Add(DefaultIdleTimeout)
			}
			for range 2 { // the answer does not depend on earlier questions
				var got []string
				for _, r := range b.Runs(now) {
					outcome := "open"
					if r.Ended {
						outcome = r.Outcome
					}
					if root := spansOf(b, r, nil)[0]; (outcome == OutcomeFailed) != (root.Status.GetMessage() == "overloaded") {
						t.Errorf("a run that is %s has the status %v", outcome, root.Status)
					}
					got = append(got, outcome)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The end of a session has copies, but a process that was resumed since has an end that is
// not one of them.
func TestEndOfAResumedProcessIsNoCopy(t *testing.T) {
	end := func(sec float64) hook.Event {
		e := turnEv(sec, hook.KindSessionEnd, "")
		e.Name, e.Hash = "SessionEnd", 7
		return e
	}
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), end(1), end(1.01), session(1.2, "resume", ""), turnPrompt(1.4, "p2"), end(1.7), end(1.72)))
	var got []string
	for _, r := range b.Runs(b.items[len(b.items)-1].At()) {
		got = append(got, fmt.Sprint(r.Outcome, " ", r.Ended))
	}
	if diff := cmp.Diff([]string{"interrupted true", "interrupted true"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if n := len(b.items); n != 5 {
		t.Errorf("%d events, want 5 without the copies", n)
	}
}

package otelmap

import (
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestRequestsWithOneIDAreTwoSpans has two requests that a provider gave one id, in any order
// in which the files may list them and with an id for either of them that looks like the
// other's ordinal.
func TestRequestsWithOneIDAreTwoSpans(t *testing.T) {
	request := func(agent, id string, sec float64) hook.Request {
		return hook.Request{ID: id, Agent: agent, Turn: "p1", Start: ev(sec, 0).Time, End: ev(sec+0.5, 0).Time, Model: "m", Usage: &hook.Usage{Input: 1}}
	}
	for name, list := range map[string][]hook.Request{
		"one id":                     {request("", "c", 1), request("", "c", 2)},
		"no id":                      {request("", "", 1), request("", "", 2)},
		"an id like an ordinal":      {request("", "c", 1), request("", "c", 2), request("", "c/1", 3)},
		"an id like an agent's":      {request("", "a/c", 1), request("a", "c", 2)},
		"an agent's id like one":     {request("a", "c", 1), request("a/c", "", 2), request("", "a/c", 3)},
		"an agent's id with a slash": {request("a/c", "d", 1), request("a", "c/d", 2), request("a%2Fc", "d", 3)},
		"one moment with one id":     {request("", "c", 1), request("", "c", 1)},
		"several agents, one id":     {request("a", "c", 1), request("b", "c", 1), request("", "c", 1)},
		"an id with a NUL, agents":   {request("a", "b\x00c", 1), request("a\x00b", "c", 2)},
	} {
		events := []hook.Event{turnPrompt(0, "p1")}
		for _, id := range []string{"a", "b", "a/c", "a%2Fc", "a\x00b"} {
			events = append(events, asAgent(turnEv(0.1, hook.KindRunStart, "p1"), id, "Explore"))
		}
		events = append(events, turnStop(11, "p1"))
		spans := func(requests []hook.Request) (ids []string) {
			b := buildTurns(Carry{}, logged(events...))
			tr := &hook.Transcript{Requests: requests}
			for _, s := range spansOf(b, b.Runs(far)[0], tr)[1:] {
				if value(s, KeyOperation) == OpChat {
					ids = append(ids, otlp.SpanID(s))
				}
			}
			slices.Sort(ids)
			return ids
		}
		got := spans(list)
		if n := len(slices.Compact(slices.Clone(got))); len(got) != len(list) || n != len(list) {
			t.Errorf("%s: %d spans with %d ids, want %d", name, len(got), n, len(list))
		}
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		if again := spans(reversed); !slices.Equal(got, again) {
			t.Errorf("%s: ids %v, in another order %v", name, got, again)
		}
	}
}

// TestRunsThatBeginAtOneTimeHaveTheirOwnIDs has a clock that is set back, so that a call and the end
// behind it, which were stored with the task's beginning, are a run before it.
func TestRunsThatBeginAtOneTimeHaveTheirOwnIDs(t *testing.T) {
	events := []hook.Event{ev(0, hook.KindRunResume), tool(0, hook.KindToolStart, "a", ""), tool(1, hook.KindToolStart, "b", ""), ev(0, hook.KindRunComplete)}
	for i := range events {
		events[i].Hash, events[i].Time = uint64(i)+1, time.Time{} //nolint:gosec // Small.
	}
	runs := build(Options{}, Carry{}, logged(events...)).Runs(far)
	if len(runs) != 2 || runs[0].ID == runs[1].ID {
		t.Errorf("found the runs %v, want two of different ids", runs)
	}
}

// TestRunHasTheIDOfTheFirstCopyInTheLog has the copies of two plugins, whose payloads differ in their time. The
// second one in the log was stored before the first.
func TestRunHasTheIDOfTheFirstCopyInTheLog(t *testing.T) {
	for name, timed := range map[string]bool{"with the host's time": true, "without": false} {
		first, copied := turnTool(2, hook.KindToolStart, "", "Bash", "a"), turnTool(1.9, hook.KindToolStart, "", "Bash", "a")
		first.Hash, copied.Hash = 1, 2
		if timed {
			first.Time, copied.Time = first.StoredAt, copied.StoredAt
		}
		events := logged(first, copied)
		before, after := buildTurns(Carry{}, events[:1]).Runs(far), buildTurns(Carry{}, events).Runs(far)
		if len(after) != 1 || after[0].ID != before[0].ID {
			t.Errorf("%s: the runs are %v after the copy, want that of %v", name, after, before[0].ID)
		}
	}
}

// TestPlaceInTheFilesIsNoPartOfAnID has a session whose files have grown in front of a run without a beginning.
func TestPlaceInTheFilesIsNoPartOfAnID(t *testing.T) {
	var ids []RunID
	for place := range uint64(2) {
		end := tool(1, hook.KindToolEnd, "a", "")
		end.Hash = place + 1
		ids = append(ids, build(Options{FromFiles: true}, Carry{}, logged(end)).Runs(far)[0].ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("at two places the run has the ids %v", ids)
	}
}

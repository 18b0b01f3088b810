package otelmap

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestSubagentCoversItsRequests has a subagent whose last request ends a little after what the
// hooks or the files say of its own end, or of which no end was reported.
func TestSubagentCoversItsRequests(t *testing.T) {
	start := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	call := hook.Request{Kind: hook.RequestSingle, ID: "r", Turn: "t", Agent: "sub", Start: at(4000), End: at(5122), Model: "m"}
	for name, ended := range map[string]bool{"an end": true, "no end": false} {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true}}, Carry{})
		offset := int64(0)
		add := func(ms int, kind hook.Kind, agent string) {
			offset++
			e := hook.Event{Host: "h", Session: "s", Turn: "t", Kind: kind, StoredAt: at(ms), Offset: offset, Hash: uint64(offset), Agent: agent} //nolint:gosec // small
			if agent != "" {
				e.ParentAgent, e.Turn = hook.ParentUnknown, ""
			}
			b.Add(e)
		}
		add(0, hook.KindPrompt, "")
		add(1000, hook.KindRunStart, "sub")
		if ended {
			add(5000, hook.KindRunComplete, "sub")
		}
		add(6000, hook.KindRunComplete, "")
		found := false
		for _, r := range b.Runs(start.Add(24 * time.Hour)) {
			for _, s := range spansOf(b, r, &hook.Transcript{Requests: []hook.Request{call}}) {
				if otlp.Text(s.GetAttributes(), KeyAgent) != "sub" {
					continue
				}
				found = true
				if end := int64(s.GetEndTimeUnixNano()); end != at(5122).UnixNano() { //nolint:gosec // a time of ours
					t.Errorf("%s: the subagent ends %v after its last request", name, time.Unix(0, end).Sub(at(5122)))
				}
			}
		}
		if !found {
			t.Errorf("%s: no span of the subagent", name)
		}
	}
}

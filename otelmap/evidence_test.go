package otelmap_test

import (
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestEvidence has two turns, and something that is missing from one of them or both.
func TestEvidence(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	row := func(s int) hook.Unread { return hook.Unread{Line: 7, At: at(s), Reason: "no JSON object"} }
	turn := func(id string, s int, offset int64) []hook.Event {
		return []hook.Event{
			{Host: "h", Session: "s", Kind: hook.KindPrompt, Name: "p", Turn: id, Prompt: "go", Time: at(s), StoredAt: at(s), Offset: offset},
			{Host: "h", Session: "s", Kind: hook.KindToolStart, Name: "b", Turn: id, Tool: &hook.Tool{ID: "c" + id, Name: "Bash"}, Time: at(s + 1), StoredAt: at(s + 1), Offset: offset + 1},
			{Host: "h", Session: "s", Kind: hook.KindToolEnd, Name: "a", Turn: id, Tool: &hook.Tool{ID: "c" + id, Name: "Bash", Status: hook.ToolOK}, Time: at(s + 2), StoredAt: at(s + 2), Offset: offset + 2},
			{Host: "h", Session: "s", Kind: hook.KindRunComplete, Name: "e", Turn: id, Time: at(s + 5), StoredAt: at(s + 5), Offset: offset + 5},
		}
	}
	const complete, partial, unknown = otelmap.EvidenceComplete, otelmap.EvidencePartial, otelmap.EvidenceUnknown
	for _, c := range []struct {
		name  string
		tr    *hook.Transcript
		lost  int64
		skip  int // the event that no hook stored, from 1
		want  [2]string
		words string
	}{
		{"nothing is missing", &hook.Transcript{}, 0, 0, [2]string{complete, complete}, ""},
		{"the files are gone", nil, 0, 0, [2]string{unknown, unknown}, "files were not read"},
		{"a torn row in the first turn", &hook.Transcript{Unread: []hook.Unread{row(3)}}, 0, 0, [2]string{partial, complete}, "no JSON object"},
		{"a torn row in the second turn", &hook.Transcript{Unread: []hook.Unread{row(104)}}, 0, 0, [2]string{complete, partial}, "no JSON object"},
		{"a torn row at the end", &hook.Transcript{Unread: []hook.Unread{{Line: 9, Reason: "no JSON object"}}}, 0, 0, [2]string{complete, partial}, "rows"},
		{"a limit of the reading", &hook.Transcript{Unread: []hook.Unread{{Whole: true, Reason: "too long"}}}, 0, 0, [2]string{partial, partial}, "too long"},
		{"an event of the first turn", &hook.Transcript{}, 14, 0, [2]string{partial, complete}, "1 of its events"},
		{"an event of the second turn", &hook.Transcript{}, 114, 0, [2]string{complete, partial}, "1 of its events"},
		{"an event before the first", &hook.Transcript{}, 1, 0, [2]string{partial, complete}, "1 of its events"},
		{"the first prompt", &hook.Transcript{}, 0, 1, [2]string{partial, complete}, "its beginning"},
		{
			"a call of the first turn", &hook.Transcript{ToolResults: []hook.ToolResult{{ID: "x", Turn: "1", Name: "Bash", Asked: at(3), At: at(4)}}},
			0, 0,
			[2]string{partial, complete},
			"1 of its calls",
		},
		{
			"a call of a tool without hooks", &hook.Transcript{ToolResults: []hook.ToolResult{{ID: "x", Turn: "1", Name: "Plan", Asked: at(3), At: at(4)}}},
			0, 0,
			[2]string{complete, complete},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := otelmap.NewBuilder("h", "s", otelmap.Options{Agent: otelmap.Traits{Turns: true}}, otelmap.Carry{})
			if c.lost > 0 {
				b.Lose(c.lost)
			}
			for i, e := range append(turn("1", 0, 10), turn("2", 100, 110)...) {
				if i+1 != c.skip {
					b.Add(e)
				}
			}
			var got []string
			var missing string
			for _, r := range b.Runs(at(1000)) {
				for s := range otlp.Spans([]*tracepb.ResourceSpans{b.Spans(r, c.tr)}) {
					if e := otlp.Text(s.GetAttributes(), otelmap.KeyEvidence); e != "" {
						got = append(got, e)
						missing += otlp.Text(s.GetAttributes(), otelmap.KeyEvidenceMissing)
					}
				}
			}
			if len(got) != 2 || [2]string(got) != c.want || !strings.Contains(missing, c.words) {
				t.Errorf("%q, missing %q: want %q and %q", got, missing, c.want, c.words)
			}
		})
	}
}

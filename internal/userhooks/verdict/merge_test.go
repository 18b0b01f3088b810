package verdict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMergeTable(t *testing.T) {
	type row struct {
		Event     string
		Decisions []*Decision
		Want      *Decision
	}
	for _, row := range table[row](t, "merge.json") {
		var vs []Verdict
		var names []string
		for _, d := range row.Decisions {
			var v Verdict
			if d != nil {
				v.Decision = *d
			}
			vs = append(vs, v)
			names = append(names, string(v.Decision))
		}
		t.Run(strings.Join(names, ","), func(t *testing.T) {
			var want Decision
			if row.Want != nil {
				want = *row.Want
			}
			if got := Merge(row.Event, vs).Decision; got != want {
				t.Errorf("decision %q, want %q", got, want)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	tests := map[string]struct {
		event string
		vs    []Verdict
		want  Verdict
	}{
		"none":                  {"Stop", nil, Verdict{}},
		"reasons of the winner": {"PreToolUse", []Verdict{{Decision: Deny, Reason: "a"}, {Decision: Ask, Reason: "b"}, {Decision: Deny}, {Decision: Deny, Reason: "c"}}, Verdict{Decision: Deny, Reason: "a\nc"}},
		"a reason for nothing":  {"PreToolUse", []Verdict{{Reason: "a"}}, Verdict{}},
		"any stop": {
			"PreToolUse",
			[]Verdict{{StopReason: "not this"}, {Stop: true}, {Stop: true, StopReason: "a"}, {Stop: true, StopReason: "b"}, {Decision: Allow}},
			Verdict{Decision: Allow, Stop: true, StopReason: "a\nb"},
		},
		"the last new input": {
			"PreToolUse",
			[]Verdict{{UpdatedInput: json.RawMessage("1")}, {Decision: Allow, UpdatedInput: json.RawMessage("2")}, {}},
			Verdict{Decision: Allow, UpdatedInput: json.RawMessage("2")},
		},
		"no new input for a denied call": {
			"PreToolUse",
			[]Verdict{{Decision: Deny}, {Decision: Allow, UpdatedInput: json.RawMessage("2")}},
			Verdict{Decision: Deny},
		},
		"the last new output": {
			"PostToolUse",
			[]Verdict{{UpdatedOutput: json.RawMessage("1")}, {UpdatedOutput: json.RawMessage("2")}},
			Verdict{UpdatedOutput: json.RawMessage("2")},
		},
		"all texts in order": {
			"PostToolUse",
			[]Verdict{
				{Context: []string{"a"}, Feedback: []string{"f"}, SystemMessages: []string{"s"}, Errors: []string{"e"}, Ignored: []string{"i"}},
				{Context: []string{"b", "c"}, Feedback: []string{"g"}, SystemMessages: []string{"t"}, Errors: []string{"f"}, Ignored: []string{"j"}},
			},
			Verdict{
				Context: []string{"a", "b", "c"}, Feedback: []string{"f", "g"}, SystemMessages: []string{"s", "t"},
				Errors: []string{"e", "f"}, Ignored: []string{"i", "j"},
			},
		},
		"the event's own word": {"Stop", []Verdict{{Decision: Deny, Reason: "a"}, {Decision: Block, Reason: "b"}}, Verdict{Decision: Block, Reason: "a\nb"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Merge(tt.event, tt.vs), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

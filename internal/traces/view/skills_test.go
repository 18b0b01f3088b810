package view

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// skillSession makes the work of a session of testdata/skills.txt.
func skillSession(t *testing.T, story string) *store.Work {
	t.Helper()
	w := &store.Work{Summary: store.Summary{TraceID: story, Started: t0}}
	type level struct {
		agent string
		call  int
	}
	agents := []level{{}}
	now := t0
	call := func(tool, arguments string) int {
		agent := agents[len(agents)-1].agent
		w.Calls = append(w.Calls, store.Call{Span: fmt.Sprint("call ", len(w.Calls)), Tool: tool, Arguments: arguments, Started: now, Took: time.Millisecond, AgentSpan: agent, Status: otelmap.EndOK})
		return len(w.Calls) - 1
	}
	for _, word := range strings.Fields(story) {
		now = now.Add(time.Second)
		inner, opens := strings.CutSuffix(word, "(")
		skill, loads := strings.CutPrefix(inner, "S:")
		failing, fails := strings.CutPrefix(inner, "X:")
		at := -1
		switch {
		case loads:
			at = call("Skill", fmt.Sprintf(`{"skill":%q}`, skill))
		case fails:
			w.Calls[call("Skill", fmt.Sprintf(`{"skill":%q}`, failing))].Status = otelmap.EndFailed
		case opens:
			at = call("Agent", "{}")
		case word == "B":
			call("Bash", "{}")
		case word == ")":
			last := agents[len(agents)-1]
			agents = agents[:len(agents)-1]
			w.Calls[last.call].Took = now.Sub(w.Calls[last.call].Started)
		default:
			var usd float64
			var input int64
			if _, err := fmt.Sscanf(word, "r%g:%d", &usd, &input); err != nil {
				t.Fatalf("%q: %v", word, err)
			}
			w.Requests = append(w.Requests, store.Request{Started: now, AgentSpan: agents[len(agents)-1].agent, Usage: &store.Usage{Input: input, CostUSD: &usd}})
			w.Summary.Usage = w.Summary.Usage.Add(w.Requests[len(w.Requests)-1].Usage)
		}
		if opens {
			span := fmt.Sprint("agent ", at)
			agents = append(agents, level{span, at})
			w.Subagents = append(w.Subagents, store.Subagent{Span: span, Call: w.Calls[at].Span, Started: now})
		}
	}
	return w
}

// TestSkillsCostWhatWasCountedByHand also holds each request to one skill.
func TestSkillsCostWhatWasCountedByHand(t *testing.T) {
	labels, err := os.ReadFile("testdata/skills.txt")
	if err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for line := range strings.Lines(string(labels)) {
		story, want, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok || story[0] == '#' {
			continue
		}
		sessions++
		w, sums := skillSession(t, story), Sums{By: BySkill}
		sums.Add(w)
		var got []string
		var all *store.Usage
		for _, g := range sums.Groups() {
			added := "-"
			if g.AddedTokens != nil {
				added = fmt.Sprint(*g.AddedTokens)
			}
			got = append(got, fmt.Sprintf("%s=%g+%s", g.Key, g.Usage.Cost(), added))
			all = all.Add(g.Usage)
		}
		wanted := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) || all.Cost() != w.Summary.Usage.Cost() {
			t.Errorf("%s: got %v, want %v", story, got, wanted)
		}
	}
	if sessions != 30 {
		t.Errorf("%d sessions", sessions)
	}
}

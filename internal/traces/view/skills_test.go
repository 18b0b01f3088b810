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

// activeSession makes the work of a session of testdata/skills.txt, subagents.txt or servers.txt.
func activeSession(t *testing.T, story string) *store.Work {
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
		kind, starts := strings.CutPrefix(inner, "A:")
		server, calls := strings.CutPrefix(inner, "M:")
		tools, fetches := strings.CutPrefix(inner, "T:")
		at := -1
		switch {
		case loads:
			at = call("Skill", fmt.Sprintf(`{"skill":%q}`, skill))
		case fails:
			w.Calls[call("Skill", fmt.Sprintf(`{"skill":%q}`, failing))].Status = otelmap.EndFailed
		case starts, opens:
			at = call("Agent", "{}")
		case calls:
			w.Calls[call("mcp__"+server+"__search", "{}")].Server = server
		case fetches:
			call("ToolSearch", fmt.Sprintf(`{"query":%q}`, tools))
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
			if n := len(w.Subagents); len(agents) > 1 {
				i := slices.IndexFunc(w.Subagents[:n], func(a store.Subagent) bool { return a.Span == agents[len(agents)-1].agent })
				w.Subagents[i].Usage = w.Subagents[i].Usage.Add(w.Requests[len(w.Requests)-1].Usage)
			}
			w.Summary.Usage = w.Summary.Usage.Add(w.Requests[len(w.Requests)-1].Usage)
		}
		if opens {
			span := fmt.Sprint("agent ", at)
			agents = append(agents, level{span, at})
			w.Subagents = append(w.Subagents, store.Subagent{Span: span, Name: kind, Call: w.Calls[at].Span, Started: now})
		}
	}
	return w
}

// TestWhatIsActiveCostsWhatWasCountedByHand also holds each request to one skill.
func TestWhatIsActiveCostsWhatWasCountedByHand(t *testing.T) {
	for by, wantSessions := range map[store.By]int{BySkill: 30, BySubagent: 15, ByServer: 15} {
		labels, err := os.ReadFile("testdata/" + string(by) + "s.txt")
		if err != nil {
			t.Fatal(err)
		}
		sessions := 0
		for line := range strings.Lines(string(labels)) {
			story, want, ok := strings.Cut(strings.TrimSpace(line), " |")
			if !ok || story[0] == '#' {
				continue
			}
			sessions++
			w, sums := activeSession(t, story), Sums{By: by}
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
			if !slices.Equal(got, wanted) || by == BySkill && all.Cost() != w.Summary.Usage.Cost() {
				t.Errorf("%s: got %v, want %v", story, got, wanted)
			}
		}
		if sessions != wantSessions {
			t.Errorf("%d sessions by %s", sessions, by)
		}
	}
}

package otelmap

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// lateTurns is a session of an agent that waits for some of its hooks, and whose prompts and ends
// name no turns: a second prompt that was queued, an interruption, a failure, a start of the program,
// an unknown tool, a turn that the agent begins itself, and a subagent.
func lateTurns() (events []hook.Event, waits []bool, files *hook.Transcript, want string) {
	files = &hook.Transcript{}
	sec, turn := 0.0, ""
	add := func(wait bool, kind hook.Kind, change func(*hook.Event)) {
		e := turnEv(sec, kind, "")
		e.Name = fmt.Sprintf("%s %d", kind, len(events))
		if change != nil {
			change(&e)
		}
		events, waits, sec = append(events, e), append(waits, wait), sec+1
	}
	prompt := func(n, text string) {
		add(true, hook.KindPrompt, func(e *hook.Event) { e.Prompt = text })
		turn = n
		files.Prompts = append(files.Prompts, hook.Prompt{At: ev(sec-0.5, 0).Time, Text: text, Turn: turn})
		add(false, hook.KindAside, func(e *hook.Event) { e.Turn, e.Prompt, e.Key = n, text, "turn "+n })
	}
	call := func(id, agent string, known bool) {
		on := func(e *hook.Event) {
			e.Tool = &hook.Tool{ID: id, Name: "Bash", Input: `{"command":"` + id + `"}`, Duration: -1}
		}
		asked := ev(sec, 0).Time
		if known {
			add(true, hook.KindToolStart, on)
		}
		files.ToolResults = append(files.ToolResults, hook.ToolResult{ID: id, Agent: agent, Turn: turn, Name: "Bash", Input: `{"command":"` + id + `"}`, Asked: asked, At: ev(sec-0.1, 0).Time})
		add(false, hook.KindToolEnd, on)
	}
	end := func(wait bool, kind, inFile hook.Kind) {
		at := ev(sec+0.1, 0).Time
		if !wait {
			at = ev(sec-0.1, 0).Time
		}
		files.Ends = append(files.Ends, hook.TurnEnd{Turn: turn, At: at, Kind: inFile})
		add(wait, kind, nil)
	}
	done := func() { end(true, hook.KindRunComplete, hook.KindRunComplete) }

	add(true, hook.KindSessionStart, nil)
	prompt("0", "first")
	call("c0", "", true)
	done()
	prompt("1", "queued")
	call("c1", "", true)
	end(false, hook.KindRunCancel, hook.KindSessionEnd)
	prompt("2", "again")
	end(false, hook.KindRunError, hook.KindRunError)
	add(true, hook.KindSessionStart, nil)
	prompt("3", "again")
	call("c3", "", true)
	call("u3", "", false)
	done()
	turn = "4"
	files.Prompts = append(files.Prompts, hook.Prompt{At: ev(sec-0.5, 0).Time, Turn: turn, Injected: true})
	add(false, hook.KindPrompt, func(e *hook.Event) {
		e.Turn, e.Key, e.Attrs = turn, "turn 4", []hook.Attr{{Key: KeyPromptInjected, Value: true}}
	})
	call("c4", "", true)
	done()
	prompt("5", "delegate")
	agent := hook.Subagent{ID: "agent-0", Turn: turn, CallID: "c5", Start: ev(sec+0.5, 0).Time}
	call("c5", "", true)
	call("s5", agent.ID, true)
	add(true, hook.KindRunComplete, nil) // the subagent's
	agent.End = ev(sec-0.5, 0).Time
	files.Agents = append(files.Agents, agent)
	done()
	for i, text := range []string{"first", "queued", "again", "again", "", "delegate"} {
		outcome := [...]string{1: OutcomeInterrupted, 2: OutcomeFailed, 5: ""}[i]
		if outcome == "" {
			outcome = OutcomeCompleted
		}
		want += fmt.Sprintf("%d %q %s %s\n", i, text, outcome, [...]string{"c0", "c1", "", "c3 u3", "c4", "c5 s5"}[i])
	}
	return events, waits, files, want
}

// describeRuns returns a line for each run of a session: its turn, prompt, outcome and calls.
func describeRuns(t *testing.T, b *Builder, files *hook.Transcript) (said string) {
	t.Helper()
	for _, r := range b.Runs(ev(100, 0).Time) {
		var calls []string
		spans := spansOf(b, r, files)
		for _, s := range spans {
			if id := otlp.Text(s.Attributes, KeyToolCallID); id != "" {
				calls = append(calls, id)
			}
		}
		slices.Sort(calls)
		root := spans[0].Attributes
		said += fmt.Sprintf("%s %q %s %s\n", otlp.Text(root, KeyPromptID), otlp.Text(root, KeyInputValue), otlp.Text(root, KeyOutcome), strings.Join(calls, " "))
	}
	return said
}

var unwaited = Options{Agent: Traits{Turns: true, Unnamed: true}}

// stored is a session whose events are stored in an order.
func stored(events []hook.Event, files *hook.Transcript) *Builder {
	b := NewBuilder("kimi-code", "s", unwaited, Carry{})
	var at time.Time
	for i, e := range events {
		if e.StoredAt.Before(at) {
			e.StoredAt = at.Add(time.Millisecond)
		}
		at, e.Offset = e.StoredAt, int64(i)
		b.Add(e)
	}
	if files != nil {
		b.ApplyFiles(files)
	}
	return b
}

// TestLateHooksOfTurns has each hook that the agent does not wait for at any later place, and many
// times all of them at some: one turn is one run.
func TestLateHooksOfTurns(t *testing.T) {
	events, waits, files, want := lateTurns()
	// order has an event at each of these places or behind the event before it.
	order := func(place func(i int) int) (out []hook.Event) {
		at := make([]int, len(events))
		list := make([]int, len(events))
		for i := range events {
			if at[i], list[i] = 2*place(i), i; at[i] > 2*i {
				at[i]++
			}
		}
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
		for _, i := range list {
			out = append(out, events[i])
		}
		return out
	}
	check := func(what string, place func(i int) int) {
		t.Helper()
		if got := describeRuns(t, stored(order(place), files), files); got != want && !t.Failed() {
			t.Errorf("%s:\n%swant\n%s", what, got, want)
		}
	}
	check("in order", func(i int) int { return i })
	for late := range events {
		for to := late; to < len(events) && !waits[late]; to++ {
			place := func(i int) int {
				if i == late {
					return to
				}
				return i
			}
			check(fmt.Sprintf("%s behind event %d", events[late].Name, to), place)
			// Of the user's turns the hooks alone know enough.
			if got := stored(order(place), nil).Runs(ev(100, 0).Time); events[late].Kind == hook.KindAside && len(got) != strings.Count(want, "\n") {
				t.Errorf("%s behind event %d: %d runs by the hooks", events[late].Name, to, len(got))
			}
		}
	}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // Not a secret.
		check(fmt.Sprintf("seed %d", seed), func(i int) int {
			if waits[i] || r.IntN(3) == 0 {
				return i
			}
			return i + r.IntN(len(events)-i)
		})
	}
}

// TestRefusedPrompt has a prompt that one of the user's hooks refused, before a turn that the agent
// begins itself and behind it: it is of no turn, however often the files are applied.
func TestRefusedPrompt(t *testing.T) {
	at := func(sec float64, kind hook.Kind, turn, text string) hook.Event {
		e := turnEv(sec, kind, turn)
		e.Prompt, e.Hash = text, uint64(1000*sec)
		return e
	}
	prompts := []hook.Prompt{
		{At: ev(0.5, 0).Time, Text: "go", Turn: "0"}, {At: ev(4.5, 0).Time, Turn: "1"}, {At: ev(6.5, 0).Time, Turn: "2", Injected: true}, {At: ev(9.5, 0).Time, Text: "on", Turn: "3"},
	}
	b := stored([]hook.Event{
		at(0, hook.KindPrompt, "", "go"), at(3, hook.KindRunCancel, "", ""),
		at(4, hook.KindPrompt, "", "refused"), at(5, hook.KindPrompt, "1", ""), at(6, hook.KindPrompt, "", "refused again"),
		at(8, hook.KindPrompt, "", "refused at last"), at(9, hook.KindPrompt, "", "on"),
	}, &hook.Transcript{Prompts: prompts})
	b.ApplyFiles(&hook.Transcript{Prompts: prompts})
	var got []string
	for _, r := range b.Runs(ev(10, 0).Time) {
		got = append(got, r.turn+" "+r.from.Prompt)
	}
	if want := []string{"0 go", " refused", "1 ", " refused again", " refused at last", "3 on"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPromptAgainAtOnce has the user submit a prompt again as soon as its turn has ended.
func TestPromptAgainAtOnce(t *testing.T) {
	at := func(sec float64, kind hook.Kind) hook.Event {
		e := turnEv(sec, kind, "")
		e.Name, e.Hash = kind.String(), uint64(kind)
		return e
	}
	b := stored([]hook.Event{
		at(0, hook.KindPrompt), at(0.1, hook.KindPrompt), at(0.3, hook.KindRunError), at(0.4, hook.KindRunError),
		at(1, hook.KindPrompt), at(1.5, hook.KindRunError), at(1.8, hook.KindPrompt), at(2, hook.KindRunComplete), at(2.1, hook.KindPrompt),
	}, nil)
	runs := b.Runs(ev(3, 0).Time)
	if len(runs) != 4 || runs[0].Outcome != OutcomeFailed || runs[1].Outcome != OutcomeFailed || runs[2].Outcome != OutcomeCompleted {
		t.Errorf("%d runs: %v", len(runs), outline(b, runs, nil))
	}
}

package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Members begins the lines of the log with the members of each payload of an agent's newest
// version.
const Members = "members of a payload:"

// checkAgent compares what the agent itself did, and returns the prompts that were
// submitted in order.
func (g *Agent) checkAgent(t *testing.T, c *Case, res *rig.Result) []Prompt {
	t.Helper()
	for i, want := range c.Exits {
		if s := res.Steps[i]; s.ExitCode != want && want != AnyCode || s.TimedOut || s.Error != "" {
			t.Errorf("step %d ended with code %d (timed out: %v, error: %q), want %d", i, s.ExitCode, s.TimedOut, s.Error, want)
		}
		if s := c.Steps[i]; s.Signal != nil && !res.Steps[i].Signalled {
			t.Errorf("step %d was over before the signal", i)
		}
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	hooks := make(map[string]int)
	for _, r := range recs {
		hooks[r.Name]++
	}
	if os.Getenv(rig.NewestVariable) != "" {
		for _, payload := range Payloads[map[string]any](t, recs) {
			t.Log(Members, slices.Sorted(maps.Keys(payload)))
		}
	}
	for _, name := range g.Uncounted {
		delete(hooks, name)
	}
	if g.Check != nil {
		g.Check(t, c, res)
	} else if diff := gocmp.Diff(c.Hooks, hooks, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("hooks %s called (-want +got):\n%s", g.Name, diff)
	}
	if g.Prompts == nil {
		return make([]Prompt, len(c.Traces))
	}
	return g.Prompts(t, recs, res)
}

// Payloads decodes what the recorded hooks were given.
func Payloads[P any](t *testing.T, recs []rig.Recorded) []P {
	t.Helper()
	list := make([]P, len(recs))
	for i, r := range recs {
		if err := json.Unmarshal(r.Payload, &list[i]); err != nil {
			t.Errorf("payload of %s: %v", r.Name, err)
		}
	}
	return list
}

// checkTraces compares what was delivered with the case, the model and the prompts, and
// returns it.
func (g *Agent) checkTraces(t *testing.T, c *Case, res *rig.Result, prompts []Prompt) []*rig.Trace {
	t.Helper()
	for _, s := range res.Strays {
		t.Errorf("a receiver got what it does not know: %s", s)
	}
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != len(c.Traces) || len(prompts) != len(c.Traces) {
		t.Fatalf("%d traces of %d prompts, want %d", len(traces), len(prompts), len(c.Traces))
	}
	requests := res.Requests
	for i, want := range c.Traces {
		got := traces[i]
		if got.Root == nil {
			continue // Traces has said so.
		}
		own := slices.Clone(requests[:min(want.Requests, len(requests))])
		requests = requests[len(own):]
		if g.Beside { // the parts come one after the other
			slices.SortStableFunc(own, func(a, b llm.Request) int { return strings.Compare(a.Part, b.Part) })
		}
		wrong = append(wrong, got.CompareOutcome(want.Outcome, cmp.Or(want.Task, prompts[i].Text), g.Host)...)
		if g.Compare != nil {
			wrong = append(wrong, g.Compare(c, got, &want, own)...)
		} else {
			wrong = append(wrong, g.compare(t, res, got, &want, own, prompts[i])...)
		}
		if linked := i > 0 && got.LinksTo(traces[i-1]); linked != (i > 0) {
			t.Errorf("links of the root %+v do not lead to the run before", got.Root.Links)
		}
	}
	if len(requests) > 0 {
		t.Errorf("%d requests belong to no trace", len(requests))
	}
	for _, w := range append(wrong, rig.CheckInfinium(res.Posts, len(traces))...) {
		t.Error(w)
	}
	return traces
}

// compare compares a trace with the model's log and the prompt.
func (g *Agent) compare(t *testing.T, res *rig.Result, got *rig.Trace, want *Trace, own []llm.Request, p Prompt) []string {
	t.Helper()
	known, tools, prices := own, want.Tools, g.Prices
	if g.Known != nil {
		known, tools = g.Known(t, res, got, own, tools)
	}
	if want.Unpriced {
		prices = nil
	}
	return slices.Concat(CompareModel(got, known, tools), CompareCosts(got, known, prices), g.compareRoot(got, want, own, p))
}

// compareRoot compares the identities and texts on the root. It returns what differs, one
// line each.
func (g *Agent) compareRoot(got *rig.Trace, want *Trace, requests []llm.Request, p Prompt) (wrong []string) {
	attrs := map[string]string{otelmap.KeyConversationID: p.Session}
	if p.Turn != "" {
		attrs[otelmap.KeyPromptID] = p.Turn
	}
	if g.Version != "" {
		attrs[otelmap.KeyHostVersion] = g.Version
	}
	completed := want.Outcome == otelmap.OutcomeCompleted
	if want.Class != "" || completed {
		attrs[otelmap.KeyErrorType] = want.Class
	}
	if g.Asked {
		attrs[otelmap.KeyModel] = cmp.Or(want.Model, g.Model)
	}
	if completed {
		lead := slices.DeleteFunc(slices.Clone(requests), func(r llm.Request) bool { return r.Part != llm.PartMain })
		last := lead[len(lead)-1]
		attrs[otelmap.KeyModel], attrs[otelmap.KeyOutputValue] = cmp.Or(want.Model, g.Model, last.Model), last.Text
	}
	for k, v := range attrs {
		if v != got.Root.Attrs.String(k) {
			wrong = append(wrong, fmt.Sprintf("%s %q, want %q", k, got.Root.Attrs.String(k), v))
		}
	}
	if !strings.Contains(got.Root.StatusMessage, want.Message) {
		wrong = append(wrong, fmt.Sprintf("status of the root says %q, want %q in it", got.Root.StatusMessage, want.Message))
	}
	blocked := slices.ContainsFunc(got.Root.Events, func(e sink.Event) bool { return e.Attrs[otelmap.KeyStopBlocked] == true })
	if blocked != want.Blocked {
		wrong = append(wrong, fmt.Sprintf("the root reports a blocked stop: %v, want %v", blocked, want.Blocked))
	}
	return wrong
}

// checkCommands compares what hookspan's own commands say, the last steps of a run.
func (g *Agent) checkCommands(t *testing.T, c *Case, traces []*rig.Trace, steps []rig.StepResult) {
	t.Helper()
	for i, name := range commands {
		if g.Said != nil {
			g.Said(t, c, name, steps[i])
		} else {
			Fine(t, name, steps[i])
		}
	}
	for i, said := range map[int]string{4: "not understood: ", 5: "not known: "} {
		if _, what, unknown := strings.Cut(steps[i].Stdout, said); unknown {
			what, _, _ = strings.Cut(what, "\n")
			t.Errorf("%s: %s%s", commands[i], said, what)
		}
	}
	want := make([]rig.Listed, len(c.Traces))
	for i, tr := range c.Traces {
		want[i] = rig.Listed{Outcome: tr.Outcome, Title: traces[i].Root.Attrs.String(otelmap.KeyInputValue), Tools: len(tr.Tools)}
		for _, tool := range tr.Tools {
			want[i].CountError(tool.Error)
		}
	}
	for _, w := range append(rig.CheckList(steps[2].Stdout, want), rig.CheckShown(steps[3].Stdout, traces[len(traces)-1])...) {
		t.Error(w)
	}
	// The session's file gives the same traces, which are stored.
	var imported struct {
		Runs    int
		Skipped struct{ AlreadyThere, Captured int }
	}
	err := json.Unmarshal([]byte(steps[6].Stdout), &imported)
	stored, other := imported.Skipped.AlreadyThere, imported.Skipped.Captured
	if g.Captured {
		stored, other = other, stored
	}
	if err != nil || imported.Runs != 0 || stored != len(c.Traces) || other != 0 {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[6].Stdout, err, len(c.Traces))
	}
}

// checkImported compares a trace that was delivered with that which an import makes of the
// agent's files where nothing is stored: the same spans, with the same ids.
func checkImported(t *testing.T, delivered *rig.Trace, steps []rig.StepResult) {
	t.Helper()
	outline := func(spans []sink.Span) (lines []string) {
		for _, s := range spans {
			lines = append(lines, fmt.Sprintf("%s under %q: %s, %s %q", s.SpanID, s.ParentID, s.Name, s.Status, s.StatusMessage))
		}
		slices.Sort(lines)
		return lines
	}
	var want []sink.Span
	for _, s := range delivered.Spans {
		want = append(want, *s)
	}
	got, err := sink.Decode([]byte(steps[1].Stdout))
	if err != nil || steps[0].ExitCode != 0 {
		t.Errorf("an import elsewhere: %v\n%s%s%s", err, steps[0].Stdout, steps[0].Stderr, steps[1].Stderr)
	}
	if diff := gocmp.Diff(outline(want), outline(got)); diff != "" {
		t.Errorf("spans of the import (-delivered +imported):\n%s", diff)
	}
}

// Fine wants a command to have ended with 0.
func Fine(t *testing.T, name string, s rig.StepResult) {
	t.Helper()
	if s.ExitCode != 0 {
		t.Errorf("%s ended with code %d: %s\n%s%s", name, s.ExitCode, s.Error, s.Stdout, s.Stderr)
	}
}

// checkKept compares the user's own files after hookspan was uninstalled.
func checkKept(t *testing.T, before map[string]string, path string) {
	t.Helper()
	after, err := contents(path)
	if diff := gocmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("the user's own files after uninstalling, %v (-before +after):\n%s", err, diff)
	}
}

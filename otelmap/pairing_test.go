package otelmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestEndsBelongToTheirStarts has calls under one id, as of a model that numbers them anew in
// each reply, and ends that an agent reports in its own way.
func TestEndsBelongToTheirStarts(t *testing.T) {
	const id = "call_0"
	event := func(sec float64, k hook.Kind, name, input string) hook.Event {
		e := turnTool(sec, k, "p1", name, id)
		e.Tool.Input, e.Key = input, ""
		return e
	}
	start := func(sec float64, name, input string) hook.Event { return event(sec, hook.KindToolStart, name, input) }
	end := func(sec float64, name, input string) hook.Event { return event(sec, hook.KindToolEnd, name, input) }
	asked := func(sec float64, name, input string) hook.Event { return event(sec, hook.KindPermission, name, input) }
	failed := func(e hook.Event) hook.Event {
		e.Tool.Status, e.Tool.Error, e.Tool.Output = hook.ToolFailed, "no", ""
		return e
	}
	const rm, a, b = `{"command":"rm -rf /"}`, `{"path":"a"}`, `{"path":"b"}`
	denied := hook.ToolResult{ID: id, Turn: "p1", Name: "Bash", Input: rm, Status: hook.ToolDenied, Text: "denied", Asked: ev(1, 0).Time, At: ev(2, 0).Time}
	done := hook.ToolResult{ID: id, Turn: "p1", Name: "Read", Input: a, Text: "alpha", Asked: ev(3, 0).Time, At: ev(4, 0).Time}
	agentsDone := done
	agentsDone.Agent = "x"
	agents := func(e hook.Event) hook.Event { return asAgent(e, "x", "Explore") }
	denial := []hook.Event{start(1, "Bash", rm), asked(1.1, "Bash", rm), start(3, "Read", a), end(4, "Read", a)}
	const bash, read, fails, denies = "execute_tool Bash#call_0", "execute_tool Read#call_0", "!" + ErrorToolFailure, "!" + ErrorToolDenied
	for name, c := range map[string]struct {
		events []hook.Event
		files  []hook.ToolResult
		want   []string
	}{
		"a denied call, another tool":   {events: denial, want: []string{bash + denies, read}},
		"with the agent's files":        {events: denial, files: []hook.ToolResult{denied, done}, want: []string{bash + denies, read}},
		"of which the files lack one":   {events: denial, files: []hook.ToolResult{done}, want: []string{bash + denies, read}},
		"denied by a rule, by files":    {events: []hook.Event{denial[0], denial[2], denial[3]}, files: []hook.ToolResult{denied, done}, want: []string{bash + denies, read}},
		"a denied call, then the same":  {events: []hook.Event{denial[0], denial[1], start(3, "Bash", rm), end(4, "Bash", rm)}, want: []string{bash + denies, bash}},
		"only the second one is asked":  {events: []hook.Event{start(1, "Read", a), end(1.5, "Read", a), start(2, "Read", b), start(3, "Bash", rm), asked(3.1, "Bash", rm)}, want: []string{read, read + "!" + ErrorToolUnfinished, bash + denies}},
		"an input that a hook rewrote":  {events: []hook.Event{start(1, "Read", a), end(2, "Read", b)}, want: []string{read}},
		"a rewritten one, after denied": {events: []hook.Event{start(1, "Bash", rm), asked(1.1, "Bash", rm), start(3, "Bash", a), end(4, "Bash", b)}, want: []string{bash + denies, bash}},
		"which the files have as it was": {
			events: []hook.Event{start(3, "Read", a), end(4, "Read", b)}, files: []hook.ToolResult{done}, want: []string{read},
		},
		"behind the turn, without the files": {events: []hook.Event{start(3, "Read", a), end(10, "Read", b)}, want: []string{read}},
		"one of another input behind the turn": {
			events: []hook.Event{start(3, "Read", a), end(10, "Read", b)}, files: []hook.ToolResult{done}, want: []string{read, read},
		},
		"or behind the end of its agent": {
			events: []hook.Event{
				agents(start(3, "Read", a)), asAgent(turnEv(5, hook.KindRunComplete, "p1"), "x", "Explore"), agents(end(6, "Read", b)),
			},
			files: []hook.ToolResult{agentsDone}, want: []string{"invoke_agent Explore#", read, read},
		},
		"elements of one call":        {events: []hook.Event{start(1, "Read", a), start(1.1, "Read", b), failed(end(2, "Read", a)), end(3, "Read", b)}, want: []string{read + fails, read}},
		"a success after the failure": {events: []hook.Event{start(1, "Bash", a), failed(end(2, "Bash", a)), end(2.1, "Bash", a)}, want: []string{bash + fails}},
		"which has no start":          {events: []hook.Event{failed(end(2, "Bash", a)), end(2.1, "Bash", a)}, want: []string{bash + fails}},
		"the same call again":         {events: []hook.Event{start(1, "Bash", a), failed(end(2, "Bash", a)), start(3, "Bash", a), end(4, "Bash", a)}, want: []string{bash + fails, bash}},
		"and each end is reported twice": {
			events: []hook.Event{start(1, "Bash", a), failed(end(2, "Bash", a)), end(2.1, "Bash", a), start(3, "Bash", a), failed(end(4, "Bash", a)), end(4.1, "Bash", a)},
			want:   []string{bash + fails, bash + fails},
		},
		"of another input": {events: []hook.Event{start(1, "Bash", a), failed(end(2, "Bash", a)), end(2.1, "Bash", b)}, want: []string{bash + fails, bash}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &hook.Transcript{ToolResults: c.files}
			events := append([]hook.Event{turnPrompt(0, "p1")}, c.events...)
			bld := buildTurns(Carry{}, logged(append(events, turnStop(9, "p1"))...))
			runs := bld.Runs(far)
			if len(runs) != 1 {
				t.Fatalf("%d runs, want 1", len(runs))
			}
			var got []string
			for _, s := range spansOf(bld, runs[0], tr)[1:] {
				text := s.Name + "#" + value(s, KeyToolCallID)
				if kind := value(s, KeyErrorType); kind != "" {
					text += "!" + kind
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

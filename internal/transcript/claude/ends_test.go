package claude

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

func TestClaudeEndsOfTurns(t *testing.T) {
	feedback := func(at int) string {
		return userRow("p1", at, "Stop hook feedback:\n[check]: go on\n", `"isMeta":true`)
	}
	failure := func(at int) string {
		return crow("assistant", at, `"isApiErrorMessage":true,"error":"rate_limit","message":{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"stop_reason":"stop_sequence"}`)
	}
	complete := func(turn string, at int, result string) hook.TurnEnd {
		return hook.TurnEnd{Turn: turn, At: sec(at), Kind: hook.KindRunComplete, Result: result}
	}
	interrupted := func(at int) hook.TurnEnd {
		return hook.TurnEnd{Turn: "p1", At: sec(at), Kind: hook.KindSessionEnd, Message: "[Request interrupted by user]"}
	}
	duration := func(at int) string { return crow("system", at, `"subtype":"turn_duration"`) }
	const interrupt, teammate = "[Request interrupted by user]", `<teammate-message teammate_id="t">done</teammate-message>`
	for _, tt := range []struct {
		name    string
		rows    []string
		want    []hook.TurnEnd
		pending bool
	}{
		{"nothing", nil, nil, false},
		{"a prompt without an answer", []string{userRow("p1", 0, "go")}, nil, true},
		{"an answer under way", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "hm", "")}, nil, true},
		{"a tool under way", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use")}, nil, true},
		{"a result without an answer", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), resultRow("p1", 2, "t1", "ok", false)}, nil, true},
		{"an end, nothing told of it", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn")}, []hook.TurnEnd{complete("p1", 1, "done")}, true},
		{"an end, told by the hooks' summary", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn"), summaryRow(2)}, []hook.TurnEnd{complete("p1", 1, "done")}, false},
		{"an end, told by its duration", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn"), crow("system", 2, `"subtype":"turn_duration"`)}, []hook.TurnEnd{complete("p1", 1, "done")}, false},
		{"an end in two rows", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "so", "end_turn", `"uuid":"a"`), answerRow("m1", 2, "done", "end_turn", `"uuid":"b"`), summaryRow(3)}, []hook.TurnEnd{complete("p1", 2, "so\ndone")}, false},
		{"an answer that was cut off", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "half", "max_tokens"), summaryRow(2)}, []hook.TurnEnd{complete("p1", 1, "half")}, false},
		{"an answer that was cut off and went on", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "half", "max_tokens"), answerRow("m2", 2, "done", "end_turn"), summaryRow(3)}, []hook.TurnEnd{complete("p1", 2, "done")}, false},
		{"two turns", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn"), userRow("p2", 2, "more"), answerRow("m2", 3, "again", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("p1", 1, "done"), complete("p2", 3, "again")}, false},
		{"turns of versions that do not name them", []string{userRow("", 0, "go"), answerRow("m1", 1, "done", "end_turn"), userRow("", 2, "more"), answerRow("m2", 3, "again", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("", 1, "done"), complete("", 3, "again")}, false},
		{"a word put in between", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "so far", "end_turn"), userRow("p1", 2, "and that"), answerRow("m2", 3, "done", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("p1", 3, "done")}, false},
		{"a hook that blocks", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), feedback(2), summaryRow(3), answerRow("m2", 4, "second", "end_turn"), summaryRow(5)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(3), Kind: hook.KindRunResume, Message: "[check]: go on"}, complete("p1", 4, "second"),
		}, false},
		{"a hook that blocks, nothing told of the stop", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), feedback(2), answerRow("m2", 4, "second", "end_turn"), summaryRow(5)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(2), Kind: hook.KindRunResume, Message: "[check]: go on"}, complete("p1", 4, "second"),
		}, false},
		{"a hook that blocks, the summary first", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2), feedback(3)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(3), Kind: hook.KindRunResume, Message: "[check]: go on"},
		}, true},
		{"a hook that has blocked, just now", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), feedback(2), summaryRow(3)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(3), Kind: hook.KindRunResume, Message: "[check]: go on"},
		}, true},
		{"a turn that something woke", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2), answerRow("m2", 4, "second", "end_turn"), summaryRow(5)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(1), Kind: hook.KindRunResume}, complete("p1", 4, "second"),
		}, false},
		{"a turn that a teammate's message woke", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2), userRow("p1", 3, teammate), answerRow("m2", 4, "second", "end_turn"), summaryRow(5)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(1), Kind: hook.KindRunResume}, complete("p1", 4, "second"),
		}, false},
		{"a turn that a teammate's message woke, and no end", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2), userRow("p1", 3, teammate), answerRow("m2", 4, "tool:t1", "tool_use")}, []hook.TurnEnd{
			{Turn: "p1", At: sec(1), Kind: hook.KindRunResume},
		}, true},
		{"a turn that a teammate's message woke after another", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2), userRow("p2", 3, "more"), answerRow("m2", 4, "second", "end_turn"), summaryRow(5), userRow("p1", 6, teammate), answerRow("m3", 7, "third", "end_turn")}, []hook.TurnEnd{
			complete("p1", 1, "first"), complete("p2", 4, "second"), complete("p1", 7, "third"),
		}, true},
		{"an unknown command after an answer", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn"), userRow("p1", 2, "Unknown skill: fly")}, []hook.TurnEnd{complete("p1", 1, "done")}, true},
		{"a report whose id the results have", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), resultRow("p9", 2, "t1", "ok", false), answerRow("m2", 3, "done", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("p1", 3, "done")}, false},
		{"an interruption", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "hm", "tool_use"), userRow("p1", 2, interrupt)}, []hook.TurnEnd{interrupted(2)}, false},
		{"an interruption told twice", []string{userRow("p1", 0, "go"), userRow("p1", 2, interrupt), userRow("p1", 3, interrupt)}, []hook.TurnEnd{interrupted(2)}, false},
		{"an interruption of an answer that seemed the last", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "hm", "end_turn"), userRow("p1", 2, interrupt)}, []hook.TurnEnd{interrupted(2)}, false},
		{"an interruption after the end", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", "end_turn"), summaryRow(2), userRow("p1", 3, interrupt)}, []hook.TurnEnd{complete("p1", 1, "done"), interrupted(3)}, false},
		{"an answer after an interruption, without a prompt", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), userRow("p1", 2, interrupt), answerRow("m2", 3, "done", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("p1", 3, "done")}, false},
		{"the rest of an answer that was interrupted", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "hm", "", `"uuid":"a"`), userRow("p1", 2, interrupt), answerRow("m1", 3, "hm", "", `"uuid":"b"`)}, []hook.TurnEnd{interrupted(2)}, false},
		{"an interruption, and the same prompt again", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "hm", "tool_use"), userRow("p1", 2, interrupt), userRow("p1", 3, "go"), answerRow("m2", 4, "done", "end_turn"), summaryRow(5)}, []hook.TurnEnd{interrupted(2), complete("p1", 4, "done")}, false},
		{"a last answer without a reason, told by its duration", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", ""), resultRow("p1", 2, "t1", "ok", false), answerRow("m2", 3, "done", ""), duration(4)}, []hook.TurnEnd{complete("p1", 3, "done")}, false},
		{"a last answer without a reason, and a prompt", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "done", ""), userRow("p2", 2, "more"), answerRow("m2", 3, "tool:t1", "")}, []hook.TurnEnd{complete("p1", 1, "done")}, true},
		{"text before a call is no end", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "I look", "", `"uuid":"a"`), answerRow("m1", 1, "tool:t1", "", `"uuid":"b"`), userRow("p2", 2, "more")}, nil, true},
		{"a stop told without an answer in text", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", ""), resultRow("p1", 2, "t1", "ok", false), duration(4)}, []hook.TurnEnd{complete("p1", 4, "")}, false},
		{"a failure", []string{userRow("p1", 0, "go"), failure(2)}, []hook.TurnEnd{{Turn: "p1", At: sec(2), Kind: hook.KindRunError, Message: "API Error", ErrorType: "rate_limit"}}, false},
		{"a failure, and a prompt of the same id", []string{userRow("p1", 0, "go"), failure(2), userRow("p1", 3, "go"), answerRow("m1", 4, "done", "end_turn"), summaryRow(5)}, []hook.TurnEnd{
			{Turn: "p1", At: sec(2), Kind: hook.KindRunError, Message: "API Error", ErrorType: "rate_limit"}, complete("p1", 4, "done"),
		}, false},
		{"a stop without any answer", []string{userRow("", 0, "go"), summaryRow(1), userRow("", 2, "go"), summaryRow(3)}, []hook.TurnEnd{complete("", 1, ""), complete("", 3, "")}, false},
		{"the stop of the turn before, told late", []string{userRow("p1", 0, "go"), summaryRow(1), answerRow("m1", 2, "done", "end_turn"), summaryRow(3)}, []hook.TurnEnd{complete("p1", 2, "done")}, false},
		{"a command whose text no answer follows", []string{userRow("p1", 0, "<command-name>/init</command-name>"), userRow("p1", 0, "Look around", `"isMeta":true`), summaryRow(1)}, []hook.TurnEnd{complete("p1", 1, "")}, false},
		{"a text that is dated before its thought", []string{userRow("p1", 0, "go"), answerRow("m1", 3, "hm", "end_turn", `"uuid":"a"`), answerRow("m1", 2, "done", "end_turn", `"uuid":"b"`), summaryRow(4)}, []hook.TurnEnd{complete("p1", 3, "hm\ndone")}, false},
		{"a failure that was overcome", []string{userRow("p1", 0, "go"), failure(2), answerRow("m1", 3, "done", "end_turn"), summaryRow(4)}, []hook.TurnEnd{complete("p1", 3, "done")}, false},
		{"a command of Claude Code's own", []string{
			userRow("p0", 0, "before"), answerRow("m0", 1, "done", "end_turn"), summaryRow(2),
			userRow("p1", 3, "<local-command-caveat>x</local-command-caveat>", `"isMeta":true`), userRow("p1", 3, "<command-name>/cost</command-name>"), crow("system", 3, `"subtype":"local_command"`),
		}, []hook.TurnEnd{complete("p0", 1, "done")}, false},
		{"a side chain's end is not the turn's", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "sub", "end_turn", `"isSidechain":true`)}, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFinder(t)
			f.Now = func() time.Time { return sec(60) }
			tr := readLinesWith(t, f, tt.rows...)
			if diff := cmp.Diff(tt.want, tr.Ends); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if tr.Pending != tt.pending {
				t.Errorf("pending is %v, want %v", tr.Pending, tt.pending)
			}
			// A program that was killed does not stay pending for ever.
			f.Now = func() time.Time { return sec(20 * 60) }
			if readLinesWith(t, f, tt.rows...).Pending {
				t.Error("still pending twenty minutes later")
			}
		})
	}
}

func TestClaudeEndIsUndecidedUntilTheHostTells(t *testing.T) {
	version := func(v string) string { return `"version":"` + v + `"` }
	prompt := func(v string) string { return userRow("p1", 0, "go", version(v)) }
	for _, tt := range []struct {
		name string
		rows []string
		want bool
	}{
		{"the hooks have not answered", []string{prompt("2.1.329"), answerRow("m1", 1, "done", "end_turn")}, true},
		{"they have", []string{prompt("2.1.329"), answerRow("m1", 1, "done", "end_turn"), summaryRow(2)}, false},
		{"one has refused", []string{prompt("2.1.329"), answerRow("m1", 1, "done", "end_turn"), userRow("p1", 2, "Stop hook feedback:\nno", `"isMeta":true`)}, false},
		{"of a version that may not tell", []string{prompt("2.0.1"), answerRow("m1", 1, "done", "end_turn")}, false},
		{"a tool is under way", []string{prompt("2.1.329"), answerRow("m1", 1, "tool:t1", "tool_use")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFinder(t)
			f.Now = func() time.Time { return sec(60) }
			if got := readLinesWith(t, f, tt.rows...).Undecided; got != tt.want {
				t.Errorf("undecided is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestClaudeLastAnswerWithoutAReason counts as the end when nothing more is expected:
// until then a call may follow.
func TestClaudeLastAnswerWithoutAReason(t *testing.T) {
	for _, tt := range []struct {
		last string
		want []hook.TurnEnd
	}{
		{answerRow("m1", 1, "done", ""), []hook.TurnEnd{{Turn: "p1", At: sec(1), Kind: hook.KindRunComplete, Result: "done"}}},
		{answerRow("m1", 1, "tool:t1", ""), nil},
		{userRow("p1", 1, "[Request interrupted by user]"), []hook.TurnEnd{{Turn: "p1", At: sec(1), Kind: hook.KindSessionEnd, Message: "[Request interrupted by user]"}}},
	} {
		f := newFinder(t)
		f.Now = func() time.Time { return sec(20 * 60) }
		tr := readLinesWith(t, f, userRow("p1", 0, "go"), tt.last)
		if diff := cmp.Diff(tt.want, tr.Ends); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	}
}

// TestClaudeEndIsAnInterruption that no hook reports.
func TestClaudeEndIsAnInterruption(t *testing.T) {
	interrupt := func(at int) string { return userRow("p1", at, "[Request interrupted by user]") }
	for _, tt := range []struct {
		name string
		rows []string
		want int
	}{
		{"at work", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use")}, 0},
		{"interrupted", []string{userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), interrupt(2)}, 2},
		{"interrupted, then a command of Claude Code's", []string{userRow("p1", 0, "go"), interrupt(2), userRow("p1", 3, "<command-name>/cost</command-name>")}, 2},
		{"continued", []string{userRow("p1", 0, "go"), interrupt(2), answerRow("m1", 3, "tool:t1", "tool_use")}, 0},
		{"asked again", []string{userRow("p1", 0, "go"), interrupt(2), userRow("p2", 3, "more")}, 0},
		{"completed", []string{userRow("p1", 0, "go"), interrupt(2), userRow("p2", 3, "more"), answerRow("m1", 4, "done", "end_turn")}, 0},
		{"the end of the session before, at the file's beginning", []string{interrupt(0)}, 0},
	} {
		f := newFinder(t)
		write(t, claudePath(f), strings.Join(tt.rows, "\n")+"\n")
		kind, at, err := f.End(t.Context(), Agent, transcript.Query{Session: claudeSession})
		switch {
		case err != nil:
			t.Fatal(err)
		case tt.want == 0 && kind != hook.KindUnknown, tt.want > 0 && (kind != hook.KindRunCancel || !at.Equal(sec(tt.want))):
			t.Errorf("%s: %s at %s", tt.name, kind, at)
		}
	}
}

// TestClaudePlanFollowsTheInterruption that it is dated before: a result and an interruption
// of another session are at the beginning of the file, or the turn before is in it.
func TestClaudePlanFollowsTheInterruption(t *testing.T) {
	interrupt := userRow("", 5, "[Request interrupted by user for tool use]")
	for _, rows := range [][]string{
		{resultRow("", 5, "t0", "refused", true), interrupt, userRow("", 4, "the plan"), answerRow("m1", 6, "done", "end_turn")},
		{userRow("", 1, "go"), interrupt, userRow("", 4, "the plan"), answerRow("m1", 6, "done", "end_turn")},
	} {
		tr := readLines(t, rows...)
		if p := tr.Prompts[len(tr.Prompts)-1]; p.Text != "the plan" || !p.At.Equal(sec(5)) {
			t.Errorf("the last prompt is %+v", p)
		}
		events := slices.Collect(Agent.Events(Dialect, tr))
		last := events[len(events)-2:]
		if last[0].Kind != hook.KindPrompt || last[0].Prompt != "the plan" || last[1].Kind != hook.KindRunComplete {
			t.Errorf("the last events are %+v", last)
		}
		if len(tr.ToolResults) > 0 {
			t.Errorf("results %+v", tr.ToolResults)
		}
	}
}

// TestClaudeRowsOfOneMomentKeepTheirOrder has rows that are dated a little before the ones
// that they follow.
func TestClaudeRowsOfOneMomentKeepTheirOrder(t *testing.T) {
	dated := func(row string, from, to string) string { return strings.Replace(row, from, to, 1) }
	tr := readLines(t, userRow("", 10, "go"), dated(answerRow("m1", 10, "I look.", "tool_use"), ":10Z", ":09.998Z"), answerRow("m2", 12, "done", "end_turn"))
	if len(tr.Requests) != 2 || !tr.Requests[0].End.Equal(sec(10)) || !tr.Prompts[0].At.Equal(sec(10)) {
		t.Errorf("requests %+v after prompts %+v", tr.Requests, tr.Prompts)
	}
	events := slices.Collect(Agent.Events(Dialect, tr))
	if events[0].Kind != hook.KindPrompt {
		t.Errorf("the first event is %+v", events[0])
	}
}

// TestClaudePromptsTypedMeanwhile are put before the model within the turn.
func TestClaudePromptsTypedMeanwhile(t *testing.T) {
	queued := func(at int, more string) string {
		return crow("attachment", at, `"attachment":{"type":"queued_command","prompt":"and this"`+more+`}`)
	}
	operation := func(at int, name, more string) string {
		return crow("queue-operation", at, `"operation":"`+name+`"`+more)
	}
	enqueue := func(at int, text string) string { return operation(at, "enqueue", `,"content":"`+text+`"`) }
	remove := func(at int) string { return operation(at, "remove", "") }
	typed := func(at int, text string) hook.Prompt {
		return hook.Prompt{At: sec(at), Text: text, Turn: "p1", Queued: true}
	}
	for _, tt := range []struct {
		name string
		rows []string
		want []hook.Prompt
	}{
		{"attachments", []string{
			queued(2, ""), queued(3, `,"commandMode":"prompt"`), queued(4, `,"commandMode":"bash"`),
			crow("attachment", 5, `"attachment":{"type":"other","prompt":"no"}`),
		}, []hook.Prompt{typed(2, "and this"), typed(3, "and this")}},
		{"a queue alone", []string{enqueue(1, "one"), enqueue(2, "two"), remove(3), remove(4)}, []hook.Prompt{typed(3, "one"), typed(4, "two")}},
		{"a queue and attachments", []string{enqueue(1, "and this"), remove(2), queued(3, ""), enqueue(4, "and this"), queued(5, ""), remove(6)}, []hook.Prompt{typed(2, "and this"), typed(5, "and this")}},
		{"a turn of its own", []string{enqueue(1, "one"), enqueue(2, "two"), operation(3, "dequeue", ""), remove(4)}, []hook.Prompt{typed(4, "two")}},
		{"taken back", []string{enqueue(1, "one"), operation(2, "popAll", ""), remove(3)}, nil},
		{"news of a task", []string{enqueue(1, "<task-notification>x</task-notification>"), remove(2)}, nil},
		{"news of a task, in no words", []string{enqueue(1, `{\"task_id\":\"b1\",\"task_type\":\"local_bash\"}`), enqueue(2, "one"), remove(3), remove(4)}, []hook.Prompt{typed(3, "one")}},
		{"of older versions", []string{enqueue(1, "<agent-notification>x</agent-notification>"), enqueue(2, "<bash-notification>x</bash-notification>"), remove(3), remove(4)}, nil},
		{"a command, which waits for the turn's end", []string{enqueue(1, "/clear"), remove(2), enqueue(3, "one"), remove(4), operation(5, "dequeue", ""), remove(6)}, []hook.Prompt{typed(4, "one")}},
		{"several of both kinds of notes", []string{enqueue(1, "one"), enqueue(2, "two"), remove(3), remove(3), queued(4, ""), strings.Replace(queued(4, ""), "and this", "one", 1), strings.Replace(queued(5, ""), "and this", "two", 1)}, []hook.Prompt{typed(3, "one"), typed(3, "two"), typed(4, "and this")}},
		{"in blocks", []string{crow("attachment", 2, `"attachment":{"type":"queued_command","commandMode":"prompt","prompt":[{"type":"image"},{"type":"text","text":"look"},{"type":"text","text":"here"}]}`)}, []hook.Prompt{typed(2, "look\nhere")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := append([]hook.Prompt{{At: sec(0), Text: "go", Turn: "p1"}}, tt.want...)
			if diff := cmp.Diff(want, readLines(t, append([]string{userRow("p1", 0, "go")}, tt.rows...)...).Prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClaudeWokenTurnsLoseNothing: their work is in a run, whatever came between.
func TestClaudeWokenTurnsLoseNothing(t *testing.T) {
	woken := userRow("p1", 6, `<teammate-message teammate_id="t">done</teammate-message>`)
	for name, between := range map[string][]string{"nothing between": nil, "another turn between": {userRow("p2", 3, "more"), answerRow("m2", 4, "second", "end_turn"), summaryRow(5)}} {
		rows := slices.Concat([]string{userRow("p1", 0, "go"), answerRow("m1", 1, "first", "end_turn"), summaryRow(2)}, between, []string{woken, answerRow("m3", 7, "tool:t1", "tool_use"), resultRow("p1", 8, "t1", "ok", false)})
		var got []string
		for e := range Agent.Events(Dialect, readLines(t, rows...)) {
			got = append(got, e.Name+" "+e.Turn)
		}
		want := []string{"UserPromptSubmit p1", "PreToolUse p1", "PostToolUse p1"}
		if between != nil {
			want = []string{"UserPromptSubmit p1", "Stop p1", "UserPromptSubmit p2", "Stop p2", "UserPromptSubmit p1", "PreToolUse p1", "PostToolUse p1"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClaudePrompts(t *testing.T) {
	const command = "<command-name>/init</command-name>\n<command-message>init</command-message>\n<command-args></command-args>"
	for _, tt := range []struct {
		name string
		row  string
		want []hook.Prompt
	}{
		{"typed", userRow("p1", 0, "go", `"promptSource":"typed"`), []hook.Prompt{{At: sec(0), Text: "go", Turn: "p1"}}},
		{"by a program", userRow("p1", 0, "go", `"promptSource":"sdk"`), []hook.Prompt{{At: sec(0), Text: "go", Turn: "p1"}}},
		{"typed while the model worked", userRow("p1", 0, "go", `"promptSource":"queued","origin":{"kind":"human"}`), []hook.Prompt{{At: sec(0), Text: "go", Turn: "p1"}}},
		{"of an older version", userRow("", 0, "go"), []hook.Prompt{{At: sec(0), Text: "go"}}},
		{"in blocks", crow("user", 0, `"promptId":"p1","message":{"content":[{"type":"text","text":"look"},{"type":"image"},{"type":"text","text":"here"}]}`), []hook.Prompt{{At: sec(0), Text: "look\nhere", Turn: "p1"}}},
		{"an unknown command", userRow("p1", 0, "Unknown skill: fly"), []hook.Prompt{}},
		{"of a schedule", crow("queue-operation", 0, `"operation":"enqueue","content":"look again"`) + "\n" + crow("queue-operation", 1, `"operation":"dequeue"`) + "\n" + userRow("p1", 2, "look again", `"isMeta":true`), []hook.Prompt{{At: sec(2), Text: "look again", Turn: "p1"}}},
		{"news of an agent", userRow("p1", 0, "<task-notification>x", `"promptSource":"sdk","origin":{"kind":"task-notification"}`), []hook.Prompt{{At: sec(0), Text: "<task-notification>x", Turn: "p1", Injected: true}}},
		{"of the system", userRow("p1", 0, "x", `"promptSource":"system"`), []hook.Prompt{{At: sec(0), Text: "x", Turn: "p1", Injected: true}}},
		{"a user's command", userRow("p1", 0, "<command-message>hello</command-message>\n<command-name>/hello</command-name>\n<command-args>x y</command-args>"), []hook.Prompt{{At: sec(0), Text: "/hello x y", Turn: "p1"}}},
		{"a command that no request follows", userRow("p1", 0, command), []hook.Prompt{}},
		{"a command that an answer follows", userRow("p1", 0, command) + "\n" + answerRow("m1", 1, "done", "end_turn"), []hook.Prompt{{At: sec(0), Text: "/init", Turn: "p1"}}},
		{"a command that a failure follows", userRow("p1", 0, command) + "\n" + crow("assistant", 1, `"isApiErrorMessage":true,"message":{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}`), []hook.Prompt{{At: sec(0), Text: "/init", Turn: "p1"}}},
		{"a command whose text follows", userRow("p1", 0, command) + "\n" + userRow("p1", 0, "Please analyze", `"isMeta":true`), []hook.Prompt{{At: sec(0), Text: "/init", Turn: "p1"}}},
		{"a command that prints", userRow("p1", 0, command) + "\n" + userRow("p1", 0, "<local-command-stdout>x</local-command-stdout>") + "\n" + answerRow("m1", 1, "hm", "end_turn"), []hook.Prompt{}},
		{"a command before a prompt", userRow("p1", 0, command) + "\n" + userRow("p2", 1, "go"), []hook.Prompt{{At: sec(1), Text: "go", Turn: "p2"}}},
		{"news of a task, of an older version", userRow("", 0, "<task-notification>\n<summary>It ended</summary>\n</task-notification>\nRead the file."), []hook.Prompt{{At: sec(0), Text: "<task-notification>\n<summary>It ended</summary>\n</task-notification>\nRead the file.", Injected: true}}},
		{"words of a teammate", userRow("", 0, "<teammate-message teammate_id=\"r\">\nDone.\n</teammate-message>"), []hook.Prompt{{At: sec(0), Text: "<teammate-message teammate_id=\"r\">\nDone.\n</teammate-message>", Injected: true}}},
		{"a quoted tag", userRow("", 0, "<teammate-message> is what?"), []hook.Prompt{{At: sec(0), Text: "<teammate-message> is what?"}}},
		{"with the file that is open", userRow("p1", 0, "<ide_opened_file>The user opened a.go</ide_opened_file>\n<ide_selection>x</ide_selection>\nfix it"), []hook.Prompt{{At: sec(0), Text: "fix it", Turn: "p1"}}},
		{"the file that is open alone", userRow("p1", 0, "<ide_opened_file>The user opened a.go</ide_opened_file>"), nil},
		{"what a command printed", userRow("p1", 0, "<local-command-stdout>x</local-command-stdout>"), nil},
		{"the user's own shell", userRow("p1", 0, "<bash-input>ls</bash-input>"), nil},
		{"what Claude Code adds", userRow("p1", 0, "x", `"isMeta":true`), nil},
		{"a summary", userRow("p1", 0, "This session is being continued", `"isCompactSummary":true`), nil},
		{"a quoted interruption", userRow("p1", 0, "[Request interrupted by user] is what?"), []hook.Prompt{{At: sec(0), Text: "[Request interrupted by user] is what?", Turn: "p1"}}},
		{"an image", crow("user", 0, `"promptId":"p1","message":{"content":[{"type":"image"}]}`), []hook.Prompt{{At: sec(0), Text: "[image]", Turn: "p1"}}},
		{"an image that Claude Code adds", crow("user", 0, `"promptId":"p1","isMeta":true,"message":{"content":[{"type":"image"}]}`), nil},
		{"an interruption", userRow("p1", 0, "[Request interrupted by user]"), nil},
		{"a subagent's task", userRow("p1", 0, "go", `"isSidechain":true`), nil},
		{"a result", resultRow("p1", 0, "t1", "ok", false), nil},
		{"nothing", userRow("p1", 0, " "), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readLines(t, tt.row).Prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaudeEndsRecorded(t *testing.T) {
	for _, tt := range []struct {
		folder, session string
		kinds           []hook.Kind
		prompts         []string
	}{
		{"stop-blocked", "", []hook.Kind{hook.KindRunResume, hook.KindRunComplete}, []string{"do it"}},
		{"interrupt", "", []hook.Kind{hook.KindSessionEnd}, []string{"do the work"}},
		{"2.1.240", "", []hook.Kind{hook.KindRunComplete, hook.KindSessionEnd, hook.KindRunError}, []string{
			"Fix the login bug in auth.go and add a regression test", "Push it to origin", "Summarise the change for the release notes",
		}},
		{"tools-resume", "", []hook.Kind{hook.KindRunComplete, hook.KindRunComplete}, []string{"do the work", "second please"}},
		{"fork", "3a8f4545", []hook.Kind{hook.KindRunComplete}, []string{"do it"}},
		// The fork, taken up again; then cleared, with commands of Claude
		// Code's own; then a user's command.
		{"fork", "d1d41a34", []hook.Kind{hook.KindRunComplete, hook.KindRunComplete}, []string{"again", "more"}},
		{"fork", "630b4663", []hook.Kind{hook.KindRunComplete}, []string{"more"}},
		{"fork", "337ba4cd", []hook.Kind{hook.KindRunComplete}, []string{"/hello x"}},
	} {
		t.Run(tt.folder+tt.session, func(t *testing.T) {
			tr := readFixture(t, tt.folder, tt.session)
			var kinds []hook.Kind
			turns := make(map[string]bool)
			for _, e := range tr.Ends {
				kinds = append(kinds, e.Kind)
			}
			var prompts []string
			for _, p := range tr.Prompts {
				prompts = append(prompts, p.Text)
				turns[p.Turn] = true
			}
			if diff := cmp.Diff(tt.kinds, kinds); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.prompts, prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			for _, e := range tr.Ends {
				if !turns[e.Turn] {
					t.Errorf("the turn of %+v has no prompt", e)
				}
			}
			if tr.Pending {
				t.Error("pending, though all has ended")
			}
			if tt.session == "d1d41a34" && (len(tr.Requests) != 2 || len(tr.ToolResults) != 0) {
				t.Errorf("the fork has %d calls and %d results, want its own two calls", len(tr.Requests), len(tr.ToolResults))
			}
		})
	}
}

package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// told builds a trace whose rows have previews of the prompt and of the answer, with a
// subagent that has its own.
func told(prompt, answer string, prompts, answers []string) *store.Trace {
	b := newBuild("story")
	root := b.Root(prompt, otelmap.OutcomeCompleted, time.Minute, str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(answer, "stop")))
	for i, p := range prompts {
		b.Event(root, otelmap.EventPrompt, time.Duration(i)*time.Second, str(otelmap.KeyText, p))
	}
	sub := b.Add(root, "invoke_agent Explore", 10*time.Second, 30*time.Second, str(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		str(otelmap.KeyAgent, "a1"), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "look around")))
	b.Tool(sub, "read_file", `{"path":"a.go"}`, 11*time.Second, 12*time.Second)
	for i, text := range answers {
		from := time.Duration(40+i) * time.Second
		b.Add(root, "chat", from, from+time.Second, str(otelmap.KeyOperation, otelmap.OpChat),
			str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(text, "stop")))
	}
	return &store.Trace{Summary: store.Summary{Host: "cline", Outcome: otelmap.OutcomeCompleted}, ResourceSpans: b.Messages()}
}

func TestStory(t *testing.T) {
	long := strings.Repeat("please ", 100)
	tool := `tool "" in Explore`
	for _, c := range []struct {
		name             string
		prompt, answer   string
		prompts, answers []string
		want             []string
	}{
		{
			"rows have both", "fix it", "done",
			[]string{"fix it"},
			[]string{"looking", "done"},
			[]string{`user "fix it"`, `subagent ""`, tool, `agent "looking"`, `agent "done"`},
		},
		{
			"rows have previews", long + "now", long + "done",
			[]string{long[:50] + "…", "more"},
			[]string{long[:60] + "…"},
			[]string{fmt.Sprintf("user %q", long+"now"), `user "more"`, `subagent ""`, tool, fmt.Sprintf("agent %q", long+"done")},
		},
		{
			"no row has them", "fix it", "done",
			[]string{"and this"},
			[]string{"looking"},
			[]string{`user "fix it"`, `user "and this"`, `subagent ""`, tool, `agent "looking"`, `agent "done"`},
		},
		{
			"a text that begins as the answer does", "fix it", "done with all", nil,
			[]string{"done"},
			[]string{`user "fix it"`, `subagent ""`, tool, `agent "done"`, `agent "done with all"`},
		},
		{
			"the agent repeats its answer", "fix it", "done", nil,
			[]string{"done", "wait"},
			[]string{`user "fix it"`, `subagent ""`, tool, `agent "done"`, `agent "wait"`, `agent "done"`},
		},
		{"a silent agent", "", "", nil, nil, []string{`subagent ""`, tool}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := told(c.prompt, c.answer, c.prompts, c.answers)
			story, got := StoryOf(tr, Rows(tr)), []string(nil)
			for step := range story.Steps(0) {
				line := fmt.Sprintf("%s %q", step.Who, step.Text())
				if step.Within != "" {
					line += " in " + step.Within
				}
				got = append(got, line)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			// In parts, as the page reads it, it is the same story.
			var steps []Step
			for step := range story.Steps(0) {
				steps = append(steps, step)
			}
			for n, step := range steps {
				if step.Row == nil {
					continue
				}
				rest := slices.Collect(story.Steps(step.At))
				if step.At > 0 && len(rest) < len(steps)-n || rest[0].At > step.At {
					t.Errorf("from row %d: %d steps, want %d", step.At, len(rest), len(steps)-n)
				}
			}
		})
	}
}

// TestEventsAreKnownByTheirNames has events of another program that have the labels of
// ours.
func TestEventsAreKnownByTheirNames(t *testing.T) {
	b := newBuild("labels")
	root := b.Root("fix it", otelmap.OutcomeCompleted, time.Minute)
	for i, name := range []string{otelmap.EventPrompt, "prompt", otelmap.EventHook, "hook", otelmap.EventUsage, "usage", otelmap.EventPermission, "permission_request"} {
		b.Event(root, name, time.Duration(i)*time.Second, str(otelmap.KeyText, "fix it"))
	}
	tr := &store.Trace{Summary: store.Summary{Host: "cline"}, ResourceSpans: b.Messages()}
	var got []Who
	for step := range StoryOf(tr, Rows(tr)).Steps(0) {
		got = append(got, step.Who)
	}
	if d := cmp.Diff([]Who{WhoUser, WhoNote, WhoHook, WhoNote, WhoRequests, WhoNote, WhoNote, WhoNote}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, r := range Rows(tr) {
		if asked := r.Event == otelmap.EventPermission; asked != r.Start.Equal(at(6*time.Second)) {
			t.Errorf("%s at %s: a request for approval: %v", r.Label, r.Start, asked)
		}
	}
}

// TestPromptIsTheRuns has a trace whose only prompt is a subagent's.
func TestPromptIsTheRuns(t *testing.T) {
	tr := told("", "", nil, nil)
	if got := Prompt(tr); got != "" {
		t.Errorf("the subagent's prompt %q is the trace's", got)
	}
	tr = told("fix it", "", nil, nil)
	spans := tr.ResourceSpans[0].ScopeSpans[0].Spans
	slices.Reverse(spans) // the subagent's span is stored first
	if got := Prompt(tr); got != "fix it" {
		t.Errorf("got the prompt %q", got)
	}
}

func TestArgumentsAreReadOnce(t *testing.T) {
	a := NewArguments("Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`)
	first := a.Edits()
	a.members = nil // what was read is kept
	if len(first) != 1 || len(a.Edits()) != 1 || a.Line() != "a.go" || len(a.Parts()) != 2 {
		t.Errorf("got %v, then %v, %q, %v", first, a.Edits(), a.Line(), a.Parts())
	}
	r := Rows(told("", "", nil, nil))
	for i := range r {
		first, second := r[i].Arguments(), r[i].Arguments()
		if r[i].Kind == KindTool && (first != second || first.Line() != "a.go") {
			t.Errorf("row %d reads its arguments again, or gives %q", i, r[i].Arguments().Line())
		}
	}
}

package view

import (
	"iter"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Who says or does a step of a story.
type Who string

// Those who do.
const (
	WhoUser     Who = "user"
	WhoAgent    Who = "agent"
	WhoTool     Who = "tool"
	WhoSubagent Who = "subagent"
	WhoHook     Who = "hook"
	// WhoNote is another event, WhoRequests one that reports requests without spans.
	WhoNote     Who = "note"
	WhoRequests Who = "requests"
	// WhoFailure is a run that failed, WhoOther a span of another program.
	WhoFailure Who = "failure"
	WhoOther   Who = "other"
)

// Step is what was said or done in a row.
type Step struct {
	Who Who
	// At is the place of the row. A prompt or an answer that no row has is without a Row.
	At  int
	Row *Row
	// Parts are the row's texts, of a prompt and an answer whole ones.
	Parts []Part
	// Within is the innermost subagent above the row.
	Within string
}

// Text is what was said, "" if the step says nothing.
func (s *Step) Text() string {
	for _, p := range s.Parts {
		if p.Prose {
			return p.Text
		}
	}
	return ""
}

// Story is what was said and done in a trace, in order. The rows of prompts and answers may
// have previews: Prompt and Answer are the whole first prompt and last answer, as the
// functions of these names find them.
type Story struct {
	Prompt, Answer string
	// Rows returns the rows from a place on, with their texts. Asks are those of them that may
	// have a prompt.
	Rows func(from int) iter.Seq2[int, *Row]
	Asks iter.Seq2[int, *Row]
}

// StoryOf is the story of a trace with these rows.
func StoryOf(t *store.Trace, rows []Row) Story {
	from := func(from int) iter.Seq2[int, *Row] {
		return func(yield func(int, *Row) bool) {
			for i := from; i < len(rows) && yield(i, &rows[i]); i++ {
			}
		}
	}
	return Story{Prompt(t), Answer(t), from, from(0)}
}

// Steps returns the steps from a row on. If no row has the prompt it is the first step of
// all; the answer is the last one unless the agent has just said it.
func (s Story) Steps(from int) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if from == 0 && s.Prompt != "" && !s.asked() && !yield(Step{Who: WhoUser, Parts: prose(s.Prompt)}) {
			return
		}
		last := ""
		var above []string // the subagents above a row, by depth
		for i, r := range s.Rows(from) {
			above = append(above, make([]string, max(0, r.Depth+1-len(above)))...)[:r.Depth+1]
			step, ok := s.step(i, r)
			step.Within = innermost(above[:r.Depth])
			if above[r.Depth] = ""; r.Kind == KindAgent {
				above[r.Depth] = r.Agent()
			}
			if !ok {
				continue
			}
			if step.Who == WhoAgent {
				last = step.Text()
			}
			if !yield(step) {
				return
			}
		}
		if s.Answer != "" && s.Answer != last {
			yield(Step{Who: WhoAgent, Parts: prose(s.Answer)})
		}
	}
}

// asked reports whether a row has the prompt.
func (s Story) asked() bool {
	for i, r := range s.Asks {
		if step, ok := s.step(i, r); ok && step.Who == WhoUser && step.Text() == s.Prompt {
			return true
		}
	}
	return false
}

// step returns what a row with its texts says.
func (s Story) step(i int, r *Row) (Step, bool) {
	step := Step{Who: who(r), At: i, Row: r, Parts: r.Parts()}
	switch step.Who {
	case WhoUser:
		step.complete(s.Prompt)
	case WhoAgent:
		step.complete(s.Answer)
	case WhoFailure:
	default:
		return step, true
	}
	return step, len(step.Parts) > 0
}

// complete replaces the preview of a text by the text.
func (s *Step) complete(text string) {
	if begin, cut := strings.CutSuffix(s.Text(), "…"); cut && strings.HasPrefix(text, begin) {
		i := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Prose })
		s.Parts[i].Text = text
	}
}

func prose(text string) []Part { return addPart(nil, "text", "", true, text) }

func who(r *Row) Who {
	switch r.Kind {
	case KindTool:
		return WhoTool
	case KindAgent:
		return WhoSubagent
	case KindChat:
		return WhoAgent
	case KindRun, KindNoRoot:
		return WhoFailure
	case KindSpan:
		return WhoOther
	}
	switch r.Event {
	case otelmap.EventPrompt:
		return WhoUser
	case otelmap.EventHook:
		return WhoHook
	case otelmap.EventUsage:
		return WhoRequests
	}
	return WhoNote
}

// Agent returns the name of the subagent that a row is.
func (r *Row) Agent() string { return strings.TrimPrefix(r.Label, otelmap.OpInvokeAgent+" ") }

func innermost(agents []string) string {
	for _, a := range slices.Backward(agents) {
		if a != "" {
			return a
		}
	}
	return ""
}

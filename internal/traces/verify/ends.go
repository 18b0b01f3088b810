package verify

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
)

// compareEnds compares how the traces say that they ended with the ends of turns in the
// files. Only success and failure contradict each other: a process that is stopped may
// leave any end unwritten.
func (c *Comparison) compareEnds(files *hook.Transcript) {
	kinds := map[hook.Kind]string{hook.KindRunComplete: otelmap.OutcomeCompleted, hook.KindRunError: otelmap.OutcomeFailed}
	for _, tr := range c.traces {
		said := tr.root.outcome
		if said != otelmap.OutcomeCompleted && said != otelmap.OutcomeFailed || c.continued(tr) {
			continue
		}
		end := ""
		for i := range files.Ends {
			if e := &files.Ends[i]; e.Kind != hook.KindRunResume && tr.has(e, files.Prompts) {
				end = kinds[e.Kind]
			}
		}
		if end != "" {
			tr.differ(Outcome, "the end", "", said, end)
		}
	}
}

// continued reports that a later trace is about the same turn.
func (c *Comparison) continued(tr *trace) bool {
	for _, other := range c.traces {
		for turn := range other.turns {
			if tr.turns[turn] && other.start.After(tr.start) {
				return true
			}
		}
	}
	return false
}

// has reports whether an end in the files is that of the trace's turn: by its id or, if
// turns have none, of what began with the trace's last prompt.
func (tr *trace) has(e *hook.TurnEnd, prompts []hook.Prompt) bool {
	if e.Turn != "" || len(tr.turns) > 0 {
		return tr.turns[e.Turn]
	}
	begun, next := false, false
	for i := range prompts {
		switch p := &prompts[i]; {
		case p.Injected:
		case !p.At.After(tr.end):
			begun = !p.At.After(e.At)
		case !next:
			next = true
			begun = begun && e.At.Before(p.At)
		}
	}
	return begun
}

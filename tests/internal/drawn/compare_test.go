package drawn

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// played is a session of three prompts: one that completed with a subagent's help, one that
// was interrupted, and one that failed.
func played() *facts {
	s := &Session{
		Prompts: []string{"p0q: one", "p1q: two", "p2q: three"},
		Answers: []Answer{
			{Text: "a1z run", Calls: []Call{
				{Mark: "m1k", Command: "echo said m1k", Says: "said m1k"},
				{Mark: "m2k", Command: "echo 'said m2k'; exit 1", Fails: true, Says: "said m2k"},
				{Mark: "m3k", Command: "echo " + Forbidden + " m3k", Denied: true},
				{Mark: "m4k", Fails: true},
			}},
			{Text: "a2z delegate", Calls: []Call{{Mark: "m5k", Delegates: true, Says: "a4z"}}},
			{Text: "a3z look", Sub: true, Calls: []Call{{Mark: "m6k", Path: "missing-m6k.txt", Fails: true}}},
			{Text: "a4z looked", Sub: true},
			{Text: "a5z done"},
			{Text: "a6z wait", Calls: []Call{{Mark: "m7k", Command: "echo m7k > " + rig.WordMark, Interrupts: true}}},
			{Refusal: 401},
		},
	}
	f := &facts{Session: s, Steps: []rig.StepResult{{Requests: 5}, {Requests: 6, Signalled: true}, {Requests: 7}}}
	for i, a := range s.Answers {
		part, index := s.Place(i)
		r := llm.Request{N: i + 1, Part: part, Turn: index, Text: a.Text, Calls: make([]llm.Call, len(a.Calls)), Status: a.Refusal}
		if a.Refusal == 0 {
			r.Complete, r.Usage = true, &llm.Usage{Input: int64(i + 10), CacheRead: int64(i + 1), Output: 3}
		}
		f.Log = append(f.Log, r)
	}
	return f
}

// spansOf are the traces that tell the truth.
func (f *facts) spansOf() (out []sink.Span) {
	at := time.Unix(1e9, 0)
	next := func(s *sink.Span) {
		at = at.Add(time.Second)
		s.Start, s.End = at, at.Add(time.Millisecond)
		out = append(out, *s)
	}
	tokens := func(a sink.Attrs, t rig.Tokens, key func(string) string) {
		for name, n := range map[string]int64{otelmap.KeyInputTokens: t.Input, otelmap.KeyOutputTokens: t.Output, otelmap.KeyCacheReadTokens: t.CacheRead} {
			a[key(name)] = n
		}
	}
	ends := map[string]string{failed: otelmap.ErrorToolFailure, denied: otelmap.ErrorToolDenied, cancelled: otelmap.ErrorToolCancelled}
	for _, story := range f.truth() {
		root := sink.Span{TraceID: story.Prompt, SpanID: "root", Status: "Unset", Attrs: sink.Attrs{
			otelmap.KeyInputValue: story.Prompt, otelmap.KeyOutcome: story.Outcome, otelmap.KeyOutputValue: story.Answer,
		}}
		tokens(root.Attrs, story.Total, otelmap.RunKey)
		if story.Outcome == otelmap.OutcomeFailed {
			root.Status = "Error"
		}
		calls, failures := int64(len(story.Calls)), int64(0)
		for _, c := range story.Calls {
			if c.End != ended {
				failures++
			}
		}
		root.Attrs[otelmap.KeyToolCalls], root.Attrs[otelmap.KeyToolFailures], root.Attrs[otelmap.KeyLLMRequests] = calls, failures, int64(len(story.Requests))
		next(&root)
		for _, c := range story.Calls {
			s := sink.Span{TraceID: story.Prompt, SpanID: c.Mark, ParentID: "root", Name: c.Mark, Status: "Unset", Attrs: sink.Attrs{
				otelmap.KeyOperation: otelmap.OpExecuteTool, otelmap.KeyToolArguments: rawjson.Encode([]string{c.Mark, c.Asks}),
			}}
			if c.Under != "" {
				s.ParentID = c.Under
			}
			if c.End == ended {
				s.Attrs[otelmap.KeyToolResult] = c.Says
			} else {
				s.Status, s.Attrs[otelmap.KeyErrorType] = "Error", ends[c.End]
				// Agents' messages may have the command.
				s.Events = []sink.Event{{Attrs: sink.Attrs{otelmap.KeyExceptionMessage: c.Asks + " failed: " + c.Says}}}
			}
			next(&s)
		}
		for _, r := range story.Requests {
			s := sink.Span{TraceID: story.Prompt, SpanID: r.Text, ParentID: "root", Name: r.Text, Attrs: sink.Attrs{
				otelmap.KeyOperation: otelmap.OpChat, otelmap.KeyOutputMessages: otelmap.AnswerMessages(r.Text, "stop"),
			}}
			if r.Under != "" {
				s.ParentID = r.Under
			}
			tokens(s.Attrs, r.Tokens, func(key string) string { return key })
			next(&s)
		}
	}
	return out
}

// TestComparisonFindsWhatTracesLose has traces that tell the truth but for one thing.
func TestComparisonFindsWhatTracesLose(t *testing.T) {
	t.Parallel()
	attr := func(name, key string, value any) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			for i := range spans {
				if spans[i].Name == name {
					spans[i].Attrs[key] = value
				}
			}
			return spans
		}
	}
	span := func(name string, change func(*sink.Span)) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			i := slices.IndexFunc(spans, func(s sink.Span) bool { return s.Name == name })
			change(&spans[i])
			return spans
		}
	}
	without := func(gone func(sink.Span) bool) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span { return slices.DeleteFunc(spans, gone) }
	}
	named := func(name string) func(sink.Span) bool { return func(s sink.Span) bool { return s.Name == name } }
	f := played()
	for name, lose := range map[string]func([]sink.Span) []sink.Span{
		"nothing":                      func(spans []sink.Span) []sink.Span { return spans },
		"all":                          func([]sink.Span) []sink.Span { return nil },
		"a turn":                       without(func(s sink.Span) bool { return s.TraceID == "p1q: two" }),
		"a turn that is open":          without(func(s sink.Span) bool { return s.TraceID == "p2q: three" }),
		"a root":                       without(func(s sink.Span) bool { return s.TraceID == "p0q: one" && s.Root() }),
		"a request":                    without(named("a5z done")),
		"a request's tokens":           attr("a5z done", otelmap.KeyCacheReadTokens, int64(0)),
		"a request's text":             attr("a5z done", otelmap.KeyOutputMessages, ""),
		"a subagent's request":         without(named("a4z looked")),
		"whose a request is":           span("a4z looked", func(s *sink.Span) { s.ParentID = "root" }),
		"whose a call is":              span("m6k", func(s *sink.Span) { s.ParentID = "root" }),
		"a call":                       without(named("m1k")),
		"a call's arguments":           attr("m1k", otelmap.KeyToolArguments, ""),
		"a failed call's arguments":    attr("m2k", otelmap.KeyToolArguments, `{"command":""}`),
		"a part of a call's arguments": attr("m1k", otelmap.KeyToolArguments, `["m1k"]`),
		"a result":                     attr("m1k", otelmap.KeyToolResult, ""),
		"a failed call's result":       span("m2k", func(s *sink.Span) { s.Events[0].Attrs[otelmap.KeyExceptionMessage] = "echo 'said m2k'; exit 1 failed" }),
		"that a call failed":           span("m2k", func(s *sink.Span) { s.Status = "Unset"; delete(s.Attrs, otelmap.KeyErrorType) }),
		"a failed call's status":       span("m2k", func(s *sink.Span) { s.Status = "Unset" }),
		"that a call was denied":       attr("m3k", otelmap.KeyErrorType, otelmap.ErrorToolFailure),
		"that a call was cancelled":    attr("m7k", otelmap.KeyErrorType, otelmap.ErrorToolUnfinished),
		"a failed turn's status":       func(spans []sink.Span) []sink.Span { spans[len(spans)-1].Status = "Unset"; return spans },
		"the sum of a turn": func(spans []sink.Span) []sink.Span {
			spans[0].Attrs[otelmap.RunKey(otelmap.KeyInputTokens)] = int64(1)
			return spans
		},
		"how a turn ended": func(spans []sink.Span) []sink.Span {
			spans[0].Attrs[otelmap.KeyOutcome] = otelmap.OutcomeInterrupted
			return spans
		},
		"a turn's answer": func(spans []sink.Span) []sink.Span {
			spans[0].Attrs[otelmap.KeyOutputValue] = "a4z looked"
			return spans
		},
		"that a call is there once": func(spans []sink.Span) []sink.Span {
			again := spans[1]
			again.SpanID = "again"
			return append(spans, again)
		},
		"an interrupted turn's last call": without(named("m7k")),
		"that a request is there once": func(spans []sink.Span) []sink.Span {
			i := slices.IndexFunc(spans, named("a5z done"))
			again := spans[i]
			again.SpanID, again.Attrs = "again", sink.Attrs{otelmap.KeyOperation: otelmap.OpChat, otelmap.KeyOutputMessages: again.Attrs[otelmap.KeyOutputMessages]}
			for i := range spans {
				if spans[i].TraceID == again.TraceID && spans[i].Root() {
					n, _ := spans[i].Attrs.Int(otelmap.KeyLLMRequests)
					spans[i].Attrs[otelmap.KeyLLMRequests] = n + 1
				}
			}
			return append(spans, again)
		},
		"whose a result is":  attr("m1k", otelmap.KeyToolResult, "said m1k said m2k"),
		"the count of calls": func(spans []sink.Span) []sink.Span { spans[0].Attrs[otelmap.KeyToolCalls] = int64(1); return spans },
		"the count of failures": func(spans []sink.Span) []sink.Span {
			spans[0].Attrs[otelmap.KeyToolFailures] = int64(0)
			return spans
		},
		"the count of requests": func(spans []sink.Span) []sink.Span {
			spans[0].Attrs[otelmap.KeyLLMRequests] = int64(1)
			return spans
		},
	} {
		for _, imported := range []bool{false, true} {
			h := &Host{Open: func(outcome string) bool { return outcome != otelmap.OutcomeCompleted }}
			traces, wrong := rig.Traces(lose(f.spansOf()))
			got := make([]Story, len(traces))
			for i, trace := range traces {
				got[i] = Read(f.Session, trace)
				wrong = append(wrong, miscounted(trace)...)
			}
			wrong = append(wrong, h.differ(f.truth(), got, imported)...)
			want := name != "nothing" && (name != "a turn that is open" || !imported)
			if found := len(wrong) > 0; found != want {
				t.Errorf("%s, imported %v: found %v, want %v: %s", name, imported, found, want, strings.Join(wrong, "\n"))
			}
		}
	}
}

// TestComparisonKnowsRemovedFiles has imports that lack the first prompt.
func TestComparisonKnowsRemovedFiles(t *testing.T) {
	t.Parallel()
	refused, answered := Story{Prompt: "p0q", Outcome: otelmap.OutcomeFailed}, Story{Prompt: "p1q", Outcome: otelmap.OutcomeCompleted, Requests: []Request{{Text: "a1z"}}}
	broken := Story{Prompt: "p0q", Outcome: otelmap.OutcomeFailed, Requests: []Request{{Text: "a0z"}}}
	for _, one := range []struct {
		want              []Story
		removes, imported bool
		same              bool
	}{
		{[]Story{refused, answered}, true, true, true},
		{[]Story{refused, answered}, false, true, false},
		{[]Story{refused, answered}, true, false, false},
		{[]Story{broken, answered}, true, true, false},
		{[]Story{answered, refused, answered}, true, true, false},
	} {
		h := &Host{Removes: one.removes, Open: func(outcome string) bool { return outcome != otelmap.OutcomeCompleted }}
		if wrong := h.differ(one.want, []Story{answered}, one.imported); (len(wrong) == 0) != one.same {
			t.Errorf("%+v: %q", one, wrong)
		}
	}
}

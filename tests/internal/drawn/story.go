package drawn

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Story is what is compared of a prompt: what came of it by the script and the model's
// log, or by a trace.
type Story struct {
	Prompt, Outcome string
	// Answer is the last text of a prompt that completed.
	Answer string
	// Requests are those that were answered, in order, Total is their sum.
	Requests []Request
	Total    rig.Tokens
	// Calls are the calls by the number in their marks.
	Calls []Ended
}

// Forget takes the last request out.
func (s *Story) Forget() {
	requests := s.Requests[:max(0, len(s.Requests)-1)]
	s.Requests, s.Total = nil, rig.Tokens{}
	for _, r := range requests {
		s.Requests, s.Total = append(s.Requests, r), s.Total.Plus(r.Tokens)
	}
}

// Request is an answered request.
type Request struct {
	Tokens rig.Tokens
	Text   string
	// Under is the mark of the call whose subagent asked.
	Under string
}

// Ended is how a call ended.
type Ended struct {
	Mark string
	// Under is the mark of the call that started the subagent which made this one.
	Under string
	// End is "ok", "failed", "denied", "cancelled" or what else a span says.
	End string
	// Asks is the script's command or path if the arguments have it, Says its text if the
	// result has it outside of the command.
	Asks, Says string
}

// How calls end, as the script has it.
const (
	ended     = "ok"
	failed    = "failed"
	denied    = "denied"
	cancelled = "cancelled"
)

// Truth are the stories of a session, of which log has the model's log and steps how
// each prompt's process ended.
func Truth(s *Session, log []llm.Request, steps []rig.StepResult) []Story {
	var out []Story
	before := 0
	for i, prompt := range s.Prompts {
		story := Story{Prompt: prompt, Outcome: otelmap.OutcomeFailed}
		for _, r := range log {
			if r.N > before && r.N <= steps[i].Requests && r.Part != "" {
				story.add(s, &r)
			}
		}
		if steps[i].Signalled {
			story.Outcome = otelmap.OutcomeInterrupted
		}
		if story.Outcome != otelmap.OutcomeCompleted {
			story.Answer = ""
		}
		before = steps[i].Requests
		out = append(out, story)
	}
	return out
}

// add adds a request of the log.
func (s *Story) add(session *Session, r *llm.Request) {
	s.Outcome = otelmap.OutcomeFailed
	if r.Usage == nil || !r.Complete {
		return
	}
	under := ""
	if r.Part == llm.PartSub && len(s.Calls) > 0 {
		// Such a call is the only one of its answer; the subagent's own are under it as well.
		last := s.Calls[len(s.Calls)-1]
		under = cmp.Or(last.Under, last.Mark)
	}
	u := r.Usage
	tokens := rig.Tokens{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	s.Requests = append(s.Requests, Request{Tokens: tokens, Text: r.Text, Under: under})
	s.Total = s.Total.Plus(tokens)
	if len(r.Calls) == 0 && r.Part == llm.PartMain {
		s.Outcome, s.Answer = otelmap.OutcomeCompleted, r.Text
	}
	answer := session.Part(r.Part)[r.Turn]
	for _, c := range answer.Calls[:min(len(r.Calls), len(answer.Calls))] {
		e := Ended{Mark: c.Mark, Under: under, End: ended, Asks: c.asks(), Says: c.Says}
		switch {
		case c.Denied:
			e.End = denied
		case c.Interrupts:
			e.End = cancelled
		case c.Fails:
			e.End = failed
		}
		s.Calls = append(s.Calls, e)
	}
}

var mark = regexp.MustCompile(`m(\d+)k`)

// Read is the story of a trace of a session.
func Read(s *Session, t *rig.Trace) Story {
	if t.Root == nil {
		return Story{Prompt: "no root"}
	}
	out := Story{Prompt: t.Root.Attrs.String(otelmap.KeyInputValue), Outcome: t.Outcome()}
	out.Total, _ = rig.TokensOf(t.Root)
	if failed := out.Outcome == otelmap.OutcomeFailed || out.Outcome == otelmap.OutcomeAbandoned; failed != (t.Root.Status == "Error") {
		out.Outcome += " with status " + t.Root.Status
	}
	if out.Outcome == otelmap.OutcomeCompleted {
		out.Answer = s.whole(t.Root.Attrs.String(otelmap.KeyOutputValue))
	}
	var refused []Request
	for _, c := range t.Operation(otelmap.OpChat) {
		text := step.Of(&tracepb.Span{Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOutputMessages, c.Attrs.String(otelmap.KeyOutputMessages))}}).Answer()
		r := Request{Text: s.whole(text), Under: s.under(t, c)}
		if r.Tokens, _ = rig.TokensOf(c); r.Tokens != (rig.Tokens{}) {
			out.Requests = append(out.Requests, r)
		} else if r.Text != "" {
			refused = append(refused, r)
		}
	}
	for _, r := range refused {
		if slices.ContainsFunc(out.Requests, func(o Request) bool { return o.Text == r.Text }) {
			out.Requests = append(out.Requests, r) // An answered one a second time, without its tokens.
		}
	}
	for _, c := range t.Operation(otelmap.OpExecuteTool) {
		e := s.read(c)
		e.Under = s.under(t, c)
		out.Calls = append(out.Calls, e)
	}
	// Calls of one answer start in any order.
	slices.SortFunc(out.Calls, func(a, b Ended) int {
		return cmp.Or(cmp.Compare(len(a.Mark), len(b.Mark)), cmp.Compare(a.Mark, b.Mark), cmp.Compare(a.End, b.End))
	})
	return out
}

// whole is an answer's text without those of broken answers before it: an agent that
// tries again may keep what it had.
func (s *Session) whole(text string) string {
	for _, a := range s.Answers {
		if a.Breaks {
			text = strings.TrimPrefix(text, a.Text)
		}
	}
	return text
}

// under is the mark of the call whose subagent has the span.
func (s *Session) under(t *rig.Trace, c *sink.Span) string {
	if caller := t.Caller(c); caller != nil {
		return cmp.Or(s.read(caller).Mark, "a call without a mark")
	}
	return ""
}

func (s *Session) call(mark string) *Call {
	for _, a := range s.Answers {
		for i := range a.Calls {
			if a.Calls[i].Mark == mark {
				return &a.Calls[i]
			}
		}
	}
	return new(Call)
}

// asks is the text that the call's arguments have. The others have agents' own, or a mark alone.
func (c *Call) asks() string {
	if c.Denied || c.Interrupts {
		return ""
	}
	return c.Command + c.Path
}

func (s *Session) read(c *sink.Span) Ended {
	said := c.StatusMessage + "\n" + c.Attrs.String(otelmap.KeyToolResult)
	for _, event := range c.Events {
		said += "\n" + event.Attrs.String(otelmap.KeyExceptionMessage)
	}
	asked := c.Attrs.String(otelmap.KeyToolArguments)
	e := Ended{Mark: mark.FindString(asked + "\n" + c.Attrs.String(otelmap.KeyToolName))}
	if m := mark.FindString(said); e.Mark == "" && s.call(m).Unknown() {
		e.Mark = m // An agent may keep no arguments of a tool that it does not have.
	}
	switch kind := c.Attrs.String(otelmap.KeyErrorType); kind {
	case "":
		e.End = ended
	case otelmap.ErrorTool, otelmap.ErrorToolFailure:
		e.End = failed
	case otelmap.ErrorToolCancelled:
		e.End = cancelled
	case otelmap.ErrorToolDenied:
		e.End = denied
	default:
		e.End = kind
	}
	if (c.Status == "Error") != (e.End != ended) {
		e.End += " with status " + c.Status
	}
	call := s.call(e.Mark)
	if text := rawjson.Encode(call.asks()); strings.Contains(asked, text[1:len(text)-1]) {
		e.Asks = call.asks()
	}
	if strings.Contains(strings.ReplaceAll(said, call.Command, ""), call.Says) {
		e.Says = call.Says
	}
	for _, m := range others.FindAllStringSubmatch(said, -1) {
		if m[1] != e.Mark {
			e.Says += " and that of " + m[1]
		}
	}
	return e
}

// others are the outputs of commands.
var others = regexp.MustCompile(`said (m\d+k)`)

// miscounted returns the counts of a trace's root that its spans contradict, one text each.
func miscounted(t *rig.Trace) (wrong []string) {
	if t.Root == nil {
		return nil
	}
	calls := t.Operation(otelmap.OpExecuteTool)
	failures := slices.DeleteFunc(slices.Clone(calls), func(c *sink.Span) bool { return c.Status != "Error" })
	for key, want := range map[string]int{
		otelmap.KeyToolCalls: len(calls), otelmap.KeyToolFailures: len(failures), otelmap.KeyLLMRequests: len(t.Operation(otelmap.OpChat)),
	} {
		if n, _ := t.Root.Attrs.Int(key); n != int64(want) {
			wrong = append(wrong, fmt.Sprintf("%s of %q is %d, and the trace has %d", key, t.Root.Name, n, want))
		}
	}
	return wrong
}

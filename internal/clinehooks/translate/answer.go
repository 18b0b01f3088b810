package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// The lengths that texts for the model may have, in UTF-16 units, as JavaScript
// counts: Claude's for one text, Cline's for all of an answer.
const (
	maxText    = 10_000
	maxContext = 50_000
)

// channel says what Cline does with the answer to an event.
type channel struct {
	// context: a text for the model arrives. cancel: the task can be stopped.
	context, cancel bool
	// later: a text that does not arrive still has a use afterwards.
	later bool
}

// channelOf is what Cline does with the answers to this event.
func (c *Call) channelOf(name string) channel {
	switch name {
	case postToolUse, postToolUseFailure:
		// The bundle on the SDK ignored what was said after a tool until 4.1.11.
		heard := c.Dialect != dialectNext || !before(c.event.HostVersion, 4, 1, 11)
		return channel{context: heard, cancel: heard, later: true}
	case preToolUse:
		return channel{context: true, cancel: true, later: true}
	case userPromptSubmit, sessionStart:
		if c.Dialect == dialectSDK {
			return channel{later: true}
		}
		// The bundle on the SDK lost these texts until 4.1.18.
		lost := c.Dialect == dialectNext && before(c.event.HostVersion, 4, 1, 18)
		return channel{context: !lost, cancel: true, later: true}
	case preCompact:
		return channel{cancel: c.Dialect != dialectSDK, later: true}
	case stop, subagentStop, subagentStart:
		return channel{later: true}
	}
	return channel{}
}

// Carries reports whether the context of an answer to this event certainly reaches
// the model, so that waiting texts can go with it.
func (c *Call) Carries() bool {
	switch c.Kind {
	case hook.KindToolStart:
		return true
	case hook.KindToolEnd:
		return c.channelOf(postToolUse).context
	}
	return false
}

// before compares two versions. An unreadable one counts as new.
func before(version string, want ...int) bool {
	parts := strings.Split(version, ".")
	for i, w := range want {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n != w {
			return err == nil && n < w
		}
	}
	return false
}

// answering gathers an answer.
type answering struct {
	call     *Call
	options  Options
	denials  []string
	stops    []string
	contexts []string
	notes    []string
	pending  []string
	updates  map[int]map[string]any // by operation
}

// Answer makes Cline's reply of the verdicts, one for each of the call's events.
// Verdicts that are missing count as none.
func (c *Call) Answer(vs []claude.Verdict, o Options) Answer {
	a := &answering{call: c, options: o, updates: map[int]map[string]any{}}
	for i, ev := range c.Events {
		if i < len(vs) {
			a.verdict(ev, vs[i])
		}
	}
	return a.answer()
}

func (a *answering) note(format string, args ...any) {
	line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if !slices.Contains(a.notes, line) {
		a.notes = append(a.notes, line)
	}
}

// verdict takes in what hooks decided on one event.
func (a *answering) verdict(ev Event, v claude.Verdict) {
	for _, s := range v.SystemMessages {
		if strings.TrimSpace(s) != "" {
			a.note("%s: a hook has a message for the user, which Cline cannot show: %s", ev.Name, cut(s, maxText))
		}
	}
	ch := a.call.channelOf(ev.Name)
	if v.Stop {
		a.stop(ev, v, ch)
	}
	switch ev.Name {
	case preToolUse:
		a.before(ev, v)
	case postToolUse, postToolUseFailure:
		a.after(ev, v)
	case userPromptSubmit:
		if refuses(v) {
			if ch.cancel {
				a.denials = append(a.denials, reason(v))
			} else {
				a.note("%s: a hook refuses the prompt, which Cline has taken already: %s", ev.Name, reason(v))
			}
		}
	case stop, subagentStop:
		if refuses(v) {
			a.context(ev, reason(v), ch)
			a.note("%s: a hook wants the agent to continue, which Cline cannot; the model gets the reason with the next event that carries text: %s", ev.Name, reason(v))
		}
	case preCompact:
		if refuses(v) {
			a.note("%s: a hook refuses the compaction; Cline could only stop the task, so it continues: %s", ev.Name, reason(v))
		}
	}
	for _, s := range slices.Concat(v.Context, v.Feedback) {
		a.context(ev, s, ch)
	}
}

// stop takes in continue:false.
func (a *answering) stop(ev Event, v claude.Verdict, ch channel) {
	said := firstOf(v.StopReason, v.Reason, "a hook stopped the agent")
	switch {
	case ch.cancel:
		a.stops = append(a.stops, said)
	case slices.Contains([]string{userPromptSubmit, sessionStart, preCompact, postToolUse, postToolUseFailure}, ev.Name):
		a.note("%s: a hook stops the agent, which Cline does not let it do here: %s", ev.Name, said)
	}
}

// before takes in a decision about a call that has not run.
func (a *answering) before(ev Event, v claude.Verdict) {
	switch {
	case refuses(v):
		a.denials = append(a.denials, reason(v))
		return
	case v.Decision == claude.Ask || v.Decision == claude.Defer:
		if a.options.AskDenies {
			a.denials = append(a.denials, firstOf(v.Reason, "a hook wants the user to be asked, which Cline's hooks cannot"))
			return
		}
		a.note("%s: a hook wants the user to be asked about %s; Cline's own approval decides", ev.Name, ev.Tool)
	}
	if v.UpdatedInput == nil {
		return
	}
	updated, _ := rawjson.Parse(v.UpdatedInput)
	m, ok := updated.(map[string]any)
	if !ok || !json.Valid(v.UpdatedInput) {
		a.denials = append(a.denials, fmt.Sprintf("a hook changed the input of %s to what is no JSON object: %s", ev.Tool, cut(string(v.UpdatedInput), maxText)))
		return
	}
	if rawjson.Canonical(v.UpdatedInput) != rawjson.Canonical(ev.Input) {
		a.updates[ev.operation] = m
	}
}

// after takes in a decision about a call that has run.
func (a *answering) after(ev Event, v claude.Verdict) {
	if refuses(v) && strings.TrimSpace(v.Reason) != "" && !slices.Contains(v.Feedback, v.Reason) {
		a.context(ev, v.Reason, a.call.channelOf(ev.Name))
	}
	if v.UpdatedOutput != nil {
		a.note("%s: a hook replaces the output of %s, which Cline cannot; the model gets it as a text", ev.Name, ev.Tool)
		said := string(v.UpdatedOutput)
		if rawjson.IsString(v.UpdatedOutput) && json.Valid(v.UpdatedOutput) {
			said = rawjson.Unquote(v.UpdatedOutput)
		}
		a.context(ev, "A hook gives this output of "+ev.Tool+" in place of the one above:\n"+said, a.call.channelOf(ev.Name))
	}
}

// context takes in a text for the model.
func (a *answering) context(ev Event, s string, ch channel) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if short := cut(s, maxText); short != s {
		a.note("%s: a text for the model is longer than %d characters and was cut", ev.Name, maxText)
		s = short
	}
	switch {
	case slices.Contains(a.contexts, s), slices.Contains(a.pending, s):
		// A hook that says the same of each file of a call says it once.
	case ch.context:
		a.contexts = append(a.contexts, s)
	case ch.later:
		a.pending = append(a.pending, s)
	default:
		a.note("%s: a hook has a text for the model, for which Cline has no place after this event", ev.Name)
	}
}

// answer puts the answer together.
func (a *answering) answer() Answer {
	if len(a.denials)+len(a.stops) == 0 && len(a.updates) > 0 {
		input, err := a.override()
		if err == nil {
			return a.proceed(input)
		}
		a.denials = append(a.denials, err.Error())
	}
	if len(a.stops) > 0 {
		return a.cancel(joined(append(a.stops, a.denials...)))
	}
	if len(a.denials) == 0 {
		return a.proceed("")
	}
	said := joined(a.denials)
	if a.options.SoftDeny {
		if input := a.softDenial(said); input != "" {
			out := a.proceed(input)
			out.Soft = true
			return out
		}
	}
	return a.cancel(said)
}

// proceed lets Cline continue.
func (a *answering) proceed(input string) Answer {
	out := a.rest()
	out.Reply.OverrideInput = input
	out.Reply.Context = strings.Join(a.contexts, "\n\n")
	if short := cut(out.Reply.Context, maxContext); short != out.Reply.Context {
		a.note("the texts for the model are longer than %d characters and were cut", maxContext)
		out.Reply.Context, out.Notes = short, a.notes
	}
	return out
}

// cancel stops the task. Texts for the model would hide the reason, so they wait
// until the task continues.
func (a *answering) cancel(said string) Answer {
	a.pending = append(a.pending, a.contexts...)
	out := a.rest()
	out.Reply.Cancel, out.Reply.ErrorMessage = true, cut(said, maxText)
	return out
}

func (a *answering) rest() Answer { return Answer{Pending: a.pending, Notes: a.notes} }

// override is the call's input with what hooks changed in it.
func (a *answering) override() (string, error) {
	c := a.call
	values := make([]any, len(c.call.operations))
	for i, op := range c.call.operations {
		values[i] = op.value
	}
	before := slices.Clone(values)
	var faults []string
	for i, op := range c.call.operations {
		updated, ok := a.updates[i]
		if !ok {
			continue
		}
		why := "only the SDK's Cline takes one"
		if c.Dialect == dialectSDK {
			if op.back == nil {
				why = "Cline has no equivalent"
			} else {
				value, notes, err := op.back(op.input, updated)
				if err == nil {
					values[i] = value
					for _, n := range notes {
						a.note("%s", n)
					}
					continue
				}
				why = err.Error()
			}
		}
		if differ, same := op.unchanged(updated); same && c.Dialect != dialectSDK {
			if len(differ) > 0 {
				a.note("a hook changed %s of %s, which this Cline cannot take; the call is the same otherwise, and runs", strings.Join(differ, ", "), op.tool)
			}
			continue
		}
		faults = append(faults, fmt.Sprintf("a hook changed the input of %s, which this Cline cannot take (%s); use this input instead: %s",
			op.tool, why, rawjson.Encode(updated)))
	}
	if len(faults) > 0 {
		return "", fmt.Errorf("%s", joined(faults))
	}
	// A change that makes no difference to Cline keeps the model's spelling.
	input := rawjson.Encode(c.call.input(values))
	if input == rawjson.Encode(c.call.input(before)) {
		return "", nil
	}
	return input, nil
}

// refuses reports whether hooks said no.
func refuses(v claude.Verdict) bool { return v.Decision == claude.Deny || v.Decision == claude.Block }

// reason is why hooks said no. Some say it to the user alone.
func reason(v claude.Verdict) string {
	return firstOf(v.Reason, strings.Join(v.Feedback, "\n"), strings.Join(v.SystemMessages, "\n"), "a hook said no and not why")
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// joined puts distinct texts on lines of their own, in their order.
func joined(texts []string) string {
	var distinct []string
	for _, s := range texts {
		if !slices.Contains(distinct, s) {
			distinct = append(distinct, s)
		}
	}
	return strings.Join(distinct, "\n")
}

// cut shortens a text to a number of UTF-16 units.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	units := 0
	for i, r := range s {
		units++
		if r > 0xffff {
			units++
		}
		if units > limit {
			return s[:i]
		}
	}
	return s
}

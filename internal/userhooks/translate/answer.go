package translate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// The lengths that texts for the model may have, in UTF-16 units, as JavaScript
// counts: Claude's for one text, Cline's for all of an answer.
const (
	maxText    = 10_000
	maxContext = 50_000
)

// channel describes what Cline does with the answer to an event.
type channel struct {
	// context reports that a text reaches the model, cancel that the task can be
	// stopped, and later that a text can still reach the model with a later event.
	context, cancel, later bool
}

// channelOf returns what Cline does with the answers to this event.
func (c *Call) channelOf(name string) channel {
	switch name {
	case "PostToolUse", "PostToolUseFailure":
		// The bundle on the SDK ignored the answers after a tool until 4.1.11.
		heard := c.Dialect != dialectNext || !before(c.HostVersion, 4, 1, 11)
		return channel{context: heard, cancel: heard, later: true}
	case "PreToolUse":
		return channel{context: true, cancel: true, later: true}
	case "UserPromptSubmit", "SessionStart":
		if c.Dialect == dialectSDK {
			return channel{later: true}
		}
		// The bundle on the SDK lost these texts until 4.1.18.
		lost := c.Dialect == dialectNext && before(c.HostVersion, 4, 1, 18)
		return channel{context: !lost, cancel: true, later: true}
	case "PreCompact":
		return channel{cancel: c.Dialect != dialectSDK, later: true}
	case "Stop", "SubagentStop", "SubagentStart":
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
		return c.channelOf("PostToolUse").context
	}
	return false
}

// before reports whether a version is older than another. What is unreadable in it
// counts as new.
func before(version string, want ...int) bool {
	got := make([]int, 3)
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2])
	return slices.Compare(got[:n], want[:n]) < 0
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

// Answer makes Cline's reply of the verdicts, one for each of the events of Asked.
// Missing verdicts are empty.
func (c *Call) Answer(vs []verdict.Verdict, o Options) Answer {
	a := &answering{call: c, options: o, updates: map[int]map[string]any{}}
	for i, ev := range c.Asked() {
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

// verdict adds the hooks' verdict on one event.
func (a *answering) verdict(ev Event, v verdict.Verdict) {
	for _, s := range v.SystemMessages {
		if jstext.Trim(s) != "" {
			a.note("%s: a hook has a message for the user, which Cline cannot show: %s", ev.Name, cut(s, maxText))
		}
	}
	ch := a.call.channelOf(ev.Name)
	if v.Stop {
		a.stop(ev, v, ch)
	}
	switch ev.Name {
	case "PreToolUse":
		a.before(ev, v)
	case "PostToolUse", "PostToolUseFailure":
		a.after(ev, v)
	case "UserPromptSubmit":
		if refuses(v) {
			if ch.cancel {
				a.denials = append(a.denials, reason(v))
			} else {
				a.note("%s: a hook refuses the prompt, which Cline has taken already: %s", ev.Name, reason(v))
			}
		}
	case "Stop", "SubagentStop":
		if refuses(v) {
			a.context(ev, reason(v), ch)
			a.note("%s: a hook wants the agent to continue, which Cline cannot; the model gets the reason with the next event that carries text: %s", ev.Name, reason(v))
		}
	case "PreCompact":
		if refuses(v) {
			a.note("%s: a hook refuses the compaction; Cline could only stop the task, so it continues: %s", ev.Name, reason(v))
		}
	}
	for _, s := range slices.Concat(v.Context, v.Feedback) {
		a.context(ev, s, ch)
	}
}

// stop adds a verdict with continue:false.
func (a *answering) stop(ev Event, v verdict.Verdict, ch channel) {
	said := firstOf(v.StopReason, v.Reason, "a hook stopped the agent")
	switch {
	case ch.cancel:
		a.stops = append(a.stops, said)
	case slices.Contains([]string{"UserPromptSubmit", "SessionStart", "PreCompact", "PostToolUse", "PostToolUseFailure"}, ev.Name):
		a.note("%s: a hook stops the agent, which Cline does not let it do here: %s", ev.Name, said)
	}
}

// before adds a decision about a call that has not run.
func (a *answering) before(ev Event, v verdict.Verdict) {
	switch {
	case refuses(v):
		a.denials = append(a.denials, reason(v))
		return
	case v.Decision == verdict.Ask || v.Decision == verdict.Defer:
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
	if _, given := a.updates[ev.operation]; !given && rawjson.Canonical(v.UpdatedInput) != rawjson.Canonical(ev.Input) {
		a.updates[ev.operation] = m
	}
}

// after adds a decision about a call that has run.
func (a *answering) after(ev Event, v verdict.Verdict) {
	if refuses(v) && jstext.Trim(v.Reason) != "" && !slices.Contains(v.Feedback, v.Reason) {
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

// context adds a text for the model.
func (a *answering) context(ev Event, s string, ch channel) {
	if jstext.Trim(s) == "" {
		return
	}
	if short := cut(s, maxText); short != s {
		a.note("%s: a text for the model is longer than %d characters and was cut", ev.Name, maxText)
		s = short
	}
	switch {
	case slices.Contains(a.contexts, s), slices.Contains(a.pending, s):
		// A hook may return the same text for each file of a call.
	case ch.context:
		a.contexts = append(a.contexts, s)
	case ch.later:
		a.pending = append(a.pending, s)
	default:
		a.note("%s: a hook has a text for the model, for which Cline has no place after this event", ev.Name)
	}
}

// answer makes the answer.
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
	reason := joined(a.denials)
	if a.options.SoftDeny {
		if input := a.softDenial(reason); input != "" {
			out := a.proceed(input)
			out.Soft = true
			return out
		}
	}
	return a.cancel(reason)
}

// proceed lets Cline continue.
func (a *answering) proceed(input string) Answer {
	context := strings.Join(a.contexts, "\n\n")
	if short := cut(context, maxContext); short != context {
		a.note("the texts for the model are longer than %d characters and were cut", maxContext)
		context = short
	}
	return Answer{Reply: hook.Reply{OverrideInput: input, Context: context}, Pending: a.pending, Notes: a.notes}
}

// cancel stops the task. Texts for the model would hide the reason, so they wait
// until the task continues.
func (a *answering) cancel(reason string) Answer {
	return Answer{
		Reply:   hook.Reply{Cancel: true, ErrorMessage: cut(reason, maxText)},
		Pending: append(a.pending, a.contexts...), Notes: a.notes,
	}
}

// override returns the call's input with the changes of hooks, empty if there are
// none.
func (a *answering) override() (string, error) {
	c := a.call
	var before, values []any
	var faults []string
	for i, op := range c.call.operations {
		before, values = append(before, op.value), append(values, op.value)
		updated, ok := a.updates[i]
		if !ok {
			continue
		}
		value, err := a.apply(op, updated)
		if err != nil {
			faults = append(faults, fmt.Sprintf("a hook changed the input of %s, which this Cline cannot take (%s); use this input instead: %s",
				op.tool, err, rawjson.Encode(updated)))
		}
		values[i] = value
	}
	if len(faults) > 0 {
		return "", errors.New(joined(faults))
	}
	if c.Dialect != dialectSDK {
		return "", nil
	}
	// If nothing changes for Cline, the model's spelling stays.
	input := rawjson.Encode(c.call.build(values))
	if input == rawjson.Encode(c.call.build(before)) {
		return "", nil
	}
	return input, nil
}

// apply returns the operation with a hook's input, as Cline has it.
func (a *answering) apply(op operation, updated map[string]any) (any, error) {
	switch {
	case a.call.Dialect != dialectSDK:
		differ, same := op.unchanged(updated)
		if !same {
			return nil, errors.New("only the SDK's Cline takes one")
		}
		if len(differ) > 0 {
			a.note("a hook changed %s of %s, which this Cline cannot take; the call is the same otherwise, and runs", strings.Join(differ, ", "), op.tool)
		}
		return op.value, nil
	case op.back == nil:
		return nil, errors.New("Cline has no equivalent") //nolint:staticcheck // Cline is a name.
	}
	value, notes, err := op.back(op.input, updated)
	for _, n := range notes {
		a.note("%s", n)
	}
	return value, err
}

// refuses reports whether hooks refused.
func refuses(v verdict.Verdict) bool {
	return v.Decision == verdict.Deny || v.Decision == verdict.Block
}

// reason returns why hooks refused. Some hooks give the reason only to the user.
func reason(v verdict.Verdict) string {
	return firstOf(v.Reason, strings.Join(v.Feedback, "\n"), strings.Join(v.SystemMessages, "\n"), "a hook refused and gave no reason")
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		s = jstext.Trim(s)
		if s != "" {
			return s
		}
	}
	return ""
}

// joined puts each distinct text on its own line, in order.
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
	units := 0
	for i, r := range s {
		units += utf16.RuneLen(r)
		if units > limit {
			return s[:i]
		}
	}
	return s
}

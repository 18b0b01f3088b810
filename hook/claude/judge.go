package claude

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// maxText is how many characters of a text that a hook gives out are passed on.
// Claude Code puts longer ones into a file; here the rest is cut off, with a
// mark that says so.
const maxText = 10_000

// Judge reads what one run of a command hook left behind, as Claude Code does:
//
//   - Exit code 2 blocks where the event can be blocked; nothing that the hook
//     prints lifts that. The reason is that of the printed decision if it blocks
//     too, else what stands on the error stream.
//   - An object on the output stream counts at every exit code. One with a member
//     of a wrong type, or with the name of another event, is an error and counts
//     for nothing. Members that are not known are left alone.
//   - Any other text is context for the model where the event takes that.
//   - Other exit codes, a hook that did not start and one that took too long block
//     nothing, unless BlockOnFailure says so. Under BlockOnFailure unreadable
//     output is a failure too, and an exit code other than 0 and 2 also is one
//     where an object was printed.
//   - An answer with "async" true gives no verdict.
//
// StrictExit extends the first rule to every exit code other than 0 and to hooks
// that did not start; a hook that took too long is not concerned.
func Judge(o Output) Verdict {
	r := rulesOf(o.Event)
	switch {
	case o.TimedOut:
		return r.unfinished(o, "timed out", r.blocksOnTimeout)
	case o.Failed:
		return r.unfinished(o, "failed", o.StrictExit)
	}
	text := trimOutput(strings.ToValidUTF8(o.Stdout, "\ufffd"))
	if isAsync(text) {
		return Verdict{}
	}
	j := judgement{rules: r, event: o.Event}
	shape := shapeOf(text)
	switch shape {
	case shapeObject:
		// The shape says that it opens.
		a, _ := rawjson.Open([]byte(text))
		if j.read(a); j.err != nil {
			shape = shapeBroken
			j = judgement{rules: r, event: o.Event, err: j.err}
		}
	case shapeBroken:
		_, err := rawjson.Open([]byte(text))
		j.err = fmt.Errorf("it begins and ends like a JSON object and is none: %w", err)
	}
	stderr := trimOutput(strings.ToValidUTF8(o.Stderr, "\ufffd"))
	failed := o.Exit != 0 && o.Exit != 2 || shape == shapeBroken && o.Exit != 2
	switch {
	case o.Exit == 2, o.Exit != 0 && (o.StrictExit || r.anyExit) && !r.deniesOnFailure:
		j.block(exitCode(o.Exit), stderr)
	case failed && o.BlockOnFailure && !r.failsOpen && (r.exit != blocksNothing || r.deniesOnFailure):
		why := j.failure(o.Exit, stderr)
		if r.deniesOnFailure {
			j.deny(cut(blockedOnFailure("failed", why)))
			break
		}
		j.block(exitCode(o.Exit), blockedOnFailure("failed", why))
	case shape == shapeBroken || failed && shape != shapeObject:
		j.v.Errors = append(j.v.Errors, cut(j.failure(o.Exit, firstLine(stderr))))
	case shape == shapePlain && o.Exit == 0:
		j.plain(text)
	}
	return j.v
}

// OutputHTTP is an http hook's answer as the output of a command: an object counts
// as on a command's output stream, an empty body of a good status is no objection,
// and anything else is an error, which has Failed set and says why in Stderr.
func OutputHTTP(event string, status int, body []byte) Output {
	o := Output{Event: event}
	text := trimOutput(string(body))
	switch {
	case status < 200 || status > 299:
		o.Failed, o.Stderr = true, "answered with status "+strconv.Itoa(status)
	case text == "":
	case shapeOf(strings.ToValidUTF8(text, "\ufffd")) != shapeObject:
		o.Failed, o.Stderr = true, "answered with something other than a JSON object"
	default:
		o.Stdout = text
	}
	return o
}

// unfinished is the verdict on a hook that has no exit code.
func (r rules) unfinished(o Output, what string, blocks bool) Verdict {
	j := judgement{rules: r, event: o.Event}
	stderr := trimOutput(strings.ToValidUTF8(o.Stderr, "\ufffd"))
	said := what
	if line := firstLine(stderr); line != "" {
		said += ": " + line
	}
	j.v.Errors = []string{cut(said)}
	switch {
	case o.BlockOnFailure && r.deniesOnFailure:
		j.deny(cut(blockedOnFailure(what, stderr)))
	case r.exit == blocksNothing || r.exit == blocksNotice:
		// It stands among the errors.
	case blocks:
		j.block(what, said)
	case o.BlockOnFailure && !r.failsOpen:
		j.block(what, blockedOnFailure(what, stderr))
	}
	return j.v
}

func blockedOnFailure(what, why string) string {
	s := what + `; blocking because onFailure is "block"`
	if why != "" {
		s += "\n" + why
	}
	return s
}

func exitCode(code int) string { return "exit code " + strconv.Itoa(code) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

// cut shortens a text to what is passed on.
func cut(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= maxText {
		return s
	}
	end := 0
	for range maxText {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end] + fmt.Sprintf("\n[cut here; the whole text has %d characters]", n)
}

// judgement is a verdict in the making.
type judgement struct {
	rules
	event string
	v     Verdict
	// reason is that of a printed decision that blocks; decided reports one.
	reason  string
	decided bool
	// err says why the printed object counts for nothing.
	err error
}

// block is what exit code 2 does to the event. what is why, for events that
// cannot be blocked.
func (j *judgement) block(what, stderr string) {
	reason := cut(stderr)
	if j.decided && j.reason != "" {
		reason = j.reason
	}
	switch j.exit {
	case blocksDeny, blocksEvent:
		j.deny(reason)
	case blocksFeedback:
		if j.decided {
			// Its reason is among the feedback already, if it has one.
			if j.reason != "" {
				return
			}
			j.v.Feedback = nil
		}
		j.v.Feedback = append(j.v.Feedback, orUnsaid(reason))
	case blocksNotice:
		if reason != "" {
			what += ": " + reason
		}
		j.v.Errors = append(j.v.Errors, what)
	case blocksNothing:
		j.v.Ignored = append(j.v.Ignored, what)
	}
}

// deny decides, with a reason that has been cut. A denied call has no other
// input.
func (j *judgement) deny(reason string) {
	j.v.Decision, j.v.Reason, j.v.UpdatedInput = j.word(), reason, nil
}

// orUnsaid stands in for the text of a hook that objects and does not say to
// what.
func orUnsaid(reason string) string {
	if reason == "" {
		return "a hook objects and gives no reason"
	}
	return reason
}

// failure says what went wrong with a hook that has ended.
func (j *judgement) failure(exit int, stderr string) string {
	var parts []string
	if exit != 0 {
		parts = append(parts, exitCode(exit))
	}
	if j.err != nil {
		parts = append(parts, "output not usable", j.err.Error())
	}
	if stderr != "" {
		parts = append(parts, stderr)
	}
	return strings.Join(parts, ": ")
}

// plain takes text that is no JSON.
func (j *judgement) plain(text string) {
	if j.rules.plain {
		j.v.Context = append(j.v.Context, cut(text))
	}
}

// read takes an object. After it, err says whether the object counts.
func (j *judgement) read(a rawjson.Object) {
	var r reader
	goOn, said := r.truth(a, "continue")
	stopReason := r.text(a, "stopReason")
	systemMessage := r.text(a, "systemMessage")
	decision := r.oneOf(a, "decision", []Decision{approve, Block})
	reason := r.text(a, "reason")
	_, _ = r.truth(a, "suppressOutput")
	_ = r.text(a, "terminalSequence")
	inner := r.object(a, hookSpecificOutput)
	if said && !goOn {
		if j.silent {
			j.ignore("continue")
		} else {
			j.v.Stop, j.v.StopReason = true, cut(stopReason)
		}
	}
	if systemMessage != "" {
		if j.silent {
			j.ignore("systemMessage")
		} else {
			j.v.SystemMessages = append(j.v.SystemMessages, cut(systemMessage))
		}
	}
	if decision != NoDecision {
		j.decide(decision, reason)
	}
	for _, name := range misplaced() {
		if a.Lookup(name) != nil {
			j.ignore(name + " outside of " + hookSpecificOutput)
		}
	}
	if a.Lookup("terminalSequence") != nil {
		j.ignore("terminalSequence")
	}
	if inner != nil {
		j.specific(&r, inner, reason)
	}
	j.err = r.err
}

// approve is the top-level word for Allow.
const approve Decision = "approve"

// misplaced are members that count inside hookSpecificOutput alone and are often
// written beside it.
func misplaced() []string {
	return []string{"additionalContext", "permissionDecision", "updatedInput", "updatedToolOutput"}
}

func (j *judgement) ignore(what string) { j.v.Ignored = append(j.v.Ignored, what) }

// decide takes the top-level decision.
func (j *judgement) decide(d Decision, reason string) {
	switch {
	case j.event == preToolUse && d == approve:
		j.v.Decision, j.v.Reason = Allow, cut(reason)
	case d == approve:
		// No objection, which needs no word elsewhere.
	case !j.decision:
		j.ignore("decision")
	case j.exit == blocksFeedback:
		j.decided, j.reason = true, cut(reason)
		j.v.Feedback = append(j.v.Feedback, orUnsaid(j.reason))
	default:
		j.decided, j.reason = true, cut(reason)
		j.deny(j.reason)
	}
}

// specific takes the object that belongs to one event. reason is the top-level
// one.
func (j *judgement) specific(r *reader, o rawjson.Object, reason string) {
	switch name := r.text(o, "hookEventName"); {
	case r.err != nil:
		return
	case name == "":
		r.err = fmt.Errorf("%s has no hookEventName, want %q", hookSpecificOutput, j.event)
		return
	case name != j.event:
		r.err = fmt.Errorf("%s is for the event %q, want %q", hookSpecificOutput, cut(name), j.event)
		return
	}
	if text := r.text(o, "additionalContext"); text != "" {
		if j.context {
			j.v.Context = append(j.v.Context, cut(text))
		} else {
			j.ignore("additionalContext")
		}
	}
	j.permit(r, o, reason)
	if j.event == permissionRequest {
		j.permissionRequest(r, o)
	}
	for _, name := range [...]string{"updatedMCPToolOutput", "updatedToolOutput"} {
		switch {
		case o.Lookup(name) == nil:
		case j.output:
			j.v.UpdatedOutput = value(o, name)
		default:
			j.ignore(name)
		}
	}
	for _, name := range unsupported() {
		if o.Lookup(name) != nil {
			j.ignore(name)
		}
	}
}

// unsupported are members that mean something to Claude Code alone.
func unsupported() []string {
	return []string{
		"sessionTitle", "suppressOriginalPrompt", "initialUserMessage", "watchPaths", "reloadSkills", "classifierContext",
		"retry", "displayContent", "worktreePath", "action", "content", "updatedPermissions",
	}
}

// permit takes the decision on a tool call and its new input.
func (j *judgement) permit(r *reader, o rawjson.Object, reason string) {
	if j.permission == nil {
		for _, name := range [...]string{"permissionDecision", "updatedInput"} {
			if o.Lookup(name) != nil {
				j.ignore(name)
			}
		}
		return
	}
	d := r.oneOf(o, "permissionDecision", j.permission)
	if own := r.text(o, "permissionDecisionReason"); own != "" {
		reason = own
	}
	input := r.object(o, "updatedInput")
	if input != nil && j.event == preToolUse {
		j.v.UpdatedInput = value(o, "updatedInput")
	}
	switch d {
	case NoDecision:
	case Deny:
		j.decided, j.reason = true, cut(reason)
		j.deny(j.reason)
	default:
		j.decided, j.reason = false, ""
		j.v.Decision, j.v.Reason = d, cut(reason)
	}
	if j.v.Decision == j.word() {
		j.v.UpdatedInput = nil
	}
}

// permissionRequest takes the decision on a permission dialog.
func (j *judgement) permissionRequest(r *reader, o rawjson.Object) {
	inner := r.object(o, "decision")
	if inner == nil {
		return
	}
	behavior := r.oneOf(inner, "behavior", []Decision{Allow, Deny})
	message := r.text(inner, "message")
	interrupt, _ := r.truth(inner, "interrupt")
	input := r.object(inner, "updatedInput")
	switch behavior {
	case Allow:
		j.v.Decision, j.v.Reason = Allow, cut(message)
		if input != nil {
			j.v.UpdatedInput = value(inner, "updatedInput")
		}
	case Deny:
		j.deny(cut(message))
		j.v.Stop = j.v.Stop || interrupt
	}
	if inner.Lookup("updatedPermissions") != nil {
		j.ignore("updatedPermissions")
	}
}

package verdict

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// maxText is how many characters of a hook's text are passed on.
// Claude Code puts longer ones into a file; here the rest is cut off, with a
// mark that says so.
const maxText = 10_000

// Judge reads the result of one run of a command hook, as Claude Code does:
//
//   - Exit code 2 blocks where the event can be blocked; nothing that the hook
//     prints lifts that. The reason is that of the printed decision if it blocks
//     too, else the error stream.
//   - An object on the output stream counts at every exit code. One with a member
//     of a wrong type, or with the name of another event, is an error and counts
//     for nothing. Members that are not known are left alone.
//   - Any other text is context for the model where the event takes that.
//   - Other exit codes, a hook that did not start and a timeout block nothing,
//     unless BlockOnFailure is set. Then unreadable output is a failure too, and so
//     is an exit code other than 0 and 2, even if an object was printed.
//   - An answer with "async" true gives no verdict.
//
// StrictExit extends the first rule to every exit code other than 0 and to hooks
// that did not start, but not to a timeout.
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
	shape, members, err := openOutput(text)
	switch shape {
	case shapeObject:
		if j.read(members); j.err != nil {
			shape = shapeBroken
			j = judgement{rules: r, event: o.Event, reader: j.reader}
		}
	case shapeBroken:
		j.err = fmt.Errorf("it begins and ends like a JSON object and is not one: %w", err)
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
	case shape == shapePlain && o.Exit == 0 && r.plain:
		j.v.Context = append(j.v.Context, cut(text))
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
	default:
		if shape, _, _ := openOutput(strings.ToValidUTF8(text, "\ufffd")); shape == shapeObject {
			o.Stdout = text
		} else {
			o.Failed, o.Stderr = true, "answered with something other than a JSON object"
		}
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
		// The error is reported, and decides nothing.
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
	return jstext.Trim(line)
}

// cut shortens a text to what is passed on.
func cut(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= maxText {
		return s
	}
	return string([]rune(s)[:maxText]) + fmt.Sprintf("\n[cut here; the whole text has %d characters]", n)
}

// judgement is a verdict while it is made.
type judgement struct {
	rules rules
	event string
	v     Verdict
	// reason is that of a printed decision that blocks; decided reports one.
	reason  string
	decided bool
	// reader reads the printed object. Its err is why that counts for nothing.
	reader
}

// block does what exit code 2 does to the event. what names the cause in the error that a
// person sees if the event cannot be blocked.
func (j *judgement) block(what, stderr string) {
	reason := cut(stderr)
	if j.decided && j.reason != "" {
		reason = j.reason
	}
	switch j.rules.exit {
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
	j.v.Decision, j.v.Reason, j.v.UpdatedInput = j.rules.word(), reason, nil
}

// orUnsaid is the reason of a hook that objects, which may give none.
func orUnsaid(reason string) string { return cmp.Or(reason, "a hook objects and gives no reason") }

// failure describes the failure of a hook that has ended.
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

// read takes the members of an object. If it sets err, the object does not count.
func (j *judgement) read(o rawjson.Object) {
	proceed, said := j.truth(o, "continue")
	stopReason := j.text(o, "stopReason")
	systemMessage := j.text(o, "systemMessage")
	decision := j.oneOf(o, "decision", []Decision{approve, Block})
	reason := j.text(o, "reason")
	_, _ = j.truth(o, "suppressOutput")
	_ = j.text(o, "terminalSequence")
	specific := j.object(o, hookSpecificOutput)
	switch stops := said && !proceed; {
	case stops && j.rules.silent:
		j.ignore(o, "continue")
	case stops:
		j.v.Stop, j.v.StopReason = true, cut(stopReason)
	}
	switch {
	case systemMessage == "":
	case j.rules.silent:
		j.ignore(o, "systemMessage")
	default:
		j.v.SystemMessages = append(j.v.SystemMessages, cut(systemMessage))
	}
	j.decide(o, decision, reason)
	// These count inside hookSpecificOutput alone and are often written beside it.
	for _, name := range [...]string{"additionalContext", "permissionDecision", "updatedInput", "updatedToolOutput"} {
		if o.Lookup(name) != nil {
			j.v.Ignored = append(j.v.Ignored, name+" outside of "+hookSpecificOutput)
		}
	}
	j.ignore(o, "terminalSequence")
	j.ignore(o, otherPrompt...)
	if specific != nil {
		j.specific(specific, reason)
	}
}

// otherPrompt are the names under which hooks give another prompt, which no agent takes.
var otherPrompt = []string{"modifiedPrompt", "updatedPrompt"}

// approve is the top-level word for Allow.
const approve Decision = "approve"

// ignore lists those of names that a hook gave.
func (j *judgement) ignore(o rawjson.Object, names ...string) {
	for _, name := range names {
		if o.Lookup(name) != nil {
			j.v.Ignored = append(j.v.Ignored, name)
		}
	}
}

// decide takes the top-level decision.
func (j *judgement) decide(o rawjson.Object, d Decision, reason string) {
	switch {
	case d == approve && j.event == preToolUse:
		j.v.Decision, j.v.Reason = Allow, cut(reason)
	case d == NoDecision, d == approve:
		// No objection.
	case !j.rules.decision:
		j.ignore(o, "decision")
	default:
		j.decided, j.reason = true, cut(reason)
		if j.rules.exit == blocksFeedback {
			j.v.Feedback = append(j.v.Feedback, orUnsaid(j.reason))
			return
		}
		j.deny(j.reason)
	}
}

// specific takes the object that belongs to one event. reason is the top-level
// one.
func (j *judgement) specific(o rawjson.Object, reason string) {
	name := j.text(o, "hookEventName")
	switch {
	case j.err != nil:
		return
	case name == "":
		j.err = fmt.Errorf("%s has no hookEventName, want %q", hookSpecificOutput, j.event)
		return
	case name != j.event:
		j.err = fmt.Errorf("%s is for the event %q, want %q", hookSpecificOutput, cut(name), j.event)
		return
	}
	if text := j.text(o, "additionalContext"); text != "" {
		if j.rules.context {
			j.v.Context = append(j.v.Context, cut(text))
		} else {
			j.ignore(o, "additionalContext")
		}
	}
	j.permit(o, reason)
	if j.event == permissionRequest {
		j.permissionRequest(o)
	}
	for _, name := range [...]string{"updatedMCPToolOutput", "updatedToolOutput"} {
		if !j.rules.output {
			j.ignore(o, name)
		} else if o.Lookup(name) != nil {
			j.v.UpdatedOutput = value(o, name)
		}
	}
	j.ignore(o, otherPrompt...)
	// These mean something to Claude Code alone.
	j.ignore(o, "sessionTitle", "suppressOriginalPrompt", "initialUserMessage", "watchPaths", "reloadSkills", "classifierContext",
		"retry", "displayContent", "worktreePath", "action", "content", "updatedPermissions")
}

// permit takes the decision on a tool call and its new input.
func (j *judgement) permit(o rawjson.Object, reason string) {
	if j.rules.permission == nil {
		j.ignore(o, "permissionDecision", "updatedInput")
		return
	}
	d := j.oneOf(o, "permissionDecision", j.rules.permission)
	reason = cut(cmp.Or(j.text(o, "permissionDecisionReason"), reason))
	if input := j.object(o, "updatedInput"); input != nil && j.event == preToolUse {
		j.v.UpdatedInput = value(o, "updatedInput")
	}
	switch d {
	case NoDecision:
	case Deny:
		j.decided, j.reason = true, reason
		j.deny(reason)
	default:
		j.decided, j.reason = false, ""
		j.v.Decision, j.v.Reason = d, reason
	}
	if j.v.Decision == j.rules.word() {
		j.v.UpdatedInput = nil
	}
}

// permissionRequest takes the decision on a permission dialog.
func (j *judgement) permissionRequest(o rawjson.Object) {
	decision := j.object(o, "decision")
	if decision == nil {
		return
	}
	behavior := j.oneOf(decision, "behavior", []Decision{Allow, Deny})
	message := cut(j.text(decision, "message"))
	interrupt, _ := j.truth(decision, "interrupt")
	input := j.object(decision, "updatedInput")
	switch behavior {
	case Allow:
		j.v.Decision, j.v.Reason = Allow, message
		if input != nil {
			j.v.UpdatedInput = value(decision, "updatedInput")
		}
	case Deny:
		j.deny(message)
		j.v.Stop = j.v.Stop || interrupt
	}
	j.ignore(decision, "updatedPermissions")
}

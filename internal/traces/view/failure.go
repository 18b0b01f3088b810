package view

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// wrapping are what Claude Code puts around an error.
var wrapping = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// standing is what agents say after each denial by the user; what the user said follows.
var standing = pattern.Of(`(?s)^(The user doesn't want to (?:proceed with this tool use|take this action right now))\. .*?(?:the user said:\s*(.*)|$)`)

// passing begins or ends a line about something that went well, or that only leads to a
// failure: a test that passed, a count of none, a frame of a stack, an exit code.
var passing = pattern.Of(`^(✓|√|✔|ok\b|PASS\b|--- PASS|--- SKIP|=== |at |(?i:(command failed with |process exited with )?(exit )?(code|status):? \d+\.?$)|Traceback \()|(\.\.\. ok|\bPASSED\b.*)$|(?i:\b(0|no) (errors?|fail(ed|ures?|ing))\b|\b(errors?|fail(ed|ures?)): 0\b)`)

// done is a line that says that all is well: it is no failure, even if nothing else is there.
var done = pattern.Of(`^(?i:\W*(all )?(done|ok|success(ful(ly)?)?|finished|completed?)( in [0-9.]+ ?\w+)?\W*)$`)

// failureMarks are what tells the line with the failure, the surest first.
var failureMarks = []func() *regexp.Regexp{
	pattern.Of(`^(panic|fatal( error)?|FATAL)\b|\bpanicked at\b`),
	pattern.Of(`^(--- FAIL|FAIL\b.|FAILED\b|✗|✕|✘|×|not ok\b)|\bFAILED\b`),
	pattern.Of(`(?i)\berrors?\b|\bexception\b|[a-z](Error|Exception)\b`),
	pattern.Of(`(?i)not found|no such|cannot|can't|could not|denied|refused|timed? ?out|unable to|invalid|undefined|unexpected|\bfail(ed|ures?|s|ing)?\b`),
}

// FailureLine returns the line of a failure's message that says what failed, safe for a
// terminal: that of a failed test, a panic or an error, else the last one.
func FailureLine(message string) string {
	message = strings.TrimSpace(wrapping.Replace(message))
	if m := standing().FindStringSubmatch(message); m != nil {
		message = cmp.Or(strings.TrimSpace(m[2]), m[1])
	}
	best, rank := "", len(failureMarks)+1
	last := ""
	for l := range strings.Lines(message) {
		if l = strings.TrimSpace(l); l == "" || done().MatchString(l) {
			continue
		}
		last = l
		if passing().MatchString(l) || !strings.ContainsFunc(l, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			continue
		}
		at := 0
		for at < len(failureMarks) && !failureMarks[at]().MatchString(l) {
			at++
		}
		if at < rank || at == rank && at == len(failureMarks) {
			best, rank = l, at
		}
	}
	return line(cmp.Or(best, last))
}

// Who may deny a call.
const (
	ByYou  = "you"
	ByHook = "a hook"
	ByRule = "a rule"
)

var (
	hookDenies = pattern.Of(`(?i)\bhook\b`)
	// userDenies is all that agents say if the user gave no reason.
	userDenies = pattern.Of(`(?i)^[^:]*\b(reject|den(y|ied)|cancel|interrupt|declin|refus|was asked)[^:]*$|^\[operation cancelled\] reason: user [^:]*$`)
	feedback   = pattern.Of(`(?s)^The user rejected permission [^:]*feedback: (.*)$`)
	ruleDenies = pattern.Of(`(?i)\b(rule|policy|sandbox|settings|permission mode)\b|^Permission to use .* (has been|was) denied|haven't granted|blocked`)
)

// DeniedBy returns who denied a call, and the reason, "" if it is known that a person did
// and gave none.
func DeniedBy(call *tracepb.Span) (who, reason string) {
	f := step.Of(call).Failure()
	return deniedBy(step.Of(call).DeniedBy(), f.Kind, f.Message)
}

// denied says who denied a call and why.
func denied(who, why string) string {
	if why != "" {
		why = ": " + why
	}
	return "denied by " + who + why
}

// Reason is why a call failed, or who denied it and why; "" if neither is known.
func Reason(c *store.Call) string {
	switch {
	case c.Status == otelmap.EndDenied:
		_, why := deniedBy(c.DeniedBy, c.ErrorType, cmp.Or(c.Message, c.Error))
		if why == line(c.DeniedBy) {
			why = ""
		}
		return denied(Denier(c), why)
	case c.Status.Bad():
		return cmp.Or(FailureLine(c.Error), termtext.Line(c.ErrorType))
	}
	return ""
}

// Denier names who denied a call: you, one of your hooks, or a rule; "" if it was not.
func Denier(c *store.Call) string {
	if c.Status != otelmap.EndDenied {
		return "" // most calls: their texts need no look
	}
	switch who, _ := deniedBy(c.DeniedBy, c.ErrorType, cmp.Or(c.Message, c.Error)); {
	case c.DeniedBy != "":
		return who + ": " + line(c.DeniedBy)
	case c.ErrorType == otelmap.ErrorToolCancelled:
		return who + ", by an interrupt"
	default:
		return who
	}
}

func deniedBy(hook, kind, message string) (who, reason string) {
	if hook != "" {
		return ByHook, cmp.Or(FailureLine(strings.TrimPrefix(message, "denied by "+hook+": ")), line(hook))
	}
	who, reason = ByYou, FailureLine(message)
	cancelled := kind != otelmap.ErrorToolDenied
	if m := standing().FindStringSubmatch(wrapping.Replace(message)); m != nil {
		reason = line(strings.TrimSpace(m[2]))
	} else if m := feedback().FindStringSubmatch(message); m != nil {
		reason = line(strings.TrimSpace(m[1]))
	} else if !cancelled && hookDenies().MatchString(message) {
		who = ByHook
	} else if !cancelled && ruleDenies().MatchString(message) {
		who = ByRule
	} else if userDenies().MatchString(message) {
		reason = ""
	}
	return who, reason
}

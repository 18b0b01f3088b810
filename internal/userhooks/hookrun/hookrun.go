package hookrun

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// Event is one event in Claude's form.
type Event = translate.Event

// OnError says what happens to an event that hooks can deny and did not answer. The
// zero value is OnErrorLimits.
type OnError string

// The choices.
const (
	// OnErrorLimits denies a PreToolUse event whose hooks did not finish for want of
	// resources or of time for all of them, or whose user's file cannot be opened. A hook that failed, that exceeded its own
	// time limit, or whose program is missing denies nothing, as in Claude Code.
	OnErrorLimits OnError = "limits"
	// OnErrorAllow denies none of these.
	OnErrorAllow OnError = "allow"
	// OnErrorDeny denies in all of these cases, prompts included, and a call whose
	// matcher cannot be evaluated.
	OnErrorDeny OnError = "deny"
)

// Runner runs handlers. The zero value is usable.
type Runner struct {
	// Dir is where the hooks run, ProjectDir their CLAUDE_PROJECT_DIR.
	Dir, ProjectDir string
	// Session is the id of the events' session.
	Session    string
	Home, GOOS string
	// Env is the hooks' environment, to which the runner adds.
	Env []string
	// EnvFile is their CLAUDE_ENV_FILE on events that have one.
	EnvFile string
	// DefaultTimeout is the time limit of a handler without one; 0 means 60 s.
	DefaultTimeout time.Duration
	// Budget is the time for all of them together; 0 means no limit.
	Budget time.Duration
	// StrictExit makes every exit code other than 0 block.
	StrictExit bool
	// OnError says what happens to an event that hooks did not answer.
	OnError OnError
	// Claim reports whether a once handler of this key may run; nil means yes. If so, begun
	// is called with true when it has started, or with false if it could not be.
	Claim func(ctx context.Context, key string) (begun func(started bool), may bool)
	// Post sends the request of an http handler, as hookhttp.Client does. It must be
	// set if there are such handlers.
	Post Post
	// Conditions decide what names alone do not.
	Conditions Conditions
	// Host is that of plain.Scope. It must be set if a handler's rule is on a host.
	Host func(address string) (string, error)
	// Trace is called for each decision; nil means no calls.
	Trace func(format string, args ...any)
}

// Conditions read the matchers that are expressions, and the rules of "if", as package
// hookmatch does. They must be set if there are such handlers.
type Conditions struct {
	Matcher func(event, text string) (plain.Matcher, error)
	Rule    func(text string) (fits func(plain.Scope, plain.Call) (ok bool, why string), err error)
}

// Post sends body to url and returns the answer, at most the given number of bytes.
// An error with a status means that the answer is incomplete.
type Post func(ctx context.Context, url string, header map[string]string, body []byte, most int64) (status int, answer []byte, err error)

// Run is one run of a handler.
type Run struct {
	Handler hookfile.Handler
	// Event is the index of the event that it ran for.
	Event    int
	Started  time.Time
	Duration time.Duration
	// Output is the handler's; an async handler has none.
	Output verdict.Output
	// Async reports that Run did not wait for it.
	Async bool
	// Err is why it could not be started, or another fault.
	Err     string
	Verdict verdict.Verdict
	// Doubt is why it ran although it is not known whether its matcher fits; mostly
	// empty.
	Doubt string

	event Event
	// alone reports that no other handler ran beside it.
	alone bool
	// exhausted is that of the outcome.
	exhausted bool
	// begun ends the claim of a once handler; nil for another one.
	begun func(started bool)
}

// Result is the result of all handlers for all events.
type Result struct {
	// Runs are in the order of events, and of handlers within one.
	Runs []Run
	// Verdicts has one entry for each event.
	Verdicts []verdict.Verdict
}

// Match says whether a handler runs for an event, and why.
type Match struct {
	Handler hookfile.Handler
	Event   int
	Matched bool
	// Why is for people: "matcher \"Edit|Write\" fits Write".
	Why string

	// err is what leaves it undecided, doubt what would if the hook did not run then.
	err   error
	doubt string
}

// The events that can be denied.
const (
	preToolUse = "PreToolUse"
	userPrompt = "UserPromptSubmit"
)

// outcome is the result of a handler. note describes another fault.
type outcome struct {
	verdict.Output
	note string
	// exhausted reports that there were no resources to start the handler.
	exhausted bool
	// tooLong reports a verdict that is longer than maxOutput.
	tooLong bool
	// late reports that this program noticed the time limit late, and does not know
	// whether the handler was in time.
	late bool
	// cancelled reports that ctx was cancelled, panicked a fault of this program.
	cancelled, panicked bool
}

// failure is the outcome of a handler that could not be run.
func failure(err error) outcome {
	return outcome{Output: verdict.Output{Failed: true, Stderr: err.Error()}, exhausted: Exhausted(err)}
}

// begins reports whether a text may be the beginning of a verdict.
func begins(text string) bool {
	text = strings.Trim(text, " \t\r\n\ufeff")
	return text == "" || text[0] == '{' && !json.Valid([]byte(text))
}

// problem returns the fault of a run whose verdict is not used.
func (o outcome) problem() string {
	switch {
	case o.TimedOut:
		return "timed out"
	case o.Failed:
		return "failed: " + o.Stderr
	}
	return o.note
}

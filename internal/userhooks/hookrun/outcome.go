package hookrun

import (
	"encoding/json"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/verdict"
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

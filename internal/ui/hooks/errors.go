package hooks

import (
	"errors"
	"fmt"

	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

// Reason is why a request is refused.
type Reason int

// The reasons.
const (
	// Wrong is a request that has no meaning.
	Wrong Reason = iota
	// Unknown names a file, hook or change that does not exist.
	Unknown
	// Stale is about a file that has changed.
	Stale
	// NoCode lacks the code, or has a wrong one.
	NoCode
)

// Error is a request that is refused.
type Error struct {
	Reason Reason
	Text   string
	// Hint says what to do.
	Hint string
}

func (e *Error) Error() string { return e.Text }

// Refused returns an Error for a wrong request.
func Refused(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

func unknown(text string) error { return &Error{Unknown, text, "reload the page"} }

func stale(path string) error {
	return &Error{Stale, path + " has changed since it was shown: nothing was written", "look at the change again"}
}

// refusedField refuses a call that cannot be made up, with the page's names of its members.
func refusedField(err error) error {
	var wrong *sample.FieldError
	if !errors.As(err, &wrong) {
		return Refused("%s", err)
	}
	return Refused("%s", wrong.With(func(f sample.Field) string {
		if f == sample.FieldInput {
			return "arguments"
		}
		return string(f)
	}))
}

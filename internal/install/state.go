package install

import "strings"

// State is how a hook stands in a folder.
type State string

// The states of a hook.
const (
	// StateInstalled is a hook file of hookspan's that works.
	StateInstalled State = "installed"
	// StateOutdated is a hook file of hookspan's that another install would fix.
	StateOutdated State = "outdated"
	// StateOff is a hook file of hookspan's that was switched off in Cline's
	// Hooks tab, which removes the executable bit. The SDK runs it all the same.
	StateOff State = "switched off"
	// StateEdited is a hook file of hookspan's that was changed since, or one of
	// a newer hookspan.
	StateEdited State = "edited"
	// StateForeign is something that is not hookspan's.
	StateForeign State = "not hookspan's"
	// StateMissing is no file at all.
	StateMissing State = "missing"
)

// Line replaces control characters in a name from the file system or from a
// settings file, so that they do not end the line in which it is shown.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, s)
}

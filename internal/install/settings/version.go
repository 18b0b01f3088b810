package settings

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is the version of an agent. The zero Version is an unknown one, which is
// taken to have everything.
type Version [3]int

// String returns the version as in "2.1.329".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v Version) known() bool { return v != Version{} }

// has reports that the version has what came with another.
func (v Version) has(since Version) bool { return !v.known() || slices.Compare(v[:], since[:]) >= 0 }

// parseVersion reads the version that opens a text. It returns the zero Version if
// there is none.
func parseVersion(text string) Version {
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "v"), " ")
	word, _, _ = strings.Cut(word, "-")
	var v Version
	parts := strings.Split(word, ".")
	if len(parts) != len(v) {
		return v
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return Version{}
		}
		v[i] = n
	}
	return v
}

// version asks for the version of the agent. If it is not known although the agent
// could be asked, warning says why.
func (a *Spec) version(ctx context.Context) (v Version, warning string) {
	if a.Version == nil {
		return v, ""
	}
	text, err := a.Version(ctx)
	v = parseVersion(text)
	if err == nil && (text == "" || v.known()) {
		return v, ""
	}
	why := fmt.Sprintf("it said %q", text)
	if err != nil {
		why = err.Error()
	}
	return Version{}, fmt.Sprintf("the version of %s is not known (%s); the hooks are written so that any version runs them", a.Agent.Name, why)
}

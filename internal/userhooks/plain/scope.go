package plain

import (
	"encoding/json"
	"strings"
)

// Scope is where a rule's relative paths begin: Dir is the working directory.
type Scope struct {
	Dir, Project, Home, GOOS string
	// Host returns the host that an address leads to, in the one spelling that the URL
	// standard gives it. If nil, a rule on hosts cannot say no.
	Host func(address string) (string, error)
	// Target returns the path that a path leads to through links, to try a rule on it as
	// well. If nil, links are not followed.
	Target func(path string) string
}

// Call is the call of a tool that a rule is tried on.
type Call struct {
	// Tool is the tool's Claude name, Subjects the names it also goes by.
	Tool     string
	Subjects []string
	Input    json.RawMessage
}

// OnHost reports a permission rule on the host of an address, which takes a Scope's Host
// to judge.
func OnHost(rule string) bool { return strings.HasPrefix(rule, "WebFetch(") }

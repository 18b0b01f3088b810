// Package hookmatch decides which events a Claude-format hook is for: by the
// matcher of its group and the permission rule of its "if". Its functions are
// pure.
//
// A matcher means what it means in Claude Code, JavaScript's regular expressions
// included. An "if" rule is no security boundary: it decides whether a hook is
// worth starting, and where a command cannot be read the rule fits.
package hookmatch

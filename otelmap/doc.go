// Package otelmap turns a session's hook events, and what the host's own files
// add to them, into OpenTelemetry spans.
//
// It is a pure function of its input: the same events, in any order in which
// the host can deliver them and however often they are repeated, give
// byte-equal spans with equal ids. Every span it gives has an end, a parent
// that is among the spans of the run (or the context the run was started in),
// and no negative duration.
//
// It does not promise that a run looks the same before and after it has ended:
// only runs that have ended are meant to be sent.
package otelmap

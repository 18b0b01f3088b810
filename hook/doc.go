// Package hook is the vocabulary the rest of hookspan speaks: what an agent's
// hook reported (Event), what is answered (Reply), and what the agent's own
// files add to that (Transcript).
//
// The package promises that its values carry meaning, not wire forms: a reader
// of an Event never needs to know which host or which version of it sent it.
// Each host's wire format is in a folder below this one. No package here touches
// files, network or clock.
package hook

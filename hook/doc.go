// Package hook is the vocabulary the rest of hookspan speaks: what an agent's
// hook reported (Event), what is answered (Reply), and what the agent's own
// files add to that (Transcript).
//
// The package promises that its values carry meaning, not wire forms: a reader
// of an Event never needs to know which host or which version of it spoke.
// Each host's wire format lives in a folder of its own below this one. Nothing
// here, or there, touches files, network or clock.
package hook

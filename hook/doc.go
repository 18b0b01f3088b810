// Package hook defines what the rest of hookspan works with: what an agent's hook
// reported (Event), what it is answered (Reply), and what the agent's own files add
// (Transcript).
//
// The package promises that its values do not depend on a wire format: code that
// reads an Event need not know which host, or which version, sent it. Each host's
// wire format is in a folder below this one. No package here uses files, network or
// clock.
package hook

// Package verify holds stored traces against what the agent's own files say of the
// same session.
//
// A comparison takes the traces of one session and the agent's files. It compares
//   - every tool call: that it is on both sides and once, its tool, its agent and its
//     status;
//   - every request to the model: that it is on both sides and once, its model, its
//     tokens, its cost and whether it failed;
//   - the order of calls and requests of which one had ended before the other began;
//   - the totals of a trace.
//
// It does not use the mapping that made the spans: what belongs to a trace is decided
// by ids, turns and times. An entry of the files that belongs to no stored trace is
// none of its business, as hookspan may have been installed later, or the trace pruned.
//
// Calls of which the hooks report no id (classic Cline) are compared with the call of
// the same tool that ended nearest; where the files have none, the call is counted as
// not compared.
//
// Check compares sums of whole sessions with package second, which shares no code with
// the agents' readers.
//
// Comparing is pure. Read reads the files.
package verify

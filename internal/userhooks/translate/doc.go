// Package translate converts Cline's events to Claude Code's form, so that hooks
// written for Claude Code understand them, and converts the verdicts of those hooks
// to Cline's form.
//
// [FromCline] names tools and their parameters as Claude Code does, with one event
// for each operation of a call: a call that reads three files is three Read events.
// [Call.Answer] turns one verdict per event into the one reply that Cline takes, and
// reports in words what Cline cannot do. [Call.Rows] are the lines that the event
// adds to a transcript in Claude's form.
//
// The package promises that no payload makes it panic, that every event is one
// JSON object, that the same bytes always give the same events, and that the two
// ends of one tool call carry the same tool_use_id. If it cannot take a call's input
// apart it shows the whole input: a hook that searches the input still finds what it
// searches for. It uses no file, network, environment or clock.
//
// It does not promise that a path is free of symbolic links, that a tool's input
// holds all that Claude Code's own would (Cline does not report why a command is
// run, for example), or that two equal calls of one task without ids are
// distinguished.
package translate

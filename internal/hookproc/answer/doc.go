// Package answer answers Cline with what the user's hooks say: the Claude-format
// hooks of hooks.json files, and the Cline hook that hookspan's has replaced.
//
// The Claude-format hooks run in another program, which is started only if one of
// them may fit the event; a call without hooks pays for one stat per folder. If that
// program fails, the user's settings decide whether a tool call is denied.
//
// A payload above the limit is kept whole for both. If the state folder cannot be
// written to, they get it cut, and the log says so.
package answer

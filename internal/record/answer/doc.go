// Package answer answers Cline with what the user's hooks say: the Claude-format
// hooks of hooks.json files, and the Cline hook that hookspan's has replaced.
//
// Plain Claude-format hooks, commands whose matchers are names, run in this process. All
// others run in another program, as do all hooks for an event that is denied if they cannot
// be run: if that program is killed, this one denies. Nothing is started, and nothing
// run, if no hook may fit the event; a call without hooks pays for one stat per folder.
//
// What plain hooks leave for the log may hold secrets, and this process cannot find them, as
// it links little: hook-runner gets the text on its standard input, removes the secrets and
// writes the log.
//
// A payload above the limit is kept whole for both. If the state folder cannot be
// written to, they get it cut, and the log says so.
package answer

// Package verdict decides what hooks of Claude Code's format say about an event: [Judge]
// returns the verdict of one hook by what it printed and how it ended, [Merge] that of
// all hooks of the event, by the rules of the hooks reference
// (https://code.claude.com/docs/en/hooks) as of version 2.1.295.
//
// Its functions are pure. No output makes them panic. A verdict is what hooks ask for,
// which an agent may not be able to do.
package verdict

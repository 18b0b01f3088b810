// Package userhooks runs the user's Claude-format hooks for one event of
// Cline's: it finds the files that configure them, gives the event Claude's
// form, has the hooks run, and gives their verdict Cline's form.
//
// It promises that a hook of a project runs only where the user trusts that very
// file, that one event runs the hooks once although Cline may report it twice,
// that a text for the model which an event cannot carry is kept for the
// session's next event that can, and that nothing it fails at stops the agent,
// unless the user has asked for that.
//
// It does not promise to hold what Cline cannot do. That, and everything else
// that went wrong, is listed once in the file of problems, which hookspan doctor
// shows.
//
// The hook process links this package, for plain hooks: what takes regular expressions, a
// shell's parser, the mapping to spans or the network comes in as Parts.
package userhooks

// Package bridge is the way hook events take over loopback HTTP: a server that
// takes them, a client that gives them, and the file that takes them where
// nobody listens.
//
// The server speaks what the scripts of the agent-hooks family speak: they post
// an event to /claude-hook or /cline-hook on port 3043 and look at the status
// alone. It promises that a status of 200 means that each sink has the event,
// that an event which comes back by another way is taken once, and that neither
// other machines nor web pages reach it: it listens on loopback addresses only,
// under the names that those have, and refuses requests that a browser makes.
// It never decides anything for an agent.
//
// The file promises that of any number of processes that write at once each
// event is kept, that a reader sees the old file or the new one, and that a file
// which cannot be read is moved aside and never overwritten.
//
// Not promised: protection from other programs of the same machine, which may
// post what they like, and that two equal events without an identity of their
// own, seconds apart, count twice.
package bridge

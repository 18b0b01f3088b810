// Package bridge carries hook events over loopback HTTP: a server that receives
// them, a client that posts them, and a file that keeps them where no bridge
// listens.
//
// The server speaks the protocol of the agent-hooks scripts: they post an event to
// /claude-hook or /cline-hook on port 3043 and check only the status. It promises
// that a status of 200 means that each sink has the event, that an event which
// arrives twice is taken once, and that neither other machines nor web pages
// reach it: it listens on loopback addresses only, under their names, and refuses
// requests that a browser makes. It never decides anything for an agent.
//
// The file promises that every event is kept, however many processes write at once,
// that a reader sees the old file or the new one, and that an unreadable file is
// moved aside and never overwritten.
//
// It does not promise protection from other programs on the machine, which may
// post anything, nor that two equal events without an id that are seconds apart
// count twice.
package bridge

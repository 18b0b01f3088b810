// Package hooksession is what the processes that handle the events of one session
// keep for the user's hooks, and how the hook process finds which program, if any, has
// to run them.
//
// The runner stores a [Summary] of each hooks file without problems: the events, and
// the tools, that may start one of its hooks. Where the summaries rule out an event,
// the hook process starts nothing and keeps the event; the runner takes it before the
// next event that it runs hooks for, so that the session's transcript is whole.
//
// It promises that an event is only ruled out by the summary of the very bytes that
// the file has, and a project's only while the list of trusted files is the same.
// Whatever the runner would report or deny for a file's sake starts the runner.
//
// The hook process links this package for every event, so it imports nothing that
// costs time at start.
package hooksession

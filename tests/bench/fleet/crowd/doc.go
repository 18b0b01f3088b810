// Package crowd plays many developers on one machine. Each has a home folder of
// its own with sessions in it that were recorded of real agents and have got fresh
// ids; what they send is sent by the real `hookspan flush`, a process for each
// delivery, some at once.
//
// It promises that no two sessions of a crowd share a trace, and that a session
// gives the same spans as the recording it was played from. The times of a
// session are those of the recording. The events are put into the spool by
// package spool, in the form the hooks store, and not by a hook process for each:
// what a hook costs its agent is measured elsewhere (docs/results/performance.md).
package crowd

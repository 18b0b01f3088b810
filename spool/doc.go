// Package spool is the append-only, crash-safe log of hook events: one folder
// per session, one record per event. It knows bytes, not events. FORMAT.md in
// this folder specifies the files.
//
// It promises:
//   - A record whose Append returned nil survives the death of any process. It
//     survives a power cut too with Options.Sync, and otherwise from the next
//     Session.Sync on.
//   - Damage affects the records that it touches and no other. A record that is
//     read is the one that was written, as its checksum shows.
//   - Any number of processes may append at once, to one session or to many,
//     while others read and while one removes.
//   - Nothing taken from a payload becomes a path, no symbolic link is
//     followed below the spool's folder, and no special file can block a call.
//
// It does not promise an order between processes beyond that of their appends, nor
// protection from a program of the same user: the checksum finds accidents, not
// forgery. The locks are advisory. Where files cannot be locked, records are stored all
// the same, nothing is removed, and Session.TryLock keeps no other process out.
package spool

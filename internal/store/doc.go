// Package store keeps traces on this machine, in one SQLite file.
//
// It promises:
//   - A request is stored completely or not at all. What UploadTraces has
//     acknowledged survives a crash of the process or the system and a power cut.
//   - Uploading is idempotent: a span is one row, found by its trace and span
//     id. Delivering it again, in any order and from several processes at once,
//     leaves the same rows.
//   - Trace returns the messages that were uploaded. Only bytes that are not
//     UTF-8 are replaced, by U+FFFD, because Protobuf cannot carry them.
//   - A file that is damaged, belongs to another program or was written by a newer
//     hookspan is never changed; the error names it and says what to do.
//   - Prune overwrites what it removes within the file. Of each removed run it
//     keeps the ids, the times, the session and the working directory for a year,
//     so that an import can skip the run.
//
// It does not encrypt: only the owner can read the file, and secrets must have
// been removed before. It is not made for network file systems, where SQLite's
// locks cannot be trusted.
//
// The tables are described in schema.go.
package store

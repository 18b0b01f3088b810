// Package store keeps traces on this machine, in one SQLite file, and shows
// them as text.
//
// It promises:
//   - A batch of spans is stored whole or not at all, and what ExportSpans has
//     acknowledged outlives a crash of the process, of the system and a power
//     cut.
//   - Exporting is idempotent: a span is one row, found by its trace and span
//     id. Delivering it again, in any order and from several processes at once,
//     leaves the same rows.
//   - Nothing that an OTLP exporter would send is lost: Trace gives back spans
//     equal to those that came in, apart from the three points below.
//   - A file that is damaged, of another program or of a newer hookspan is never
//     changed; the error names it and says what can be done.
//   - What Prune removes is overwritten, not merely unlinked, within the file. Of
//     each run that it removed, the ids, the times, the session and the working
//     directory are kept for a year, so that an import can leave the run out.
//   - The text views print no control character, terminal escape or bidirectional
//     override that came from a span.
//
// It does not promise to keep what OTLP itself cannot carry: times are whole
// nanoseconds since 1970 and come back in UTC, bytes that are not UTF-8 come
// back as U+FFFD, and counts of dropped items below zero come back as zero. It
// does not encrypt: the file is readable by its owner alone, and secrets must
// have been removed before. It is not made for network file systems, where
// SQLite's locks cannot be trusted.
//
// The tables are described in schema.go, the form of a stored span and of the
// JSON output in codec.go.
package store

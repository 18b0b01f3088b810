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
//   - Other SQLite programs, and this process, may open the same file at any time. The
//     package never opens and closes it beside SQLite: that would end the locks of the
//     process, and the next program to close the file would delete its log.
//   - Prune, Limit, Remove and Delete overwrite what they remove within the file, its
//     words in the full text included. Of each removed run all but Remove keep the ids,
//     the times, the session and the working directory for a year, so that an import can
//     skip it.
//   - Long work (a removal, Index) is done in turns of a fraction of a second, between
//     which others write. A removed trace is at once in no answer; its spans and words
//     follow, and if that is interrupted, the next removal or Index completes it.
//   - List, Totals, Group and Each answer the same Filter from the same traces: the
//     sums of the groups are the totals. Percentiles are exact.
//   - A search text is never an error of syntax, and finds what an upload has stored,
//     or says that the full text is not complete.
//
// Sums are computed from a digest of each trace, a small value that is stored with
// its spans (digest.go). The full text is made after an upload, by Index (index.go).
// SQLite removes words from it one by one, or notes them as removed and leaves them in
// the file until the index is written anew, which is quicker for many (purgeWords).
// Words are those of Go's letters and digits, without case and accents; a character
// of a script without spaces, such as Chinese, is a word, which a phrase joins. The
// trigram tokenizer would find parts of words, but no Chinese word of two
// characters, and has an entry for each character.
//
// It does not encrypt: only the owner can read the file, and secrets must have
// been removed before. It is not made for network file systems, where SQLite's
// locks cannot be trusted.
//
// The tables are described in schema.go.
package store

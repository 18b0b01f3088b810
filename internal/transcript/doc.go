// Package transcript reads what an agent keeps in its own files about a session:
// the requests it made to language models with their tokens and cost, the user's
// prompts and the tools' results. Hook payloads have none of the first and only
// part of the rest.
//
// Files finds, opens and bounds; an Agent knows one agent's places and formats.
// A new agent needs a package below this one with an Agent value: Read, which
// finds a session by its id and reads it, and Sessions, which lists the ids. It
// opens files with Files.Open, Files.Stream or Small, checks every path element
// that comes from a file with CheckID, and skips rows it does not know. If the files
// have a row on each line, Log reads them, bounds what is kept, and notes what is
// damaged; the package has a Row and adds one row after the other.
//
// The package promises:
//   - Reading twice gives the same calls under the same ids; a later read adds
//     to an earlier one.
//   - A request whose row is written again, with the same id, time and tokens, is one request.
//   - An id from a hook payload never leads outside the folders the agents
//     write. A path from one (Query.Path) is read if it is a regular file named
//     after the session.
//   - Large files are streamed: memory follows the largest single message, the
//     calls and the texts that are kept, not the file.
//   - One reading of a session reads up to Files.MaxBytes of all its files and
//     takes up to Files.MaxTime. What is beyond that, and what is not a regular
//     file, is left out, and the error returned with the transcript is ErrBeyond.
//   - Nothing is written, locked or left open.
//
// It does not promise that the files are there (ErrNotFound) or complete
// (hook.Transcript.Pending).
package transcript

// Package llmusage reads what an agent keeps in its own files about a session:
// the requests it made to language models with their tokens and cost, the
// user's prompts and the tools' results. Hook payloads say none of the first
// and only part of the rest.
//
// Cline keeps these files in two forms. The classic form is one folder per
// task in the editor's storage (ui_messages.json and its neighbours); the SDK
// form is one folder per session below ~/.cline (a manifest and one
// messages file per agent). Finder knows where both may lie.
//
// The package promises:
//   - Sums over Transcript.Calls equal what Cline itself shows for the same
//     files, deleted requests and subagents included.
//   - Reading twice gives the same calls under the same ids; a later read adds
//     to an earlier one.
//   - An id from a hook payload never leads outside the folders Cline writes.
//   - Large files are streamed: memory follows the largest single message and
//     the texts that are kept, not the file.
//   - Nothing is written, locked or left open.
//
// It does not promise that the files are there (ErrNotFound), that they are
// complete (Transcript.Pending), or that a request's end is exact: where Cline
// recorded none, the next thing it showed stands in.
package llmusage

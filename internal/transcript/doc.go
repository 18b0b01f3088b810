// Package transcript reads what an agent keeps in its own files about a session:
// the requests it made to language models with their tokens and cost, the
// user's prompts and the tools' results. Hook payloads say none of the first
// and only part of the rest.
//
// Cline keeps these files in two forms. The classic form is one folder per
// task in the editor's storage (ui_messages.json and its neighbours); the SDK
// form is one folder per session below ~/.cline (a manifest and one
// messages file per agent). Claude Code keeps one transcript per session and per
// subagent below ~/.claude/projects. Finder knows where all of them may lie.
//
// The package promises:
//   - Sums over Transcript.Calls equal what Cline itself shows for the same
//     files, deleted requests and subagents included, and what Claude Code
//     notes of a session, but for the limits of prices.json (see below).
//   - Reading twice gives the same calls under the same ids; a later read adds
//     to an earlier one.
//   - An id from a hook payload never leads outside the folders the agents
//     write. A path from one (ClaudeQuery.Path) is read if it is a regular
//     file named after the session.
//   - Large files are streamed: memory follows the largest single message, the
//     calls and the texts that are kept, not the file. Claude Code's are read from where
//     the news begin, so that the cost follows what is new.
//   - One reading of a session reads up to Finder.MaxBytes (1 GiB) of all of its
//     files, takes up to Finder.MaxTime (30 s), and takes in up to a million rows
//     of Claude Code. What is beyond that, and what is no regular file, is left
//     out, and the error beside the transcript is ErrBeyond and says so.
//   - Nothing is written, locked or left open.
//
// Claude Code's costs are tokens at list price where a row gives no cost. The
// dearer tier of requests over 200,000 tokens, the fast mode and searches on
// the web are not modelled, and a model that is not in prices.json has no cost.
// A fork's own sum counts the answers it has copied; they are the other
// session's calls here.
//
// It does not promise that the files are there (ErrNotFound), that they are
// complete (Transcript.Pending), or that a request's end is exact: where Cline
// recorded none, the next thing it showed stands in.
package transcript

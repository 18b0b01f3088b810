// Package clinecli drives the real Cline command line programs from npm, end to
// end and without a network: CLI 2 (the classic core) and CLI 3 (the SDK core).
// It is what tests/internal/rig leaves open: the programs, their home folders,
// their hooks and their own files. What that package promises holds here.
//
// Observed:
//
//   - CLI 2 with -y fires TaskComplete and TaskCancel together at the end, in either
//     order.
//   - CLI 2 joins the answers of several hooks of an event without blanks; answers that
//     only allow the call leave the chat row at "running".
//   - The classic core stops dead on a PreToolUse hook only if the model's usage arrives
//     after the tool has run, as with real models: hence the Tail of scripted turns.
//   - Over ACP (--acp) a tool is denied without a terminal; the test is the editor. CLI 3
//     signs in for it only by CLINE_API_KEY, CLINE_PROVIDER and CLINE_MODEL.
//     --auto-approve false also denies: "requires approval in a TTY session".
//   - CLI 3's --id needs a terminal; ACP's session/load resumes a session without one, and
//     fires TaskStart, not TaskResume.
//   - On Ctrl-C CLI 3 calls SessionShutdown with empty standard input.
package clinecli

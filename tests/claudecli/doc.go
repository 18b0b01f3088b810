// Package claudecli drives the real Claude Code command line program from npm,
// end to end and without a network. It is what tests/internal/rig leaves open:
// the program, its home folder, its hooks and what is compared with the model's
// own log. What that package promises holds here.
//
// The program is driven on linux/amd64 only. The log of its scripted model is the reference
// for ids, tokens, texts and results.
//
// Observed:
//
//   - With -p Claude Code does not wait for StopFailure hooks: it ends, and ends them. The
//     recorder often dies there, and hookspan's hook may; the transcript has the failure.
//   - Hooks of one event run at the same time. The row about a refused stop has the time
//     of the refusing hook's answer, which may be before the other hooks of that Stop
//     start.
//   - Only read-only commands run at the same time; they report PreToolUse and PostToolUse
//     in any order.
//   - -p waits for background subagents, then opens a turn whose prompt is a <task-
//     notification>.
//   - On Ctrl-C it first ends the running command (one to two seconds), fires only
//     SessionEnd and exits with 0.
package claudecli

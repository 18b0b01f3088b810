// Package hookrun runs Claude-format hooks: it finds the handlers that an event
// calls for, runs them side by side within their time limits, and says what they
// decided together.
//
// It promises:
//
//   - A matcher means what it means in Claude Code, JavaScript's regular
//     expressions included. One that cannot be evaluated neither matches nor
//     passes in silence: it is an error among the runs.
//   - Every handler of an event runs to its end, side by side with the others; a
//     verdict never stops one. Verdicts are merged in the order of the
//     configuration, so the same hooks always say the same. Of several events, as
//     of a call that does many things, no further one is begun once one is denied,
//     and their handlers share a few processes per core.
//   - A PreToolUse event that handlers could not be asked about to the end, for
//     want of resources or of time for all of them, is denied, unless OnError says
//     otherwise.
//   - Run returns when the last handler has ended, or shortly (0.5 s) after its
//     time limit; one that cannot be ended is left behind 2 s after that. What a
//     handler has started by then is gone with it. Only what a handler left behind
//     when it ended by itself stays, and only if it holds none of the handler's
//     output.
//   - When the process itself is told to end (ctx) the hooks are stopped in the
//     same way. When it is killed, each hook ends with it on Linux and Windows;
//     what that has started, on Windows alone.
//   - A hook that prints without end, reads nothing or closes its streams early
//     does no harm.
//   - OTEL_*, HOOKSPAN_* and the Infinium secret do not reach a hook.
//
// It does not promise that "if" rules are a wall: as in Claude Code they decide
// whether a hook is worth starting, and where a command cannot be read the hook
// runs. Nor does it isolate hooks from the user's account, whose rights they
// have.
//
// # What was measured on Claude Code
//
// Where the documentation is silent the behaviour of Claude Code 2.1.329 was
// taken as the model. A hook whose main process has ended while something still
// holds its output is waited for until that has been quiet for 500 ms, and what
// comes in that time counts: "sleep 8 & exit 0" delays a tool by 0.55 s instead
// of 0.05 s. Claude Code then leaves the holder with a broken pipe; here it is
// stopped, and the run says so. A rule with a pattern is read by
// the dequoted words of each command. Here "if" matches a little more than
// there: Edit(path) covers all tools that edit files, Write(path),
// WebFetch(domain:host) and Agent(type) work, and wrappers such as timeout are
// looked through, all as the documentation of permission rules has it; that
// version tries none of these for hooks.
package hookrun

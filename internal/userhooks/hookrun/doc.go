// Package hookrun runs Claude-format hooks: it finds the handlers for an event,
// runs them side by side within their time limits, and merges their verdicts.
//
// It promises:
//
//   - A matcher that cannot be evaluated neither matches nor is skipped in
//     silence: it is an error among the runs.
//   - Every handler of an event runs to its end, whatever the others decide.
//     Verdicts are merged in configuration order, so the same hooks always give
//     the same verdict. Of the events of one call, none is begun after a denial,
//     and their handlers share a few processes per core.
//   - A PreToolUse event whose handlers did not all finish, for want of resources
//     or of time for all of them, is denied, unless OnError says otherwise.
//   - Run returns when the last handler has ended, or at most 0.5 s after its time
//     limit; a handler that cannot be killed is abandoned 2 s after that. Every
//     process that a stopped handler has started is stopped with it. A process
//     that an ended handler leaves behind stays only if it holds none of the
//     handler's output.
//   - Cancelling ctx stops the hooks in the same way. If this process is killed,
//     each hook ends with it on Linux and Windows; the processes that the hook has
//     started, only on Windows.
//   - A hook that prints without end, reads nothing or closes its streams early
//     does no harm.
//   - OTEL_*, HOOKSPAN_* and the Infinium secret do not reach a hook.
//
// It does not isolate hooks from the user's account, whose rights they have.
//
// # What was measured on Claude Code
//
// Where the documentation is silent, Claude Code 2.1.329 is the model. If a hook's
// main process has ended while another process holds its output, it waits until
// that was quiet for 500 ms, and what is printed until then counts: "sleep 8 & exit
// 0" delays a tool by 0.55 s instead of 0.05 s. Claude Code then leaves the holder
// with a broken pipe; here it is stopped, and the run says so. A rule with a
// pattern is tried on the dequoted words of each command. Here "if" matches a little
// more: Edit(path) covers all tools that edit files, Write(path), WebFetch(domain)
// and Agent(type) work, and wrappers such as timeout are looked through, all as the
// documentation of permission rules says.
package hookrun

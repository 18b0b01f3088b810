// Package otelmap turns a session's hook events, and what the host's own files
// add to them, into OpenTelemetry spans.
//
// It is a pure function of its input: the same events, in any order in which
// the host can deliver them and however often they are repeated, give
// byte-equal spans with equal ids. Every span it gives has an end, a parent
// that is among the spans of the run (or the context the run was started in),
// and no negative duration.
//
// It does not promise that a run looks the same before and after it has ended:
// only runs that have ended are meant to be sent.
//
// # From an event to a span
//
// The files in the order in which an event meets them, and what each decides:
//
//   - builder.go takes events in the order of the log. items.go decides which are copies of
//     an earlier one, and cuts their texts; hookruns.go keeps the records of the user's hooks
//     until the event is known that they are about.
//   - segments.go decides to which run an event belongs: tasks.go for agents whose runs are
//     tasks, turns.go for those that number their turns, background.go for the ends of
//     subagents. runs.go is a run; carry.go and passed.go are what a later reader of the log
//     must know of it.
//   - files.go decides to which run an entry of the agent's files belongs, by the times in
//     window.go.
//   - join.go joins the run with these entries, when it has ended or is looked at. It decides
//     when the run began and ended, and how, and in this order what the files below do:
//   - agents.go decides which agents worked in the run and, when their calls are known, which
//     call started each.
//   - requests.go decides which requests they made and, when the calls are known, what each
//     request answers and asks for.
//   - assign.go decides what belongs to one call: its start, its end, the question about it, and
//     its result in the files. calls.go finds its time, its span and the script that
//     made it, outcome.go how it ended.
//   - evidence.go decides what is not known of the run.
//   - Each of them plans the spans of what it has found: ids, parents and times. spans.go gives
//     their messages, each when it is asked for. They decide nothing:
//     root.go writes those of agents, tools.go those of calls, llm.go and messages.go those of
//     requests, with folders.go, hookruns.go, attrs.go, arguments.go and ids.go.
//
// names.go has the names of attributes. Of what has been written, narrow.go, limits.go and
// latest.go make other forms, and ends.go names how things ended. spanfor.go finds the
// span of an event whose run is still open.
package otelmap

// Package agentfiles reads what an agent's files say of requests, calls, prompts and turns, for
// verify to compare the store with. It shares no code with package transcript, whose
// readers it checks: what both get wrong, no comparison finds.
//
// It reads every file below the agent's folders whatever its name, and takes rows as
// JSON. Of them it keeps the ids of requests with their last tokens, the ids of calls
// with their tools and what their results say, whose both are, where a person typed a
// prompt, and how the turns ended. What several files of a session have counts once; what several
// sessions' files have is of each of these until Settle leaves it to one.
//
// What is no row is listed too, with its place and the reason. Rows, items and parts of
// kinds that are in no list of known ones are counted by their kinds.
package agentfiles

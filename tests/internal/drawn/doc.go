// Package drawn puts real agents through sessions that are drawn at random: tools that
// work, fail and are denied, several at once, subagents, requests that are refused or
// broken off and tried again, interrupts, outputs that look like something else, and
// further prompts in new processes.
//
// What an agent does about a refusal is its own affair, so the truth of a session is
// the script and the log of the model that played it: which requests were answered, what
// they cost and asked for, and how each prompt ended. It is compared with the traces that
// came of the hooks and with those that an import makes of the agent's files, each in the
// form of a Story. For every session the truth is also changed in each way there is, and
// the comparison must find the change.
//
// A session depends on its seed alone. The agents' packages have the tests; make soak
// draws many.
package drawn

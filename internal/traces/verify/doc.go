// Package verify holds stored traces against what the agent's own files say of the
// same session.
//
// Package agentfiles reads the files; the comparison is pure. It compares
//   - every tool call: that it is on both sides and once, its tool, its agent and its
//     status, and the order of calls of which one had ended before the other was asked for;
//   - every request to the model: that it is on both sides and once, its model, its agent,
//     its tokens, whether it failed, and its cost where the files have one;
//   - the prompts, in their order, by their beginnings;
//   - the turns: that each has one run, or parts that follow each other, and how it ended;
//   - the sums of tokens and the numbers of calls.
//
// Calls and requests are compared by their ids, those that have none on one side by their tool or
// their tokens. What an agent's files cannot show is not compared: outcomes.txt lists how they show
// outcomes, and a status that only the words of a result say is not known. What they say of a time
// before the first trace counts unless the store has removed traces of the session.
package verify

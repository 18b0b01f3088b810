// Package hookscli runs the same Claude-format hooks under the real Claude Code
// and, by way of hookspan, under the real Cline CLI 2 and CLI 3, and compares
// what became of it.
//
// A row of the table is a hook and an action: "exit 2 on a command". Every host
// gets all hooks of the table in its own file (Claude Code in its settings.json,
// Cline in hooks.json) and a scripted model that calls its own tool for the
// action. What Claude Code then did is what the hooks mean; what Cline did has
// to be the same, but for what the row names as beyond that host.
//
// Compared are: what the action left behind, which texts of the hook reached the
// model, whether the agent stopped, and what the hook was given on its standard
// input. On Cline the trace is compared too.
//
// What the packages clinecli and claudecli promise holds here.
package hookscli

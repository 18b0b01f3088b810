// Package cline reads what Cline writes to its hooks and writes what Cline
// reads from them.
//
// Three wire forms are in use. Neither the version nor the installation shows which
// one a payload has, so its shape decides:
//
//   - classic: the extension up to 4.0.x, the legacy bundle of 4.1.x, CLI 2.x.
//     PascalCase hook names, proto3 JSON with default values left out.
//   - next: the SDK bundle inside the editor. As classic, but the model is
//     always "unknown", the task is a conversation ("conv_...") and results of
//     tools are hidden behind "[object Object]".
//   - sdk: CLI 3.x and programs on the SDK. snake_case hook names, plain JSON,
//     tool call ids, agents and exact times.
//
// The field names of Cline's published documentation and of older connectors
// ("tool", "durationMs", ISO times beside PascalCase names) are read as well.
//
// The package promises that no payload makes it panic or overflow the stack,
// that the same bytes always give the same events, that the two ends of one
// tool call have byte-equal inputs, and that [Peek] and [Decode] name the same
// session. Every text of an event is valid UTF-8. It touches no file, network,
// environment or clock.
//
// It does not promise to sort events, to pair the ends of a tool call or to drop
// repeated events; that needs more than one event. Object keys match in their exact
// case, and of equal keys the last one counts, as in JavaScript.
package cline

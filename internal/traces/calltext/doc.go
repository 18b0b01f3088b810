// Package calltext finds the whole texts of tool calls: a span has previews of
// them, the agent's files and the spool have the rest.
//
// It promises:
//   - A text is from the call that the span is about. A call without an id is
//     matched by its tool, its time and the preview of its result; if no record
//     fits, there is no text rather than another call's.
//   - Every text has been redacted, has at most MaxText bytes and names its source.
//   - Nothing is written.
//
// Texts are as hostile as the programs that wrote them; the caller makes them safe
// to print.
package calltext

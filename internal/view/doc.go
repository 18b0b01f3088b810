// Package view presents stored traces to people: a trace as rows, and rows and
// summaries as text for a terminal.
//
// Rows is a pure function of a trace. Tree and List print no control character,
// terminal escape or bidirectional override that a span contains.
package view

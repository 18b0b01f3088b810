// Package view says what stored traces mean to people, once for terminal, page, Markdown
// and HTML, which only draw it: a trace as rows, its Header, its Story, its Prompt and
// Answer, the Arguments of a call, what a word names, and sums over what was done. It also
// draws text for a terminal.
//
// Rows is a pure function of a trace. Tree and List print no control character,
// terminal escape or bidirectional override that a span contains.
package view

// Package step reads spans back: what a span of otelmap means is answered here, once, for all
// that store, show, check or send spans. No other reader names an attribute.
//
// Of makes nothing but a view of a span. Each part is computed when it is asked for, so that a
// sum over a million spans builds no texts. A reader that decodes only some attributes says
// which parts it reads, and NewSkimmer keeps exactly their keys: a part that it did not name
// reads as absent.
//
// All functions are pure. They accept spans of other programs and the zero value of every
// field. Times are UTC, and the zero time if the span has none; a figure that is negative or
// not finite is not known.
package step

// Package deliver sends sessions from the spool to the destinations: it reads new
// events, maps them to spans, removes secrets and passes the spans to each
// destination's client. It is the only package that acknowledges.
//
// It promises that every span of an ended run reaches each destination at least
// once, always with the same ids, however often the destination or this process
// fails: a position moves only after the destination has answered.
// Destinations do not wait for one another: each has its own position, lock and
// next try.
//
// Besides the spool, Fill sends traces that are stored already, and Forget takes
// deleted ones out of what waits.
//
// It does not promise exactly once: if a process is killed after a destination's
// answer and before the position is stored, those spans are sent again.
package deliver

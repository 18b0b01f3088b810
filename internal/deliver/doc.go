// Package deliver takes sessions from the spool to the destinations: it reads
// what is new, maps it to spans, removes secrets and hands the spans to each
// destination's exporter. It is the only package that acknowledges.
//
// It promises that every span of a run that has ended reaches each destination
// at least once, always with the same ids, however often the destination or
// this process fails: a position moves only after the destination has answered.
// Destinations do not wait for one another: each has its own position, lock and
// next try.
//
// It does not promise exactly once: a process that is killed between a
// destination's answer and the note of it sends those spans again.
package deliver

// Package faultserver is what the test servers for traces have in common: an
// HTTP server whose answers follow a script, with knobs for the faults of
// networks and services.
//
// A server for one protocol puts its own types in: A is the form in which its
// tests write an answer, R is what it reports of a request it saw. It turns the
// first into an Answer, which is the form that goes out.
//
// The server promises that nothing in it waits for time to pass unless a Delay
// says so, that requests are chosen answers for one at a time and in the order
// in which they are kept, and that Close leaves nothing of it running.
//
// It does not promise the order of requests that arrive at the same time, nor
// that a client sees a closed connection as anything more than that: whether it
// reads an end or a reset is the system's affair.
package faultserver

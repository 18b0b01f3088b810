// Package infiniumtest is a stand-in for Infinium's service with knobs for its
// faults: tests and demonstrations send to it what would go to the real one.
//
// The server checks what the documents of the service demand (credentials,
// required members, limits) and keeps every request it saw. It promises that
// nothing in it waits for time to pass unless a Response says so: a hanging
// answer ends when it is released, when the client goes away or when the server
// is closed.
//
// What the documents leave open is not promised to match the real service: the
// wording of its errors, the form of its ids, and how strict it is with members
// it does not know.
package infiniumtest

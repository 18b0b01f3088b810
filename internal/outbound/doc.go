// Package outbound makes the HTTP requests of this module: to destinations,
// to the user's http hooks and to bridges.
//
// It promises that no request outlives its context, or its time limit where it
// has one, whatever the server answers: 101 Switching Protocols is an error,
// interim answers and headers together are bounded, the body is closed when the
// context ends and is read up to a limit. Redirects are not followed. This
// machine is never reached through a proxy. TLS is 1.2 or newer. Errors say in
// words what is wrong with an address, and hold no credential of the request.
//
// It does not promise anything about what an answer means: its callers read
// that. Nor does it retry, beyond what net/http does for a connection that was
// closed while it was idle.
package outbound

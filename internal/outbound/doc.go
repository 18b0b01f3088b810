// Package outbound makes the HTTP requests of this module: to destinations,
// to the user's http hooks and to bridges.
//
// It promises that no request outlives its context or its time limit, whatever the
// server answers: 101 Switching Protocols is an error, interim answers and headers
// together are bounded, the body is closed when the context ends and is read up to
// a limit. Redirects are not followed. This machine is never reached through a
// proxy. TLS is 1.2 or newer. Errors explain what is wrong with an address, and
// hold no credential of the request.
//
// It does not interpret answers; its callers do. Nor does it retry, except as
// net/http does after a connection was closed while it was idle.
package outbound

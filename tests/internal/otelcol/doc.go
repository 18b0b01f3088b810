// Package otelcol builds the Collector of collector-config/distribution and runs
// it, as many at once as a test or a measurement needs: each is a process of its
// own that can be killed, stopped and started again on the same ports and the
// same files.
//
// Nothing here needs a test: errors are returned, and what has been started is
// ended by its starter. On Linux a Collector also ends with the process
// that started it.
//
// It promises that Start and Restart return only when the Collector answers, or
// with an error that holds the end of its log. It does not promise that no other program
// else takes a port while its Collector is down: Ports keeps other users of this
// package away from it and the system from handing it out, no more.
package otelcol

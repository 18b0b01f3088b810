// Package infiniumexporter is a component of the OpenTelemetry Collector that
// sends traces of coding agents to Infinium (i42m.ai), one Infinium trace for
// each run. README.md describes its settings.
//
// Promised: the spans of a run that come in several requests within the times
// set become one Infinium trace; a request is acknowledged to the Collector's
// queue only when each of its spans was accepted, parked or named in the log;
// what is held in memory is bounded by the queue and by the requests that may
// be on their way at once; a failure on the way to the service, such as a wrong
// key, loses nothing while retries are on and the queue is on disk.
//
// Not promised: that Infinium shows a run once. It has no idempotency key, and
// what this component remembers of what it sent ends with its process. Spans
// that come after their run was sent make a trace of their own: Infinium has no
// way to add to a trace.
package infiniumexporter

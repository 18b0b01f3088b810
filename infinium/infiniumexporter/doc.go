// Package infiniumexporter is a component of the OpenTelemetry Collector that
// sends traces of coding agents to Infinium (i42m.ai), one Infinium trace for
// each run. README.md describes its settings.
//
// Promised: the spans of a run that arrive in several requests within the
// configured times become one Infinium trace; a request is acknowledged to the
// Collector's queue only when each of its spans was accepted, parked or logged as
// dropped; the memory is bounded by the queue and by the requests that may be sent
// at once; a failure to reach the service or to sign in, such as a wrong key, loses
// nothing while retries are on and the queue is on disk.
//
// Not promised: that Infinium shows a run once. It has no idempotency key, and the
// record of accepted spans ends with the process. Spans that arrive after their run
// was sent make a separate trace, because Infinium cannot extend a trace.
package infiniumexporter

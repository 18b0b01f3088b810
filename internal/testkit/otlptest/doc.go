// Package otlptest is an OTLP/HTTP trace receiver with knobs for its faults:
// tests and demonstrations send to it what would go to a real backend.
//
// The server decodes protobuf and JSON, plain and gzip, keeps every request it
// saw and collects the spans it took by trace and span id, with a count of how
// often each came. It promises that nothing in it waits for time to pass: a
// hanging answer ends when it is released, when the client goes away or when
// the server is closed.
//
// It does not promise to check spans as a backend would: whatever decodes is
// taken.
package otlptest

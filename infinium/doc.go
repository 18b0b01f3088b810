// Package infinium sends runs of coding agents to Infinium (i42m.ai), as an
// OTLP client and as an exporter for the OpenTelemetry SDK.
//
// The mapping (schema.go, form.go, run.go, mapping.go, usage.go, session.go,
// encode.go) is a pure function from finished OTLP spans to the trace form that
// Infinium documents for its connectors. Runs sorts spans into runs for callers
// that send them one by one; Session joins the runs of a session for callers that
// want one trace of all its turns. The edge (options.go, client.go, answer.go,
// error.go) sends that form over HTTP.
//
// Promised: one request per run; the same spans always give the same bytes; a
// body never exceeds MaxBodyBytes, and what was left out is counted inside it;
// credentials go to the configured address alone, no redirect is followed, and
// the secret appears in no error and no printed value; every run that was not
// accepted is reported by an *Error that says whether trying again can help.
//
// Not promised: that Infinium shows a run once. It documents no idempotency
// key, so a request whose answer was lost and that is sent again may show
// twice; the tag hookspan_trace_id identifies such copies. Chat spans, notifications,
// notes, permission requests and compactions have no step in
// Infinium's form: their figures go into llm_usage and the tags, their texts are
// not sent.
package infinium

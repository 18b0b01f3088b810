// Package infinium sends runs of coding agents to Infinium (i42m.ai), as an
// OpenTelemetry span exporter.
//
// It has two halves. The mapping (schema.go, group.go, mapping.go, usage.go,
// preview.go, encode.go) is a pure function from finished spans to the trace form
// that Infinium documents for its Cline and Claude Code connectors; runs.go sorts
// spans into runs beforehand, for who sends them one by one, and session.go joins
// the runs of a session, for who wants one trace of all its turns. The edge
// (options.go, exporter.go, answer.go, error.go) sends that form over HTTP.
//
// Promised: one request per run; the same spans always give the same bytes; a
// body never exceeds MaxBodyBytes, and what was left out is counted inside it;
// credentials go to the configured address alone, no redirect is followed, and
// the secret appears in no error and no printed value; every run that was not
// accepted comes back as an *Error that says whether trying again can help.
//
// Not promised: that Infinium shows a run once. It documents no idempotency
// key, so a request whose answer was lost and that is sent again may show
// twice; the tag hookspan_trace_id tells such copies. Chat spans, notifications,
// notes, permission requests and compactions have no step of their own in
// Infinium's form: their figures go into llm_usage and the tags, their texts are
// not sent.
package infinium

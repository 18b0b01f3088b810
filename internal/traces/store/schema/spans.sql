-- origins holds each distinct resource with its instrumentation scope: a
-- ResourceSpans message without spans. spans holds each span's message, with the
-- columns that finding and sorting need. An id is the trace's shifted by 24 bits
-- plus a number in the trace: a stored span that changes gets a new one, so that
-- the ids above traces.indexed are those that the full text does not have. Until
-- version 4 spans had columns that a summary needs, until version 2 JSON.
CREATE TABLE origins (
	id      INTEGER PRIMARY KEY,
	message BLOB NOT NULL UNIQUE
) STRICT;
CREATE TABLE spans (
	id        INTEGER PRIMARY KEY,
	trace     INTEGER NOT NULL REFERENCES traces (id),
	span_id   TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	origin    INTEGER NOT NULL REFERENCES origins (id),
	started   INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	role      INTEGER NOT NULL,
	message   BLOB NOT NULL,
	UNIQUE (trace, span_id)
) STRICT;
CREATE INDEX spans_roots  ON spans (trace, started) WHERE role = 1;
CREATE INDEX spans_origin ON spans (origin);

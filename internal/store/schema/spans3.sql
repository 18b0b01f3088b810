-- origins holds each distinct resource with its instrumentation scope: a
-- ResourceSpans message without spans. spans holds each span's message, with the
-- columns that a summary needs. Until version 2 both held JSON, in a column called
-- body.
CREATE TABLE origins (
	id      INTEGER PRIMARY KEY,
	message BLOB NOT NULL UNIQUE
) STRICT;
CREATE TABLE spans (
	trace       INTEGER NOT NULL REFERENCES traces (id),
	span_id     TEXT NOT NULL,
	parent_id   TEXT NOT NULL,
	origin      INTEGER NOT NULL REFERENCES origins (id),
	started     INTEGER NOT NULL,
	ended       INTEGER NOT NULL,
	role        INTEGER NOT NULL,
	failed      INTEGER NOT NULL,
	model       TEXT NOT NULL,
	input       INTEGER,
	output      INTEGER,
	cache_read  INTEGER,
	cache_write INTEGER,
	cost        REAL,
	message     BLOB NOT NULL,
	PRIMARY KEY (trace, span_id)
) STRICT;
CREATE INDEX spans_roots  ON spans (trace, started) WHERE role = 1;
CREATE INDEX spans_origin ON spans (origin);

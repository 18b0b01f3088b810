-- The runs that Prune has removed, without any text. requests are as in traces, those
-- of the whole trace.
CREATE TABLE removed (
	span_id   TEXT PRIMARY KEY,
	trace_id  TEXT NOT NULL,
	host      TEXT NOT NULL,
	session   TEXT NOT NULL,
	directory TEXT NOT NULL,
	started   INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	removed   INTEGER NOT NULL,
	requests  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_session ON removed (session);
CREATE INDEX removed_place   ON removed (directory, started);
CREATE INDEX removed_removed ON removed (removed);

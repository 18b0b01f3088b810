-- A summary of each trace, updated in the transaction that stores its spans.
-- stored is when a span was last stored or changed; version 1 did not have it.
-- facts is what the sums need of all spans, as digest.go describes, before the columns that
-- these do not read; indexed is the id of the newest span in the full text, and waiting is
-- set if newer ones wait for it. Version 4 did not have them, version 5 did not have tool_denials.
-- writes counts the uploads that changed it, from the writes of removals on.
-- trace_id is the task's, as Summary.TraceID describes. Each session has its own task.
-- requests are the keys of the requests to a model, as requests.go describes.
-- folders is a JSON array of the workspace's folders, empty unless it has several.
-- All times are nanoseconds since 1970, 0 if unknown.
CREATE TABLE traces (
	id            INTEGER PRIMARY KEY,
	started       INTEGER NOT NULL DEFAULT 0,
	ended         INTEGER NOT NULL DEFAULT 0,
	facts         BLOB NOT NULL DEFAULT x'',
	trace_id      TEXT NOT NULL UNIQUE,
	host          TEXT NOT NULL DEFAULT '',
	session       TEXT NOT NULL DEFAULT '',
	title         TEXT NOT NULL DEFAULT '',
	model         TEXT NOT NULL DEFAULT '',
	directory     TEXT NOT NULL DEFAULT '',
	folders       TEXT NOT NULL DEFAULT '',
	branch        TEXT NOT NULL DEFAULT '',
	outcome       TEXT NOT NULL DEFAULT '',
	runs          INTEGER NOT NULL DEFAULT 0,
	stored        INTEGER NOT NULL DEFAULT 0,
	writes        INTEGER NOT NULL,
	spans         INTEGER NOT NULL DEFAULT 0,
	tools         INTEGER NOT NULL DEFAULT 0,
	tool_failures INTEGER NOT NULL DEFAULT 0,
	tool_denials  INTEGER NOT NULL DEFAULT 0,
	tools_unknown INTEGER NOT NULL DEFAULT 0,
	waited        INTEGER NOT NULL DEFAULT 0,
	input         INTEGER,
	output        INTEGER,
	cache_read    INTEGER,
	cache_write   INTEGER,
	cost          REAL,
	requests      BLOB NOT NULL DEFAULT x'',
	indexed       INTEGER NOT NULL DEFAULT 0,
	waiting       INTEGER NOT NULL DEFAULT 0,
	evidence      TEXT NOT NULL DEFAULT '',
	missing       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX traces_started ON traces (started, trace_id);
CREATE INDEX traces_session ON traces (session, started, trace_id);
CREATE INDEX traces_outcome ON traces (outcome, started, trace_id);
CREATE INDEX traces_kept    ON traces (max(ended, stored));

-- The traces that were removed and whose spans are still to be overwritten, with how
-- many these are and which of them the full text has, as in traces.
CREATE TABLE IF NOT EXISTS gone (
	trace   INTEGER PRIMARY KEY,
	spans   INTEGER NOT NULL,
	indexed INTEGER NOT NULL
) STRICT;

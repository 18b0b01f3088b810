-- What an import found in the files of a session, so that the next one need not
-- read them again: there, captured and removed count its runs. A row is dropped
-- with any of the session's traces.
CREATE TABLE imports (
	session   TEXT NOT NULL,
	host      TEXT NOT NULL,
	dialect   TEXT NOT NULL,
	stamp     TEXT NOT NULL,
	directory TEXT NOT NULL,
	there     INTEGER NOT NULL,
	captured  INTEGER NOT NULL,
	removed   INTEGER NOT NULL,
	PRIMARY KEY (session, host, dialect)
) STRICT, WITHOUT ROWID;

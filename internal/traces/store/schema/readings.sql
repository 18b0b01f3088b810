-- What a reading of an agent's files noted of each of them, so that one need not read those
-- again that have not changed. A row holds for one version of the program.
CREATE TABLE readings (
	host    TEXT NOT NULL,
	reader  TEXT NOT NULL,
	version TEXT NOT NULL,
	notes   TEXT NOT NULL,
	PRIMARY KEY (host, reader)
) STRICT, WITHOUT ROWID;

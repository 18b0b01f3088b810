-- The imported traces that a destination has not answered for. A row is written in the
-- transaction that stores the trace's spans, before they are sent, and deleted after the
-- answer, or with its trace. place identifies the settings of the import, as
-- config.Fingerprint does: a process with other settings may send to another address.
CREATE TABLE owed (
	trace       INTEGER NOT NULL REFERENCES traces (id),
	destination TEXT NOT NULL,
	place       TEXT NOT NULL,
	PRIMARY KEY (trace, destination)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER owed_removed AFTER DELETE ON traces BEGIN
	DELETE FROM owed WHERE trace = old.id;
END;

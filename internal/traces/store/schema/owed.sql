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

-- less is how much of a trace's texts a destination gets at most, by the settings that it was recorded
-- under. It is written before the trace is stored, for all tasks of one whose id came from outside.
CREATE TABLE less (
	trace_id    TEXT NOT NULL,
	destination TEXT NOT NULL,
	capture     TEXT NOT NULL,
	PRIMARY KEY (trace_id, destination)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER less_removed AFTER DELETE ON traces BEGIN
	DELETE FROM less WHERE trace_id = substr(old.trace_id, 1, 32) AND NOT EXISTS (
		SELECT 1 FROM traces t WHERE t.trace_id >= less.trace_id AND t.trace_id < less.trace_id || 'g');
END;

-- The commits that calls made, from the attributes of the spans.
CREATE TABLE commits (
	id   TEXT NOT NULL,
	span INTEGER NOT NULL REFERENCES spans (id),
	PRIMARY KEY (id, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX commits_span ON commits (span);
CREATE TRIGGER commits_moved AFTER UPDATE OF id ON spans BEGIN
	DELETE FROM commits WHERE span = old.id;
END;
CREATE TRIGGER commits_removed AFTER DELETE ON spans BEGIN
	DELETE FROM commits WHERE span = old.id;
END;

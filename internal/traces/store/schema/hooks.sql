-- The runs of the user's hooks, from the events of the spans.
CREATE TABLE hook_runs (
	span     INTEGER NOT NULL REFERENCES spans (id),
	number   INTEGER NOT NULL,
	started  INTEGER NOT NULL,
	event    TEXT NOT NULL,
	tool     TEXT NOT NULL,
	command  TEXT NOT NULL,
	source   TEXT NOT NULL,
	status   TEXT NOT NULL,
	decision TEXT NOT NULL,
	reason   TEXT NOT NULL,
	took     INTEGER NOT NULL,
	PRIMARY KEY (span, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_runs_started ON hook_runs (started, span, number);
CREATE INDEX hook_runs_denied  ON hook_runs (started, span, number) WHERE decision IN ('deny', 'block');
CREATE TRIGGER hook_runs_moved AFTER UPDATE OF id ON spans BEGIN
	DELETE FROM hook_runs WHERE span = old.id;
END;
CREATE TRIGGER hook_runs_removed AFTER DELETE ON spans BEGIN
	DELETE FROM hook_runs WHERE span = old.id;
END;

-- What was counted for metrics, as Store.Measure describes, which makes these tables. metrics has one row from the first count on:
-- when that was, the id of this store, and how many uploads said less of a trace than was counted.
CREATE TABLE IF NOT EXISTS metrics (
	instance TEXT NOT NULL,
	started  INTEGER NOT NULL,
	shrunk   INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS series (
	id         INTEGER PRIMARY KEY,
	instrument TEXT NOT NULL,
	service    TEXT NOT NULL,
	attributes TEXT NOT NULL,
	counts     BLOB NOT NULL,
	UNIQUE (instrument, service, attributes)
) STRICT;
-- What each trace has added, by the series. agree is 1 if its spans say the same.
CREATE TABLE IF NOT EXISTS counted (
	trace  INTEGER PRIMARY KEY REFERENCES traces (id),
	counts BLOB NOT NULL,
	agree  INTEGER NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS counted_removed AFTER DELETE ON traces BEGIN
	DELETE FROM counted WHERE trace = old.id;
END;
-- What a destination of metrics has acknowledged, and the time of its newest report.
CREATE TABLE IF NOT EXISTS acknowledged (
	place  TEXT NOT NULL,
	series INTEGER NOT NULL REFERENCES series (id),
	counts BLOB NOT NULL,
	PRIMARY KEY (place, series)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
	place TEXT PRIMARY KEY,
	at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

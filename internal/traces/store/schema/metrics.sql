-- What was counted for metrics, as Store.Measure describes, which makes these tables. metrics has one row: the id of this store,
-- since when it counts, how many uploads have added to series, and how many said less of a trace than was counted.
CREATE TABLE IF NOT EXISTS metrics (
	instance TEXT NOT NULL,
	started  INTEGER NOT NULL,
	version  INTEGER NOT NULL,
	shrunk   INTEGER NOT NULL
) STRICT;
INSERT INTO metrics SELECT lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' ||
	substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))), ?, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM metrics);
-- key is a hash of the three texts, by which a series is found faster.
CREATE TABLE IF NOT EXISTS series (
	id         INTEGER PRIMARY KEY,
	key        INTEGER NOT NULL,
	instrument TEXT NOT NULL,
	service    TEXT NOT NULL,
	attributes TEXT NOT NULL,
	counts     BLOB NOT NULL,
	UNIQUE (instrument, service, attributes)
) STRICT;
CREATE INDEX IF NOT EXISTS series_key ON series (key);
-- What each trace has added, by the series. agree is 1 if its spans say the same.
CREATE TABLE IF NOT EXISTS counted (
	trace  INTEGER PRIMARY KEY REFERENCES traces (id),
	counts BLOB NOT NULL,
	agree  INTEGER NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS counted_removed AFTER DELETE ON traces BEGIN
	DELETE FROM counted WHERE trace = old.id;
END;
-- What a destination of metrics has acknowledged, the time of its newest report, and the version of which it has all.
CREATE TABLE IF NOT EXISTS acknowledged (
	place  TEXT NOT NULL,
	series INTEGER NOT NULL REFERENCES series (id),
	counts BLOB NOT NULL,
	PRIMARY KEY (place, series)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
	place   TEXT PRIMARY KEY,
	at      INTEGER NOT NULL,
	version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the limit of the store's size has removed.
CREATE TABLE removals (
	traces INTEGER NOT NULL,
	last   INTEGER NOT NULL
) STRICT;
INSERT INTO removals VALUES (0, 0);

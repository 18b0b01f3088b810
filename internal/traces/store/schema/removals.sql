-- What the limit of the store's size has removed. writes is the largest of the traces that were
-- removed in any way: one that is stored again is no version again that it was before.
CREATE TABLE removals (
	traces INTEGER NOT NULL,
	last   INTEGER NOT NULL,
	writes INTEGER NOT NULL
) STRICT;
INSERT INTO removals VALUES (0, 0, 0);

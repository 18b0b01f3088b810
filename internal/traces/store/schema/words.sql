-- The words of each span, by its id. index.go makes them, so that the tokenizer has
-- only spaces to look for. It has no texts of its own: a removed span's words are
-- taken out by naming them again, which secure-delete does at once and not when
-- parts of the index are merged.
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', columnsize = 0, tokenize = 'ascii');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
-- Merging twice as many parts at once as SQLite does writes each word less often.
INSERT INTO words (words, rank) VALUES ('automerge', 8);
CREATE INDEX traces_waiting ON traces (id) WHERE waiting = 1;
-- The tables of letters that these words were made by.
CREATE TABLE letters (version TEXT NOT NULL) STRICT;

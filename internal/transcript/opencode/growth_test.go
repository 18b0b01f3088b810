package opencode_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// BenchmarkForks reads forks of a session of ten messages, beside twenty times as many of others.
func BenchmarkForks(b *testing.B) {
	transcripttest.Growth(b, reader, 100, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		path := filepath.Join(f.Home, ".local", "share", "opencode", "opencode.db")
		transcripttest.Write(b, path, "")
		opencodetest.Exec(b, path, fmt.Sprintf(`
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT, agent TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE INDEX session_parent_idx ON session (parent_id);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_session_idx ON part (session_id);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT %[1]d)
	INSERT INTO session SELECT 'ses_' || i, NULL, '/w', '1', NULL, 1780000000000 + i * 1000, 1780000000000 FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 10)
	INSERT INTO message SELECT s.id || '_' || i, s.id, 1779999990000 + i, 1780000000000, '{"role":"user","time":{"created":' || (1779999990000 + i) || '}}' FROM n, session s;
INSERT INTO session VALUES ('ses_x', NULL, '/w', '1', NULL, 1780000000000, 1780000000000);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 200 * %[1]d)
	INSERT INTO message SELECT 'x' || i, 'ses_x', 1790000000000 + i, 1790000000000, '{"role":"user","time":{"created":' || (1790000000000 + i) || '}}' FROM n;`, n))
	})
}

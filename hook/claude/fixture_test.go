package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"
)

// fixture is one payload: recorded from Claude Code, or made after its
// documentation where no recording is to be had.
type fixture struct {
	// folder is the collection, relative to testdata; file the name in it.
	folder, file string
	raw          Raw
}

// storedAt is the receive time the tests give to all payloads that come
// without one.
var storedAt = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// fixtures reads every payload, in order of folder and file. Files are named
// after the hook that received them: "003-PreToolUse.json" is the third of a
// session, "PostToolUse.Bash.json" a variant. session.ndjson is a session of
// its own, with receive times.
func fixtures(t testing.TB) []fixture {
	t.Helper()
	var all []fixture
	root := os.DirFS("testdata")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "golden" || name == "fuzz" || name == "tables" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Base(name) == "arrival.txt" {
			return nil // the times at which the payloads beside it came
		}
		payload, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if name == "session.ndjson" {
			all = append(all, session(t, payload)...)
			return nil
		}
		folder, file := path.Split(name)
		event, _, _ := strings.Cut(file, ".")
		if _, after, ok := strings.Cut(event, "-"); ok {
			event = after
		}
		all = append(all, fixture{
			folder: strings.TrimSuffix(folder, "/"),
			file:   file,
			raw:    Raw{Payload: payload, Event: event, StoredAt: storedAt, Cwd: "/started/here"},
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 150 {
		t.Fatalf("found %d payloads, want all of them (more than 150)", len(all))
	}
	return all
}

// session reads one payload per line, each with the moment it came.
func session(t testing.TB, lines []byte) []fixture {
	t.Helper()
	var all []fixture
	for line := range bytes.Lines(lines) {
		var row struct {
			TS      time.Time
			Payload json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		all = append(all, fixture{
			folder: "session", file: fmt.Sprintf("line %02d", len(all)+1),
			raw: Raw{Payload: row.Payload, StoredAt: row.TS, Cwd: "/started/here"},
		})
	}
	return all
}

// load returns one payload.
func load(t testing.TB, name string) Raw {
	t.Helper()
	for _, f := range fixtures(t) {
		if path.Join(f.folder, f.file) == name {
			return f.raw
		}
	}
	t.Fatalf("no payload %q", name)
	return Raw{}
}

// nested is an array in an array and so on, depth times.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

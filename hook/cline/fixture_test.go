package cline

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"
)

// fixture is one payload recorded from Cline, or from Cline's own hook code.
type fixture struct {
	// folder is the recording, relative to testdata; file the name in it.
	folder, file string
	raw          Raw
}

// storedAt is the receive time the tests give to all payloads.
var storedAt = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// fixtures reads every recorded payload, in order of folder and file. Files are
// named after the hook that received them: "003-PreToolUse.json" is the third
// of a session, "PostToolUse.failed.json" a variant. The session of hookspan demo
// is the folder classic-session.
func fixtures(t testing.TB) []fixture {
	t.Helper()
	demo := fixturesIn(t, "../../internal/demo/session")
	for i := range demo {
		demo[i].folder = "classic-session"
	}
	all := append(demo, fixturesIn(t, "testdata")...)
	if len(all) < 130 {
		t.Fatalf("found %d recorded payloads, want all of them (more than 130)", len(all))
	}
	return all
}

func fixturesIn(t testing.TB, dir string) (all []fixture) {
	t.Helper()
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "golden" || name == "fuzz" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".json" {
			return nil
		}
		payload, err := fs.ReadFile(root, name)
		if err != nil {
			return err
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
	return all
}

// load returns one recorded payload.
func load(t testing.TB, name string) Raw {
	t.Helper()
	for _, f := range fixtures(t) {
		if path.Join(f.folder, f.file) == name {
			return f.raw
		}
	}
	t.Fatalf("no recorded payload %q", name)
	return Raw{}
}

// nested is an array in an array and so on, depth times.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := updateManifest(dir, func(m *Manifest) {
		m.StateCreated = []string{"/s"}
		m.Folders.Add(Record{Path: "/a/b/c", Role: "shared", Created: []string{"/a/b/c"}})
		m.Folders.Add(Record{Path: "/d", Role: "sdk", Workspace: "/"})
		// A second install may have found more of the way missing.
		m.Folders.Add(Record{Path: "/a/b/c", Role: "editors", Created: []string{"/a/b", "/a/b/c"}})
	}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &Manifest{Version: 1, StateCreated: []string{"/s"}, Folders: Records{
		{Path: "/a/b/c", Role: "editors", Created: []string{"/a/b", "/a/b/c"}},
		{Path: "/d", Role: "sdk", Workspace: "/"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if _, err := updateManifest(dir, func(m *Manifest) {
		m.Folders.Drop("/d")
		m.Folders.Drop("/a/b/c")
	}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("an empty record leaves %v, %v", left, err)
	}
}

func TestMissingDirs(t *testing.T) {
	dir := t.TempDir()
	want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")}
	if diff := cmp.Diff(want, MissingDirs(filepath.Join(dir, "a", "b"))); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := MissingDirs(dir); len(got) != 0 {
		t.Errorf("missing of a folder that exists: %q", got)
	}
}

package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	m := manifest{Version: manifestVersion, StateCreated: []string{"/s"}}
	m.add(manifestFolder{Path: "/a/b/c", Role: RoleShared, Created: []string{"/a/b/c"}})
	m.add(manifestFolder{Path: "/d", Role: RoleSDK, Workspace: "/"})
	// A second install may have found more of the way missing.
	m.add(manifestFolder{Path: "/a/b/c", Role: RoleEditors, Created: []string{"/a/b", "/a/b/c"}})
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest{Version: 1, StateCreated: []string{"/s"}, Folders: []manifestFolder{
		{Path: "/a/b/c", Role: RoleEditors, Created: []string{"/a/b", "/a/b/c"}},
		{Path: "/d", Role: RoleSDK, Workspace: "/"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	got.drop("/d")
	got.drop("/a/b/c")
	if err := got.write(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("an empty record leaves %v, %v", left, err)
	}
}

func TestMissingDirs(t *testing.T) {
	dir := t.TempDir()
	want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")}
	if diff := cmp.Diff(want, missingDirs(filepath.Join(dir, "a", "b"))); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := missingDirs(dir); len(got) != 0 {
		t.Errorf("missing of a folder that exists: %q", got)
	}
}

package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestFactIsFoundOnceForAStateOfItsFile counts what is found in three listings.
func TestFactIsFoundOnceForAStateOfItsFile(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	write := func(name, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	f := &Files{Facts: new(Facts)}
	list := func(names ...string) (found []string) {
		t.Helper()
		for _, name := range names {
			says, _ := f.Fact(filepath.Join(dir, name), func() ([]string, error) {
				found = append(found, name)
				if name == "broken" {
					return nil, os.ErrPermission
				}
				return []string{name}, nil
			})
			if name != "broken" && !slices.Equal(says, []string{name}) {
				t.Errorf("%s says %q", name, says)
			}
		}
		return found
	}
	next := func() (changed bool) {
		text, changed := f.Facts.Text(now)
		if changed {
			f.Facts = ParseFacts(text)
		} else {
			f.Facts = &Facts{old: f.Facts.old}
		}
		return changed
	}
	old := now.Add(-time.Hour)
	write("a", "1", old)
	write("b", "1", old)
	write("c", "1", old)
	write("new", "1", now)
	write("broken", "1", old)
	all := []string{"a", "b", "c", "new", "broken"}
	if got := list(all...); !slices.Equal(got, all) {
		t.Errorf("found %v first", got)
	}
	next()
	write("a", "12", old)
	write("b", "1", old.Add(time.Second))
	if got := list(all...); !slices.Equal(got, []string{"a", "b", "new", "broken"}) {
		t.Errorf("found %v after changes", got)
	}
	next()
	if got := list("a", "b", "c"); len(got) > 0 || next() {
		t.Errorf("found %v, changed, though nothing has", got)
	}
	if list("a"); !next() || len(f.Facts.old) != 1 {
		t.Errorf("of a removed file: %v", f.Facts.old)
	}
	if ParseFacts("{").old != nil {
		t.Error("damaged facts are read")
	}
}

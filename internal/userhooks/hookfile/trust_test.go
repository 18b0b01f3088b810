package hookfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

func trust(t *testing.T) (Trust, string) {
	t.Helper()
	dir := t.TempDir()
	return Trust{Path: filepath.Join(dir, "config", "trusted.json")}, filepath.Join(dir, "project", ".cline", "hooks.json")
}

func add(t *testing.T, tr Trust, file, data string) {
	t.Helper()
	if err := tr.Add(file, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func TestTrustIsBoundToPathAndContent(t *testing.T) {
	tr, file := trust(t)
	if tr.Trusted(file, []byte("{}")) {
		t.Error("trusted before anything was added")
	}
	add(t, tr, file, "{}")
	unclean := filepath.Dir(file) + string(filepath.Separator) + "." + string(filepath.Separator) + "hooks.json"
	t.Chdir(filepath.Dir(filepath.Dir(tr.Path)))
	relative := filepath.Join("project", ".cline", "hooks.json")
	tests := map[string]struct {
		file, data string
		want       bool
	}{
		"the added file":   {file, "{}", true},
		"another spelling": {unclean, "{}", true},
		"another content":  {file, "{} ", false},
		"no content":       {file, "", false},
		"a copy":           {file + "2", "{}", false},
		"a relative path":  {relative, "{}", false},
		"no path":          {"", "{}", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tr.Trusted(tt.file, []byte(tt.data)); got != tt.want {
				t.Errorf("trusted %v, want %v", got, tt.want)
			}
		})
	}
	if err := tr.Add(relative, []byte("{}")); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("a relative path: error %v", err)
	}
}

func TestTrustingAgainReplaces(t *testing.T) {
	tr, file := trust(t)
	add(t, tr, file, "old")
	add(t, tr, file, "new")
	if tr.Trusted(file, []byte("old")) || !tr.Trusted(file, []byte("new")) {
		t.Error("the old content is trusted, or the new one is not")
	}
	if list := tr.List(); len(list) != 1 {
		t.Errorf("list %v, want one entry", list)
	}
}

func TestTrustListAndRemove(t *testing.T) {
	tr, file := trust(t)
	for _, name := range []string{"c", "a", "b"} {
		add(t, tr, file+name, name)
	}
	if diff := cmp.Diff([]string{file + "a", file + "b", file + "c"}, paths(tr)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, want := range []bool{true, false} {
		if got, err := tr.Remove(filepath.Dir(file) + "/./" + filepath.Base(file) + "b"); err != nil || got != want {
			t.Errorf("removed %v, error %v, want %v", got, err, want)
		}
	}
	if diff := cmp.Diff([]string{file + "a", file + "c"}, paths(tr)); diff != "" {
		t.Errorf("list after removing (-want +got):\n%s", diff)
	}
	if tr.Trusted(file+"b", []byte("b")) || !tr.Trusted(file+"c", []byte("c")) {
		t.Error("the removed file is trusted, or another one is not")
	}
}

func paths(tr Trust) []string {
	var out []string
	for _, f := range tr.List() {
		out = append(out, f.Path)
	}
	return out
}

func TestRemoveOfUnknownFileWritesNothing(t *testing.T) {
	tr, file := trust(t)
	if got, err := tr.Remove(file); got || err != nil {
		t.Errorf("removed %v, error %v", got, err)
	}
	if _, err := os.Stat(filepath.Dir(tr.Path)); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestDamagedListTrustsNothing(t *testing.T) {
	const sum = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	tr, file := trust(t)
	if err := os.Mkdir(filepath.Dir(tr.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(tr.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entry := `{"path":` + jsonedit.Quote(file) + `,"sha256":"` + sum + `"}`
	write(`{"version":1,"files":[` + entry + `]}`)
	if !tr.Trusted(file, []byte("{}")) {
		t.Fatal("the list in its written form is not read")
	}
	for name, text := range map[string]string{
		"empty":      "",
		"cut":        `{"version":1,"files":[` + entry,
		"no version": `{"files":[` + entry + `]}`,
		"a list":     "[" + entry + "]",
		"other type": `{"version":1,"files":[` + entry + `,{"path":1}]}`,
		"zeros":      strings.Repeat("\x00", 100),
	} {
		t.Run(name, func(t *testing.T) {
			write(text)
			if tr.Trusted(file, []byte("{}")) || len(tr.List()) > 0 {
				t.Error("something is trusted")
			}
			// The user can begin again.
			add(t, tr, file, "{}")
			if !tr.Trusted(file, []byte("{}")) {
				t.Error("not trusted after adding")
			}
		})
	}
}

func TestNewerTrustListIsNotChanged(t *testing.T) {
	tr, file := trust(t)
	const newer = `{"version":2,"files":[],"more":1}`
	if err := os.Mkdir(filepath.Dir(tr.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.Path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tr.Add(file, nil); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("add: error %v", err)
	}
	if _, err := tr.Remove(file); err == nil {
		t.Error("remove: no error")
	}
	if tr.Trusted(file, nil) {
		t.Error("trusted")
	}
	if got, _ := os.ReadFile(tr.Path); string(got) != newer {
		t.Errorf("the list is %s", got)
	}
}

func TestTrustListIsPrivate(t *testing.T) {
	tr, file := trust(t)
	add(t, tr, file, "{}")
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{tr.Path: 0o600, filepath.Dir(tr.Path): 0o700} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has mode %o, want %o", path, got, want)
			}
		}
	}
	names, err := os.ReadDir(filepath.Dir(tr.Path))
	if err != nil || len(names) != 1 {
		t.Errorf("files %v, error %v, want the list alone", names, err)
	}
}

func TestFailedWriteLeavesTheOldList(t *testing.T) {
	tr, file := trust(t)
	// The list's path is a folder, which rename does not replace.
	if err := os.MkdirAll(filepath.Join(tr.Path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tr.Add(file, nil); err == nil || !strings.Contains(err.Error(), tr.Path) {
		t.Errorf("error %v, want one that names the list", err)
	}
	names, err := os.ReadDir(filepath.Dir(tr.Path))
	if err != nil || len(names) != 1 {
		t.Errorf("files %v, error %v, want what was there", names, err)
	}
}

// Users may trust several projects at once.
func TestTrustAtOnceLosesNothing(t *testing.T) {
	dir := t.TempDir()
	list := Trust{Path: filepath.Join(dir, "config", "trusted-hooks.json")}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if err := list.Add(filepath.Join(dir, strconv.Itoa(i), "hooks.json"), []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(list.List()); n != 40 {
		t.Errorf("%d files are trusted, want 40", n)
	}
}

// Of edits of one file at once, those that report success are in it.
func TestWritesAtOnceLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	var all sync.WaitGroup
	var written atomic.Int32
	for i := range 20 {
		all.Go(func() {
			for {
				d, err := Open(path, false)
				if err != nil {
					t.Error(err)
					return
				}
				text, _, err := Add(d.Data, Handler{Event: "Stop", Type: TypeCommand, Command: strconv.Itoa(i)})
				if err != nil {
					t.Error(err)
					return
				}
				if d.Write(text) == nil {
					written.Add(1)
					return
				}
			}
		})
	}
	all.Wait()
	if d, err := Open(path, false); err != nil || len(d.File.Handlers) != int(written.Load()) {
		t.Errorf("%d hooks of %d, %v", len(d.File.Handlers), written.Load(), err)
	}
}

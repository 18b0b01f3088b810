package deps

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// opening are the functions of package os that open a file under whatever is at
// its path: they wait for the other end of a pipe and read a device without end.
var opening = []string{"Open", "OpenFile", "ReadFile"}

// mayOpen are the files in which package os may open files, with the reason.
// Everything else opens them by internal/regular.
var mayOpen = map[string]string{
	"internal/regular/regular.go":               "is the way to do it",
	"cmd/hookspan/hooksfile.go":                 "makes a file under a random name, never an existing one",
	"cmd/hookspan/hookstest.go":                 "the file is named on the command line, and may be a pipe of the shell's",
	"infinium/infiniumexporter/parked.go":       "a folder of the Collector's, in a module of its own",
	"internal/bridge/lock_unix.go":              "a folder, which a flag says",
	"internal/bridge/peer_linux.go":             "/proc",
	"internal/bridge/lock_windows.go":           "pipes are not files there",
	"internal/clinehooks/memory.go":             "makes a file that must not exist yet",
	"internal/deliver/file_unix.go":             "a folder, which a flag says",
	"internal/hookproc/main_unix.go":            "/etc/passwd and the null device",
	"internal/hookproc/main_windows.go":         "the null device",
	"internal/hookproc/otheragent.go":           "makes a file that must not exist yet",
	"internal/clinehooks/hookrun/exec_linux.go": "/proc",
	"internal/install/apply.go":                 "makes a file under a random name, never an existing one",
	"internal/install/lock_unix.go":             "a folder, which a flag says",
	"internal/install/lock_windows.go":          "pipes are not files there",
	"internal/tools/sbom/main.go":               "reads what the build has made",
	"spool/platform_unix.go":                    "a folder, which a flag says",
}

// TestFilesAreOpenedByOnePackage keeps new code from hanging on a pipe in
// the place of a file.
func TestFilesAreOpenedByOnePackage(t *testing.T) {
	used := make(map[string]bool)
	for _, f := range sources(t) {
		if strings.HasPrefix(f.folder, "tests") {
			continue
		}
		name := path.Join(f.folder, f.name)
		for _, use := range uses(f.syntax, "os", opening) {
			used[name] = true
			if _, ok := mayOpen[name]; !ok {
				t.Errorf("%s: os.%s, which waits for a pipe and follows a link to a device: use internal/regular, or give the reason in mayOpen", f.fset.Position(use.Pos()), use.Sel.Name)
			}
		}
	}
	for name := range mayOpen {
		if !used[name] {
			t.Errorf("%s: opens no file, and is in mayOpen", name)
		}
	}
}

func TestUses(t *testing.T) {
	for src, want := range map[string][]string{
		"package p\nimport \"os\"\nvar x, _ = os.ReadFile(\"a\")":          {"ReadFile"},
		"package p\nimport o \"os\"\nvar f = o.Open":                       {"Open"},
		"package p\nimport \"os\"\nvar x = os.WriteFile":                   nil,
		"package p\nvar os struct{}\nvar x = os.Open":                      nil,
		"package p\nimport \"os\"\nfunc f() { os.OpenFile(); os.Open(x) }": {"OpenFile", "Open"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, use := range uses(file, "os", opening) {
			got = append(got, use.Sel.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v in %q, want %v", got, src, want)
		}
	}
}

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
// Everything else opens them by internal/files/regular.
var mayOpen = map[string]string{
	"internal/files/regular/regular.go":          "is the way to do it",
	"collector-config/refusals/refusals.go":      "appends to a file that was read as a regular one",
	"internal/files/atomicfile/atomicfile.go":    "makes a file under a random name, never an existing one",
	"internal/files/atomicfile/sync_unix.go":     "a folder, which a flag says",
	"internal/files/filelock/filelock_unix.go":   "a folder, which a flag says",
	"cmd/hookspan/hookstest.go":                  "the file is named on the command line, and may be a pipe of the shell's",
	"internal/loopback/peer_linux.go":            "/proc and /etc/passwd",
	"internal/userhooks/hooksession/session.go":  "appends to a file that was read as a regular one",
	"internal/record/answer/limited_linux.go":    "the null device",
	"internal/record/main_unix.go":               "/etc/passwd and the null device",
	"internal/record/main_windows.go":            "the null device",
	"internal/record/ran.go":                     "appends to a file that was read as a regular one",
	"internal/userhooks/hookrun/system_linux.go": "/proc",
	"internal/ui/web/main.go":                    "reads the sources of the page",
	"internal/tools/sbom/main.go":                "reads what the build has made",
	"spool/platform_unix.go":                     "a folder, which a flag says",
}

// TestFilesAreOpenedByOnePackage keeps new code from hanging on a pipe in
// the place of a file.
func TestFilesAreOpenedByOnePackage(t *testing.T) {
	used := make(map[string]bool)
	for _, f := range sources(t) {
		if forTests(f.folder) {
			continue
		}
		name := path.Join(f.folder, f.name)
		for _, use := range uses(f.syntax, "os", opening) {
			used[name] = true
			if _, ok := mayOpen[name]; !ok {
				t.Errorf("%s: os.%s, which waits for a pipe and follows a link to a device: use internal/files/regular, or give the reason in mayOpen", f.fset.Position(use.Pos()), use.Sel.Name)
			}
		}
	}
	for name := range mayOpen {
		if !used[name] {
			t.Errorf("%s: opens no file, and is in mayOpen", name)
		}
	}
}

// replacing are the functions that replace a file or make a temporary one, and
// locking those that lock one, by import path.
var replacing = map[string][]string{
	"os":                       {"Rename", "CreateTemp"},
	"syscall":                  {"Flock", "FcntlFlock"},
	"golang.org/x/sys/unix":    {"Flock", "FcntlFlock"},
	"golang.org/x/sys/windows": {"LockFileEx"},
}

// mayReplace are the files in which these may be used, with the reason. All
// others use internal/files/atomicfile and internal/files/filelock.
var mayReplace = map[string]string{
	"internal/files/atomicfile/atomicfile.go":     "is the way to do it",
	"internal/files/filelock/filelock_unix.go":    "is the way to do it",
	"internal/files/filelock/filelock_windows.go": "is the way to do it",
	"internal/diagnose/doctor.go":                 "tries whether a folder can be written to",
	"infinium/infiniumexporter/parked.go":         "tries whether a folder can be written to",
	"internal/install/programs/programs.go":       "a running program is renamed on Windows, and replaced by one that is written in full",
	"internal/bridge/filestore.go":                "moves a damaged file aside",
	"internal/userhooks/hookrun/exec.go":          "makes a file that has no name afterwards",
	"internal/record/answer/spill.go":             "makes a file that has no name afterwards",
	"internal/install/apply.go":                   "moves the user's own hook files aside and back",
	"internal/files/logfile/logfile.go":           "moves a full log aside",
	"spool/platform_unix.go":                      "imports no package of this module; readers share its locks",
	"spool/platform_windows.go":                   "as spool/platform_unix.go",
}

// TestFilesAreReplacedAndLockedByOnePackageEach keeps new code from showing half a
// file to a reader, and from locks that differ between systems.
func TestFilesAreReplacedAndLockedByOnePackageEach(t *testing.T) {
	used := make(map[string]bool)
	for _, f := range sources(t) {
		if strings.HasPrefix(f.folder, "tests") {
			continue
		}
		name := path.Join(f.folder, f.name)
		for pkg, names := range replacing {
			for _, use := range uses(f.syntax, pkg, names) {
				if used[name] = true; mayReplace[name] != "" {
					continue
				}
				t.Errorf("%s: %s: use internal/files/atomicfile or internal/files/filelock, or give the reason in mayReplace", f.fset.Position(use.Pos()), use.Sel.Name)
			}
		}
	}
	for name := range mayReplace {
		if !used[name] {
			t.Errorf("%s: replaces and locks no file, and is in mayReplace", name)
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

// Package deps holds the programs and packages to what they may import.
package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hookspan/hookspan"

// banned says why the hook process does without a package. A path that ends in
// a slash also matches everything below it.
var banned = map[string]string{
	"net":                                    "the hook process opens no socket, and resolver and dialler cost time at start",
	"net/http/":                              "the hook process opens no socket; delivery is hookspan flush's work",
	"net/rpc/":                               "the hook process opens no socket",
	"crypto/tls/":                            "costs time at start and is of no use without a socket",
	"crypto/x509/":                           "reads the system's roots; of no use without a socket",
	"log/slog/":                              "a log line needs none of it; internal/files/logfile writes one",
	"regexp/":                                "expressions are compiled at start, in every hook call; redaction happens on the way out",
	"text/template/":                         "keeps the linker from leaving out unused methods, which doubles the program",
	"html/template/":                         "as text/template",
	"database/sql/":                          "the hook process appends to a file; the store is filled by delivery",
	"encoding/gob/":                          "registers types at start",
	"encoding/xml/":                          "nothing here is XML",
	"testing/":                               "registers flags and belongs into tests",
	"flag":                                   "registers flags at start; the hook process has none",
	"plugin":                                 "needs cgo",
	"runtime/cgo":                            "links the C library, which costs time at start and breaks the static binary",
	"os/user":                                "reads the user database; the environment says where home is",
	"go.opentelemetry.io/":                   "mapping and export are delivery's work",
	"google.golang.org/":                     "gRPC and Protocol Buffers register types at start",
	"modernc.org/":                           "the store's SQLite, megabytes of it",
	"zombiezen.com/":                         "the store's SQLite",
	"github.com/klauspost/":                  "reads the hosts' compressed files",
	"github.com/mattn/":                      "the store's SQLite needs no cgo",
	"github.com/spf13/":                      "a command line parser for one argument",
	"github.com/modelcontextprotocol/":       "answers agents' questions, which hookspan mcp does",
	module + "/internal/traces/mcp/":         "as the protocol's SDK",
	"github.com/zalando/":                    "the keyring is asked by delivery, and asks the user",
	"github.com/schollz/":                    "a progress bar",
	"github.com/yuin/":                       "parses Markdown, for the page",
	module + "/otelmap":                      "mapping is delivery's work",
	module + "/otelmap/step":                 "spans are read by delivery and by what people type",
	module + "/infinium/":                    "opens sockets",
	module + "/internal/outbound/":           "opens sockets",
	module + "/internal/redact/":             "compiles expressions at start; redaction happens on the way out",
	module + "/internal/deliver/":            "delivery runs in a separate process",
	module + "/internal/agents/":             "links every agent's reader and installer; a hook program is one agent's",
	module + "/internal/diagnose/":           "a hook call examines nothing",
	module + "/internal/pipeline/":           "delivery runs in a separate process",
	module + "/internal/provision/":          "nothing is installed by a hook call",
	module + "/internal/traces/store/":       "the store is filled by delivery",
	module + "/internal/install/":            "nothing is installed by a hook call",
	module + "/internal/bridge/":             "opens sockets",
	module + "/internal/transcript/":         "reads the hosts' files, which may be large",
	module + "/internal/userhooks/hookcheck": "examines files for people",
	module + "/internal/userhooks/hookhttp":  "opens sockets",
	module + "/internal/userhooks/hookmatch": "expressions and a shell's parser; plain hooks have names",
	module + "/internal/userhooks/place":     "mapping is for another program; plainRun finds most spans",
	module + "/internal/userhooks/shelltext": "writes hooks for people",
	"mvdan.cc/":                              "a shell's parser; plain hooks have no rule",
	"github.com/nlnwa/":                      "links the tables of international names",
	"github.com/dlclark/":                    "its tables are made at start, 0.07 ms in every hook call",
	"golang.org/x/text/":                     "its tables of letters, 0.08 ms in every hook call",
}

// hookPrograms are the commands that agents start for each event.
func hookPrograms(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../cmd/*-hook")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, dir := range found {
		programs = append(programs, module+"/cmd/"+filepath.Base(dir))
	}
	if !slices.Contains(programs, module+"/cmd/cline-hook") {
		t.Fatalf("cmd/cline-hook is not among %v", programs)
	}
	return programs
}

func TestHookProgramsStaySmall(t *testing.T) {
	for _, program := range hookPrograms(t) {
		for _, goos := range []string{"linux", "darwin", "windows"} {
			t.Run(path.Base(program)+" on "+goos, func(t *testing.T) {
				deps := dependencies(t, program, goos)
				if !slices.Contains(deps, module+"/internal/record") {
					t.Fatalf("go list names %d packages, internal/record is not among them", len(deps))
				}
				for _, dep := range deps {
					if dep == "net" && slices.Contains(deps, "golang.org/x/sys/windows") {
						// It names a type of net's; the linker leaves out the rest.
						continue
					}
					if reason, ok := ban(dep); ok {
						t.Errorf("%s is linked: %s", dep, reason)
					}
				}
			})
		}
	}
}

// dependencies are the packages that a program links on a system.
func dependencies(t *testing.T, program, goos string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", program)
	cmd.Dir = filepath.Join("..", "..") // whose go.mod decides the versions
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

// TestRecordingLinksNothingThatAsks: only Cline's answers depend on the user's hooks.
func TestRecordingLinksNothingThatAsks(t *testing.T) {
	for _, root := range []string{"/cmd/claude-hook", "/internal/record"} {
		for _, dep := range dependencies(t, module+root, "linux") {
			if dep == module+"/internal/record/answer" || strings.HasPrefix(dep, module+"/internal/userhooks") {
				t.Errorf("%s links %s, which asks people's hooks", root, dep)
			}
		}
	}
}

// TestHookRunnerStartsFast: it runs command hooks while the agent waits.
func TestHookRunnerStartsFast(t *testing.T) {
	for _, dep := range dependencies(t, module+"/cmd/hook-runner", "linux") {
		switch {
		case strings.HasPrefix(dep, "net/http"), strings.HasPrefix(dep, "crypto/tls"), strings.HasPrefix(dep, "database/sql"),
			strings.HasPrefix(dep, "modernc.org/"), strings.HasPrefix(dep, "google.golang.org/grpc"),
			strings.HasPrefix(dep, "go.opentelemetry.io/otel/exporters"), strings.HasPrefix(dep, "go.opentelemetry.io/otel/sdk"),
			strings.HasPrefix(dep, "github.com/spf13/"), strings.HasPrefix(dep, "github.com/nlnwa/"), dep == "google.golang.org/protobuf/encoding/protojson":
			t.Errorf("cmd/hook-runner links %s, which costs time at start: give that work to hookspan", dep)
		}
	}
}

// TestTextRedactionLinksNoSpans: programs that clean texts while an agent waits have
// no use for Protocol Buffers, whose types are registered at start.
func TestTextRedactionLinksNoSpans(t *testing.T) {
	for _, dep := range dependencies(t, module+"/internal/redact/configured", "linux") {
		if strings.HasPrefix(dep, "google.golang.org/") || strings.HasPrefix(dep, "go.opentelemetry.io/") {
			t.Errorf("internal/redact/configured links %s: what knows spans belongs in internal/redact/redactspans", dep)
		}
	}
}

func ban(dep string) (reason string, ok bool) {
	for name, reason := range banned {
		if dep == strings.TrimSuffix(name, "/") || strings.HasSuffix(name, "/") && strings.HasPrefix(dep, name) {
			return reason, true
		}
	}
	return "", false
}

func TestBan(t *testing.T) {
	for dep, want := range map[string]bool{
		"net": true, "net/http": true, "net/http/httptrace": true, "net/url": false, "net/netip": false,
		"go.opentelemetry.io/otel": true, "modernc.org/sqlite": true, "regexp/syntax": true, "os": false,
		module + "/internal/traces/store": true, module + "/internal/files/logfile": false, module + "/internal/userhooks/hookmatch": true,
		module + "/internal/userhooks": false, module + "/otelmap": true, module + "/otelmap/spanid": false, module + "/spool": false,
	} {
		if _, got := ban(dep); got != want {
			t.Errorf("%s banned: %v, want %v", dep, got, want)
		}
	}
}

// mayImport lists, for each package of this module that has such a rule, the packages
// of ours it may import, by folder. "/..." takes in what lies below; NAME is the package's.
var mayImport = map[string][]string{
	"hook": {},
	"internal/userhooks": {
		"config", "hook", "hook/cline", "spool", "internal/userhooks/hookfile", "internal/userhooks/hookrun", "internal/userhooks/hooksession", "internal/userhooks/plain",
		"internal/userhooks/sample", "internal/userhooks/translate", "internal/userhooks/verdict", "internal/rawjson", "internal/files/regular", "otelmap/spanid",
	},
	"internal/userhooks/place":     {"hook", "hook/cline", "otelmap", "otelmap/spanid", "spool"},
	"internal/userhooks/plain":     {"internal/jstext"},
	"internal/userhooks/hookrun":   {"internal/userhooks/hookfile", "internal/userhooks/plain", "internal/userhooks/translate", "internal/userhooks/verdict"},
	"internal/userhooks/shelltext": {"internal/userhooks/hookfile"},
	"internal/userhooks/translate": {"hook", "hook/cline", "internal/userhooks/verdict", "internal/jstext", "internal/rawjson"},
	"internal/userhooks/verdict":   {"internal/jstext", "internal/rawjson"},
	// Agents may have the wire form of Claude Code, or that of the plugin for opencode.
	"hook/...":                     {"hook", "hook/claude", "hook/opencode", "internal/jstext", "internal/rawjson"},
	"spool":                        {},
	"config":                       {},
	"internal/redact":              {},
	"internal/redact/redactspans":  {"internal/rawjson", "internal/redact"},
	"internal/redact/configured":   {"config", "internal/redact", "internal/files/regular"},
	"internal/files/atomicfile":    {},
	"internal/files/filelock":      {},
	"internal/termtext":            {},
	"internal/files/logfile":       {"internal/files/filelock", "internal/files/regular", "internal/termtext"},
	"internal/files/regular":       {},
	"internal/rawjson":             {},
	"internal/jsonedit":            {"internal/rawjson"},
	"internal/jstext":              {},
	"internal/pattern":             {},
	"internal/bridge":              {"hook", "hook/claude", "hook/cline", "spool", "internal/files/atomicfile", "internal/files/filelock", "internal/loopback", "internal/outbound", "internal/rawjson", "internal/files/regular", "internal/termtext"},
	"internal/loopback":            {},
	"internal/outbound":            {"internal/loopback", "internal/termtext"},
	"internal/userhooks/hookfile":  {"hook/claude", "internal/files/atomicfile", "internal/files/filelock", "internal/userhooks/plain", "internal/jsonedit", "internal/files/regular", "internal/termtext"},
	"internal/userhooks/hookmatch": {"internal/userhooks/plain", "internal/jstext", "internal/rawjson"},
	"internal/userhooks/sample":    {"internal/jsonedit", "internal/userhooks/translate"},
	"internal/userhooks/hooksession": {
		"hook", "hook/cline", "spool", "internal/files/atomicfile", "internal/files/filelock", "internal/files/regular",
	},
	"internal/otlp":             {"internal/rawjson"},
	"internal/otlp/otlpjson":    {"internal/otlp"},
	"internal/install/upgrade":  {"internal/outbound"},
	"internal/install/programs": {"internal/files/atomicfile", "internal/files/filelock", "internal/files/regular"},
	"internal/traces/store":     {"otelmap", "otelmap/step", "spool", "internal/files/atomicfile", "internal/otlp", "internal/otlp/otlpjson", "internal/rawjson", "internal/files/regular", "internal/termtext", "internal/traces/sums"},
	"internal/traces/sums":      {"otelmap/instruments", "internal/otlp"},
	"internal/traces/view":      {"hook", "internal/pattern", "otelmap", "otelmap/step", "internal/otlp", "internal/otlp/otlpjson", "internal/rawjson", "internal/traces/store", "internal/termtext"},
	"internal/traces/findings":  {"otelmap", "internal/pattern", "internal/rawjson", "internal/traces/store", "internal/termtext", "internal/traces/view"},
	"internal/traces/export":    {"otelmap", "otelmap/step", "internal/otlp", "internal/otlp/otlpjson", "internal/rawjson", "internal/redact", "internal/redact/redactspans", "internal/traces/store", "internal/termtext", "internal/traces/view"},
	"internal/traces/mcp":       {"otelmap/step", "internal/redact", "internal/traces/store", "internal/termtext", "internal/traces/view"},
	"internal/ui":               {"otelmap", "otelmap/step", "internal/files/atomicfile", "internal/lookpath", "internal/loopback", "internal/otlp", "internal/outbound", "internal/rawjson", "internal/redact", "internal/files/regular", "internal/traces/export", "internal/traces/findings", "internal/traces/store", "internal/termtext", "internal/ui/hooks", "internal/traces/view"},
	"internal/ui/hooks": {
		"hook", "hook/claude", "hook/cline", "internal/files/atomicfile", "internal/userhooks", "internal/userhooks/hookcheck", "internal/userhooks/hookfile",
		"internal/userhooks/hookmatch", "internal/userhooks/hookrun", "internal/userhooks/sample", "internal/userhooks/shelltext", "internal/userhooks/translate", "internal/userhooks/verdict", "internal/install",
		"internal/install/claude", "internal/install/cline", "internal/jsonedit", "internal/files/filelock", "internal/rawjson", "internal/files/regular", "internal/traces/store", "internal/termtext",
	},
	"otelmap/instruments":          {},
	"otelmap/spanid":               {"hook"},
	"otelmap/step":                 {"otelmap", "internal/otlp", "internal/rawjson"},
	"otelmap":                      {"hook", "otelmap/spanid", "internal/otlp", "internal/rawjson", "internal/termtext"},
	"infinium/...":                 {"hook", "infinium", "infinium/connectors", "internal/files/atomicfile", "internal/otlp"},
	"infinium":                     {"otelmap", "otelmap/step", "internal/otlp", "internal/outbound", "internal/rawjson", "internal/termtext"},
	"internal/importer":            {"hook", "otelmap", "otelmap/step", "spool", "internal/otlp", "internal/deliver", "internal/traces/store", "internal/termtext", "internal/transcript"},
	"internal/transcript/prices":   {},
	"internal/transcript":          {"hook", "internal/transcript/prices", "internal/rawjson", "internal/files/regular"},
	"internal/transcript/...":      {"hook", "hook/claude", "hook/NAME", "internal/rawjson", "internal/transcript"},
	"internal/transcript/claude":   {"hook", "hook/claude", "internal/transcript/prices", "internal/rawjson", "internal/transcript"},
	"internal/transcript/opencode": {"hook", "hook/opencode", "internal/rawjson", "internal/files/regular", "internal/transcript"},
	"internal/transcript/qwen":     {"hook", "hook/qwen", "internal/rawjson", "internal/transcript", "internal/transcript/gemini"},
	"internal/agents": {
		"hook", "hook/...", "otelmap", "spool", "infinium", "infinium/connectors", "internal/install", "internal/install/...", "internal/lookpath", "internal/transcript", "internal/transcript/...",
	},
	"internal/demo": {"internal/files/regular"},
	"internal/diagnose": {
		"config", "hook", "hook/cline", "spool", "internal/agents", "internal/userhooks", "internal/userhooks/hookfile", "internal/deliver", "internal/install", "internal/install/cline",
		"internal/budget", "internal/pipeline", "internal/install/programs", "internal/redact/configured", "internal/files/regular", "internal/traces/store", "internal/termtext",
	},
	"internal/provision":        {"hook", "internal/agents", "internal/diagnose", "internal/files/filelock", "internal/install", "internal/install/cline", "internal/install/programs", "internal/lookpath", "internal/pipeline", "internal/termtext"},
	"internal/lookpath":         {},
	"internal/install":          {"internal/files/atomicfile", "internal/files/filelock", "internal/lookpath", "internal/files/regular", "internal/termtext"},
	"internal/install/settings": {"hook", "internal/install", "internal/jsonedit", "internal/files/regular", "internal/termtext"},
	// An agent's package knows no other agent's.
	"internal/install/...": {"hook", "internal/install", "internal/install/settings", "internal/lookpath", "internal/files/regular", "internal/termtext"},
	"internal/traces/live": {"hook", "spool"},
	"internal/checkout":    {"hook", "internal/files/regular"},
	"internal/pipeline": {
		"internal/loopback", "internal/outbound", "internal/budget", "internal/rawjson",
		"internal/checkout", "config", "hook", "spool", "otelmap", "infinium", "infinium/connectors", "internal/agents", "internal/files/atomicfile", "internal/files/filelock", "internal/deliver", "internal/install", "internal/otlp", "internal/otlp/otlpjson",
		"internal/redact", "internal/redact/redactspans", "internal/redact/configured", "internal/files/regular", "internal/traces/store", "internal/traces/sums", "internal/termtext", "internal/transcript",
	},
	"internal/record":            {"config", "hook", "spool", "internal/files/logfile", "internal/rawjson", "internal/files/regular"},
	"internal/record/claudehook": {"hook", "hook/...", "internal/record"},
	"internal/record/answer": {
		"hook/cline",
		"hook", "internal/userhooks", "internal/userhooks/hookfile", "internal/userhooks/hooksession", "internal/record", "internal/rawjson", "internal/files/regular",
	},
}

// wiring packages put others together for commands.
var wiring = []string{"internal/agents", "internal/diagnose", "internal/pipeline", "internal/provision"}

// strangers, and the packages below them, do not import one another; wiring
// packages and cmd import several.
var strangers = []string{"internal/bridge", "internal/userhooks", "internal/deliver", "internal/install"}

// stranger returns the one of strangers that a folder belongs to.
func stranger(folder string) string {
	for _, s := range strangers {
		if folder == s || strings.HasPrefix(folder, s+"/") {
			return s
		}
	}
	return ""
}

// pure packages are functions of values. Where files of such a package have to
// reach out, they stand here by name.
var pure = map[string][]string{
	"otelmap":                      nil,
	"hook":                         nil,
	"hook/...":                     nil,
	"internal/redact":              nil,
	"internal/redact/redactspans":  nil,
	"internal/rawjson":             nil,
	"internal/otlp":                nil,
	"internal/transcript/prices":   nil,
	"internal/traces/view":         nil,
	"internal/traces/export":       nil,
	"internal/traces/findings":     nil,
	"internal/traces/sums":         nil,
	"infinium":                     infiniumEdge,
	"internal/userhooks/hookmatch": nil,
	"internal/userhooks/plain":     nil,
	"otelmap/instruments":          nil,
	"otelmap/spanid":               nil,
	"otelmap/step":                 nil,
	"internal/userhooks/translate": nil,
	"internal/userhooks/verdict":   nil,
	"internal/userhooks/sample":    nil,
}

// infiniumEdge are the files of infinium that talk to the network; the mapping
// is all the others.
var infiniumEdge = []string{"answer.go", "client.go", "error.go", "options.go"}

// impure are the packages that a pure one has no use for.
var impure = []string{"os", "io/fs", "os/exec", "os/signal", "os/user", "net", "net/http", "syscall", "path/filepath", "io/ioutil", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog"}

// clocks are the functions of package time that ask for the time or wait.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// sourceFile is a file of this module that is not a test.
type sourceFile struct {
	folder, name string
	syntax       *ast.File
	fset         *token.FileSet
}

// sources are all of this module's files that end up in a program.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := d.Name()
			if rel != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" || rel == "bin" || rel == "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		syntax, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{path.Dir(rel), path.Base(rel), syntax, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found %d files only", len(files))
	}
	return files
}

func (f sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// ours are the imported folders of this module.
func (f sourceFile) ours() []string {
	var folders []string
	for _, p := range f.imports() {
		if folder, ok := strings.CutPrefix(p, module+"/"); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// rule finds the entry for a folder: its own, or that of a folder above.
func rule(rules map[string][]string, folder string) (value []string, ok bool) {
	if v, ok := rules[folder]; ok {
		return v, true
	}
	for above := path.Dir(folder); above != "."; above = path.Dir(above) {
		if v, ok := rules[above+"/..."]; ok {
			return v, true
		}
	}
	return nil, false
}

// allows reports that a list of mayImport, of a package with a name, has a folder.
func allows(list []string, name, folder string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		above, all := strings.CutSuffix(entry, "...")
		return folder == strings.Replace(entry, "NAME", name, 1) || all && strings.HasPrefix(folder, above)
	})
}

func TestImportsRunDownwards(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range sources(t) {
		seen[f.folder] = true
		if allowed, ok := rule(mayImport, f.folder); ok {
			for _, dep := range f.ours() {
				if !allows(allowed, path.Base(f.folder), dep) {
					t.Errorf("%s/%s imports %s; of ours it may import %v", f.folder, f.name, dep, allowed)
				}
			}
		}
		for _, dep := range f.ours() {
			if slices.Contains(wiring, dep) && !slices.Contains(wiring, f.folder) && !strings.HasPrefix(f.folder, "cmd/") && !forTests(f.folder) {
				t.Errorf("%s/%s imports %s, which only wiring packages and commands may", f.folder, f.name, dep)
			}
			if strings.HasPrefix(dep, "cmd/") && !strings.HasPrefix(f.folder, "cmd/") || strings.HasPrefix(dep, "tests/") && !strings.HasPrefix(f.folder, "tests/") {
				t.Errorf("%s/%s imports %s, which lies above it", f.folder, f.name, dep)
			}
			if strings.HasPrefix(dep, "internal/testkit/") && !forTests(f.folder) {
				t.Errorf("%s/%s imports %s, which is for tests", f.folder, f.name, dep)
			}
			if from, to := stranger(f.folder), stranger(dep); from != "" && to != "" && from != to {
				t.Errorf("%s/%s imports %s; only cmd knows both", f.folder, f.name, dep)
			}
		}
	}
	for folder := range mayImport {
		if !seen[folder] && !strings.HasSuffix(folder, "/...") {
			t.Errorf("there is a rule for %s and no such package", folder)
		}
	}
}

// forTests reports that a folder serves tests alone.
func forTests(folder string) bool {
	return strings.HasPrefix(folder, "tests/") || strings.HasPrefix(folder, "internal/testkit/")
}

func TestPurePackages(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range sources(t) {
		exempt, ok := rule(pure, f.folder)
		if !ok {
			continue
		}
		seen[f.folder] = true
		if slices.Contains(exempt, f.name) {
			continue
		}
		for _, dep := range f.imports() {
			if slices.Contains(impure, dep) {
				t.Errorf("%s/%s imports %s; the package is pure", f.folder, f.name, dep)
			}
		}
		for _, call := range clockCalls(f.syntax) {
			t.Errorf("%s: time.%s; the package is pure, the time comes in as a value", f.fset.Position(call.Pos()), call.Sel.Name)
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: an init function", f.fset.Position(fn.Pos()))
			}
		}
	}
	for folder := range pure {
		if !seen[folder] && !strings.HasSuffix(folder, "/...") {
			t.Errorf("there is a rule for %s and no such package", folder)
		}
	}
}

// importedAs is the name by which a file knows a package of the standard library;
// empty where it does not.
func importedAs(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		switch {
		case spec.Path.Value != strconv.Quote(pkg):
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(pkg)
		}
	}
	return ""
}

// clockCalls finds the uses of a clock.
func clockCalls(file *ast.File) []*ast.SelectorExpr { return uses(file, "time", clocks) }

// uses finds where names of a package are used, under whatever name it is
// imported.
func uses(file *ast.File, pkg string, names []string) []*ast.SelectorExpr {
	name := importedAs(file, pkg)
	if name == "" {
		return nil
	}
	var found []*ast.SelectorExpr
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains(names, sel.Sel.Name) {
			found = append(found, sel)
		}
		return true
	})
	return found
}

func TestClockCalls(t *testing.T) {
	for src, want := range map[string]int{
		"package p\nimport \"time\"\nvar x = time.Now()":                    1,
		"package p\nimport \"time\"\nvar x = time.Now":                      1,
		"package p\nimport t \"time\"\nfunc f() { t.Sleep(1); t.Since(x) }": 2,
		"package p\nimport \"time\"\nvar x = time.Unix(0, 0)":               0,
		"package p\nvar x = time.Now()":                                     0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(clockCalls(file)); got != want {
			t.Errorf("%d clocks in %q, want %d", got, src, want)
		}
	}
}

// requests are what makes HTTP requests, or settles how, without the rules of
// internal/outbound.
var requests = []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "ProxyFromEnvironment", "ProxyURL"}

// clients are types of which only internal/outbound makes values.
var clients = []string{"Client", "Transport"}

// TestRequestsGoThroughOneClient keeps product code from a client whose requests
// may never end, follow redirects or take a proxy to this machine.
func TestRequestsGoThroughOneClient(t *testing.T) {
	outside := 0
	for _, f := range sources(t) {
		switch {
		case strings.HasPrefix(f.folder, "tests/"):
			continue // they are servers and programs of tests
		case f.folder == "internal/outbound":
			outside += len(bareRequests(f.syntax))
			continue
		}
		for _, n := range bareRequests(f.syntax) {
			t.Errorf("%s: an HTTP request or client without internal/outbound", f.fset.Position(n.Pos()))
		}
	}
	if outside == 0 {
		t.Error("internal/outbound makes no client: this test looks for the wrong thing")
	}
}

// bareRequests finds the uses of net/http that make clients and requests. A given
// transport around another, as in http.Client{Transport: x}, is no client of its
// own.
func bareRequests(file *ast.File) []ast.Node {
	name := importedAs(file, "net/http")
	of := func(n ast.Expr, names []string) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && name != "" && x.Name == name && slices.Contains(names, sel.Sel.Name)
	}
	var found []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of(n, requests) {
				found = append(found, n)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "new" && of(n.Args[0], clients) {
				found = append(found, n)
			}
		case *ast.ValueSpec:
			if n.Type != nil && of(n.Type, clients) {
				found = append(found, n)
			}
		case *ast.CompositeLit:
			if n.Type != nil && of(n.Type, clients) && !wraps(n) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// wraps reports a client that is given nothing but its transport.
func wraps(c *ast.CompositeLit) bool {
	if len(c.Elts) != 1 {
		return false
	}
	kv, ok := c.Elts[0].(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	key, ok := kv.Key.(*ast.Ident)
	return ok && key.Name == "Transport"
}

func TestBareRequests(t *testing.T) {
	for src, want := range map[string]int{
		"http.Get(`x`)":                            1,
		"http.DefaultClient.Do(nil)":               1,
		"x := http.Client{}; _ = x":                1,
		"x := &http.Client{Timeout: 1}; _ = x":     1,
		"x := &http.Client{Transport: t}; _ = x":   0,
		"x := new(http.Client); _ = x":             1,
		"var x http.Client; _ = x":                 1,
		"x := &http.Transport{}; _ = x":            1,
		"var x *http.Client; _ = x":                0,
		"x := http.Server{}; _ = x":                0,
		"http.NewRequestWithContext(a, b, c, d)":   0,
		"x.Get(`y`); client.Client{}.Do(nil)":      0,
		"_ = http.Transport{Proxy: http.ProxyURL}": 2,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nimport \"net/http\"\nfunc f() { "+src+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(bareRequests(file)); got != want {
			t.Errorf("%d in %q, want %d", got, src, want)
		}
	}
}

// TestRecordIsReachedFromCmdOnly keeps the hook process's life out of
// libraries: it ends the process.
func TestRecordIsReachedFromCmdOnly(t *testing.T) {
	for _, f := range sources(t) {
		if slices.Contains(f.ours(), "internal/record") && !strings.HasPrefix(f.folder, "cmd/") && !strings.HasPrefix(f.folder, "internal/record/") {
			t.Errorf("%s/%s imports internal/record, which only commands may", f.folder, f.name)
		}
	}
}

// TestNothingLooksForUpgradesUnasked: hookspan asks for a newer release only by the
// command that people type for it.
func TestNothingLooksForUpgradesUnasked(t *testing.T) {
	var users []string
	for _, f := range sources(t) {
		for _, spec := range f.syntax.Imports {
			if spec.Path.Value == strconv.Quote(module+"/internal/install/upgrade") {
				users = append(users, path.Join(f.folder, f.name))
			}
		}
	}
	if want := []string{"cmd/hookspan/upgrade.go"}; !slices.Equal(users, want) {
		t.Errorf("%q import internal/install/upgrade, want %q", users, want)
	}
}

package security_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/proof"
)

// defence is a line of hookspan ui that an attack does not get past.
type defence struct {
	name, file string
	// change are texts of the file, each followed by the one in its place.
	change []string
	// attack is the one that then succeeds, and says a part of its report.
	attack, says string
}

const (
	serverFile = "internal/ui/server.go"
	routesFile = "internal/ui/routes.go"
	uiFile     = "cmd/hookspan/ui.go"
	openFile   = "internal/ui/opening.go"
	policyFile = "internal/loopback/policy.go"
	limitsFile = "internal/loopback/serve.go"
	changeFile = "internal/ui/hooks/change.go"
)

var defences = []defence{
	{"the exact Host", policyFile, []string{"slices.Contains(hosts, host)", "(slices.Contains(hosts, host) || true)"}, "rebound", `Host "evil.example`},
	{"Origin", policyFile, []string{`return origin == "http://"+r.Host`, `return true || origin == "http://"+r.Host`}, "other pages", "a fetch, by its origin"},
	{"Sec-Fetch-Site", policyFile, []string{`return site == "same-origin"`, `return true || site == "same-origin"`}, "other pages", "by Sec-Fetch-Site"},
	{"methods", serverFile, []string{"if r.Method != http.MethodGet &&", "if false && r.Method != http.MethodGet &&"}, "other pages", "the method DELETE"},
	{"the token", serverFile, []string{"subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1", "subtle.ConstantTimeCompare(digest[:], s.digest[:]) >= 0"}, "tokens", "a wrong token"},
	{"one token", serverFile, []string{"if len(given) != 1 ||", "if len(given) == 0 {\n\t\tgiven = []string{s.opts.Token}\n\t}\n\tif"}, "tokens", "without a token"},
	{"a new token", serverFile, []string{"_, _ = rand.Read(b)", "_ = rand.Reader"}, "tokens", "two runs have the same token"},
	{"a file for the browser", openFile, []string{"append(command[1:], s.File())", "append(command[1:], s.Address)"}, "places of the token", "the token is in the browser's arguments"},
	{"the file's mode", openFile, []string{"Mode: 0o600", "Mode: 0o644"}, "places of the token", "during the run: the token is in"},
	{"the file's removal", uiFile, []string{"defer func() { _ = os.Remove(s.File()) }()", ""}, "places of the token", "after the run: the token is in"},
	{"no referrer", serverFile, []string{`h.Set("Referrer-Policy", "no-referrer")`, ""}, "places of the token", "name its address"},
	{"the size of a head", limitsFile, []string{"MaxHeaderBytes: maxHeader", "MaxHeaderBytes: 64 << 20"}, "oversized", "a head of a megabyte"},
	{"no bodies", serverFile, []string{"if r.ContentLength != 0 ||", "if false && r.ContentLength != 0 ||"}, "oversized", "a body of a megabyte"},
	{"limits of numbers", routesFile, []string{"|| n < least || n > most", ""}, "oversized", "a limit beyond all"},
	{"the time of a request", serverFile, []string{"readTime  = 5 * time.Second", "readTime  = time.Hour"}, "slow", "is still open"},
	{"the number of connections", serverFile, []string{"maxConnections = 128", "maxConnections = 100_000"}, "slow", "sockets are open"},
	{"the number of streams", serverFile, []string{"maxStreams     = 16", "maxStreams     = 1000"}, "slow", "event streams at a time"},
	{"embedded assets", routesFile, []string{
		`if b == nil || kind == "" {`, "b, err := os.ReadFile(path.Join(\"assets\", name))\n\tif err != nil {", `b, kind := s.files[name], types[path.Ext(name)]`, "kind := types[path.Ext(name)]",
		`"net/url"`, "\"net/url\"\n\t\"os\"", `s.file(w, r.URL.Path) })`, `s.file(w, r.URL.Path[len("/assets/"):]) })`,
	}, "traversal", "a file of this machine"},
	{"the file's digest", changeFile, []string{"if f.SHA256 != c.SHA256 ||", "if"}, "swaps", "one byte more: files changed"},
	{"the code", changeFile, []string{"plainCode(c.code))) != 1", "plainCode(c.code))) > 1"}, "writes", "another change's code: files changed"},
}

// attacks are those that a defence can be taken out for.
var attacks = []struct {
	name string
	run  attack
	// edit starts the page with --edit.
	edit bool
}{
	{"rebound", rebound, false},
	{"other pages", otherPages, false},
	{"tokens", tokens, false},
	{"places of the token", tokenSeen, false},
	{"oversized", oversized, false},
	{"slow", slow, false},
	{"traversal", traversal, false},
	{"swaps", swapped, true},
	{"writes", writes, true},
}

// defenceless attacks a program without any of the defences, and in the long run
// programs without one each.
func defenceless(t *testing.T, r *proof.Result) {
	sets := [][]defence{defences}
	if proof.Soak() {
		for i := range defences {
			sets = append(sets, defences[i:i+1])
		}
	}
	for _, set := range sets {
		program := buildWithout(t, set)
		for _, one := range attacks {
			wanted := slices.Collect(func(yield func(defence) bool) {
				for _, d := range set {
					if d.attack == one.name && !yield(d) {
						return
					}
				}
			})
			if len(wanted) == 0 {
				continue
			}
			start := func() *page { return startPage(t, r, program) }
			if one.edit {
				start = func() *page { return startEdited(t, r, program, "--edit") }
			}
			p := start()
			// What stays open without a limit is known soon.
			p.slowFor = 10 * time.Second
			f := one.run(t, p)
			p.end(t)
			for _, d := range wanted {
				r.Trial(1)
				if !slices.ContainsFunc(f.broken, func(b string) bool { return strings.Contains(b, d.says) }) {
					r.Break("without %s no attack reports %q: %.2000q", d.name, d.says, f.broken)
				}
			}
		}
	}
	r.Note("%d defences", len(defences))
}

// buildWithout builds hookspan with lines of its source replaced.
func buildWithout(t *testing.T, set []defence) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for _, d := range set {
		path := filepath.Join(root, filepath.FromSlash(d.file))
		if overlay.Replace[path] == "" {
			overlay.Replace[path] = filepath.Join(dir, filepath.Base(path))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, overlay.Replace[path], string(b))
		}
		for pair := range slices.Chunk(d.change, 2) {
			b, err := os.ReadFile(overlay.Replace[path])
			if err != nil || strings.Count(string(b), pair[0]) != 1 {
				t.Fatalf("%s: %q is %d times in %s, want once (%v)", d.name, pair[0], strings.Count(string(b), pair[0]), d.file, err)
			}
			write(t, overlay.Replace[path], strings.Replace(string(b), pair[0], pair[1], 1))
		}
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(b))
	program := filepath.Join(dir, "hookspan")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/hookspan")
	cmd.Dir, cmd.Env = root, append(slices.Clone(os.Environ()), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

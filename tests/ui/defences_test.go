package ui

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/proof"
)

// defence is what keeps an attack from reaching the traces: one line or, where one alone
// would be enough, several.
type defence struct {
	name string
	// change has the name of a file, and texts of it, each followed by the one in its
	// place.
	change map[string][]string
	// row is the beginning of the row that then fails, and says this.
	row, says string
}

const (
	serverFile = "internal/ui/server.go"
	routesFile = "internal/ui/routes.go"
	policyFile = "internal/loopback/policy.go"
	appFile    = "internal/ui/assets/app.js"
	shellFile  = "internal/ui/assets/index.html"
)

var (
	noTextNodes = []string{".createTextNode(", ".markup(", "", `Document.prototype.markup=function(t){const e=this.createElement("span");e.innerHTML=t;return e};`}
	noSites     = []string{`return site == "same-origin"`, `return true || site == "same-origin"`}
)

var defences = []defence{
	{"a token", map[string][]string{serverFile: {"subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1", "subtle.ConstantTimeCompare(digest[:], s.digest[:]) >= 0"}}, "a tab without", "the page has data without its token"},
	{"text nodes", map[string][]string{appFile: noTextNodes}, "texts that become", "never true"},
	{
		"text nodes and the policy",
		map[string][]string{appFile: noTextNodes, serverFile: {`h.Set("Content-Security-Policy", contentPolicy)`, ""}},
		"texts that become", "became markup or a script",
	},
	{"visible characters", map[string][]string{routesFile: {"w.Write(visible(b))", "w.Write(b)"}}, "texts that become", "a character that reorders"},
	{
		"Sec-Fetch-Site and Cross-Origin-Resource-Policy",
		map[string][]string{serverFile: {`h.Set("Cross-Origin-Resource-Policy", "same-origin")`, ""}, policyFile: noSites},
		"a page at another port", "image: read: loaded",
	},
	{
		"Sec-Fetch-Site, Origin, the token and the answers' origin",
		map[string][]string{serverFile: {
			`h.Set("Cross-Origin-Resource-Policy", "same-origin")`, `h.Set("Access-Control-Allow-Origin", "*")`,
			"subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1", "true || digest == s.digest || subtle.ConstantTimeCompare(nil, nil) == 1", "if len(given) != 1 ||", "if len(given) == 0 {\n\t\treturn true\n\t}\n\tif",
		}, policyFile: append([]string{`return origin == "http://"+r.Host`, `return true || origin == "http://"+r.Host`}, noSites...)},
		"a page at another port", "event source: read: open",
	},
	{"the token's removal from the address", map[string][]string{appFile: {"history.replaceState(history.state,", "((a,b,c)=>a)(history.state,"}}, "the token in the tab", "never true"},
	{
		"no referrer",
		map[string][]string{serverFile: {`h.Set("Referrer-Policy", "no-referrer")`, ""}, shellFile: {`<meta name="referrer" content="no-referrer">`, ""}},
		"the token in the tab", "a request names the page",
	},
}

// without returns the texts of the files without the defence, by their paths.
func (d *defence) without(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for file, change := range d.change {
		path, err := filepath.Abs(filepath.Join("../..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for pair := range slices.Chunk(change, 2) {
			if pair[0] != "" && strings.Count(text, pair[0]) != 1 {
				t.Fatalf("%s: %q is %d times in %s, want once", d.name, pair[0], strings.Count(text, pair[0]), file)
			}
			text = strings.Replace(text, pair[0], pair[1], 1)
		}
		out[path] = text
	}
	return out
}

// TestDefencesAreWhereTheyAreTakenOut finds the lines of each defence, which the long run takes out.
func TestDefencesAreWhereTheyAreTakenOut(t *testing.T) {
	for i := range defences {
		defences[i].without(t)
	}
}

// defenceless runs rows again over a page without one of its defences.
func defenceless(t *testing.T, r *proof.Result) {
	if !proof.Soak() {
		r.Elsewhere("the page is built anew for each defence: left to the long run")
	}
	for _, d := range defences {
		dir := t.TempDir()
		replaced := make(map[string]string)
		for path, text := range d.without(t) {
			replaced[path] = filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := json.Marshal(map[string]any{"Replace": replaced})
		if err != nil {
			t.Fatal(err)
		}
		overlay := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(overlay, b, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^TestAttacks$", "-row", d.row, ".")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), d.says) {
			r.Break("without %s the row %q says %.3000s, want it to say %q (%v)", d.name, d.row, out, d.says, err)
		}
		r.Trial(1)
	}
}

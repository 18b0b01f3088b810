package fault_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var update = flag.Bool("update", false, "write testdata/spools/unreleased anew")

// upgradeRows let the programs of today take over what earlier versions left.
var upgradeRows = []proof.Row{{
	Name: "a state folder that an earlier version left, in the middle of deliveries",
	Rule: "each event is read, what was not delivered goes out once under the same ids, and the stored traces open",
	Run:  upgrade,
}}

// leftover is what a version left, and what comes of it.
type leftover struct {
	// Records counts the events of each session.
	Records map[string]int `json:"records"`
	// Stored are the spans that the store has in the end, Filed those that the
	// file had not got yet.
	Stored []string `json:"stored"`
	Filed  []string `json:"filed"`
}

const (
	spoolsDir  = "testdata/spools"
	unreleased = "unreleased"
)

func upgrade(t *testing.T, r *proof.Result) {
	entries, err := os.ReadDir(spoolsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		dir := filepath.Join(spoolsDir, e.Name())
		want := readLeftover(t, dir)
		home := stateHome(t, filepath.Join(dir, "state"))
		got := takeOver(t, home, false)
		if d := cmp.Diff(want, got); d != "" {
			r.Break("%s (-want +got):\n%s", e.Name(), d)
		}
		if _, said, code := runHookspan(t, home, "list", "--json"); code != 0 {
			r.Break("%s: hookspan list exits with %d and says %s", e.Name(), code, said)
		}
		if again := takeOver(t, home, false); !slices.Equal(again.Filed, got.Filed) {
			r.Break("%s: a second delivery brings the file from %d to %d spans", e.Name(), len(got.Filed), len(again.Filed))
		}
		r.Trial(len(want.Records))
	}
	tags, err := exec.CommandContext(t.Context(), "git", "tag", "--list", "v*").Output()
	if err != nil {
		r.Note("no git to ask for released versions")
		return
	}
	for tag := range strings.FieldsSeq(string(tags)) {
		if _, err := os.Stat(filepath.Join(spoolsDir, tag)); err != nil {
			r.Break("no state folder of the released version %s: see CONTRIBUTING.md", tag)
		}
	}
	r.Note("%d released versions", len(strings.Fields(string(tags))))
}

func readLeftover(t *testing.T, dir string) (l leftover) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "want.json")) //nolint:gosec // The test's own data.
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stateHome makes a home folder with a copy of a state folder in it.
func stateHome(t *testing.T, state string) string {
	t.Helper()
	home := t.TempDir()
	to := filepath.Join(home, powerState)
	err := filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(state, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		b, err := os.ReadFile(path) //nolint:gosec // The test's own data.
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	writeSettings(t, home)
	return home
}

func writeSettings(t *testing.T, home string) {
	t.Helper()
	env := filepath.Join(home, ".config", "hookspan", "hookspan.env")
	for _, dir := range []string{filepath.Dir(env), filepath.Join(home, filepath.Dir(powerFile))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(env, []byte(powerSettings(home, "boundary")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func runHookspan(t *testing.T, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	w := &lab.World{T: t, Home: home, Work: home, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	return w.Hookspan(args...)
}

// takeOver delivers with the real program, and reports the result. Logs
// may be damaged only where that is said.
func takeOver(t *testing.T, home string, damaged bool) leftover {
	t.Helper()
	if out, said, code := runHookspan(t, home, "flush", "--wait"); code != 0 {
		t.Fatalf("hookspan flush exits with %d and says %s%s", code, out, said)
	}
	l := leftover{Records: map[string]int{}}
	dir := filepath.Join(home, powerSpool)
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		log, err := readKey(dir, k)
		if err != nil || !damaged && (len(log.damage) > 0 || log.torn || log.unknown > 0) {
			t.Fatalf("log of %s: %v, %+v", k, err, log)
		}
		l.Records[k.String()] = len(log.records)
	}
	stored, integrity, err := storedSpans(t.Context(), filepath.Join(home, powerState, "traces.db"), "")
	if err != nil || integrity != "ok" {
		t.Fatalf("the store: %v, integrity %q", err, integrity)
	}
	filed, err := filedSpans(t, filepath.Join(home, powerFile), "")
	if err != nil {
		t.Fatal(err)
	}
	l.Stored, l.Filed = sortedKeys(stored), sortedKeys(filed)
	return l
}

func sortedKeys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// leftSession is a recorded session as in testdata/spools/unreleased:
// after the hooks up to first there was a delivery.
type leftSession struct {
	program, folder string
	first, last     int
}

var leftSessions = []leftSession{
	{"cline-hook", "cline/testdata/e2e-cli2/ok", 13, 15},
	{"cline-hook", "cline/testdata/next-session", 16, 21},
	{"cline-hook", "cline/testdata/e2e-cli3/subagent", 0, 8},
	{"claude-hook", "claude/testdata/e2e/background-subagent", 13, 16},
	{"claude-hook", "claude/testdata/e2e/interrupt", 2, 4},
}

// TestWriteUnreleased makes the state folder of the version at hand: real hooks
// store recorded payloads, and the real program delivers in between. What a hook
// records about its environment is made the same on every machine.
func TestWriteUnreleased(t *testing.T) {
	if !*update {
		t.Skip("writes testdata; asked for with -update")
	}
	home := t.TempDir()
	writeSettings(t, home)
	sp, err := spool.Open(filepath.Join(home, powerSpool), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)
	store := func(program, event string, payload []byte) {
		rec := hooked(t, program, event, payload)
		at = at.Add(time.Second)
		rec.At, rec.Cwd, rec.PPID = at, "/home/dev/project", 4711
		if err := sp.Append(rec); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range leftSessions {
		for _, e := range lab.Recording(t, "../../hook", s.folder)[:s.first] {
			store(s.program, e.Name, e.Payload)
		}
	}
	store("cline-hook", "PreToolUse", []byte("not JSON"))
	if out, said, code := runHookspan(t, home, "flush", "--wait"); code != 0 {
		t.Fatalf("hookspan flush: %d, %s%s", code, out, said)
	}
	for _, s := range leftSessions {
		for _, e := range lab.Recording(t, "../../hook", s.folder)[s.first:s.last] {
			store(s.program, e.Name, e.Payload)
		}
	}
	if err := sp.Close(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(spoolsDir, unreleased)
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "state", "spool"), os.DirFS(filepath.Join(home, powerSpool))); err != nil {
		t.Fatal(err)
	}
	db, err := os.ReadFile(filepath.Join(home, powerState, "traces.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "state", "traces.db"), db, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(takeOver(t, stateHome(t, filepath.Join(to, "state")), false), "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "want.json"), append(b, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hooked is the record that a real hook process stores of a payload.
func hooked(t *testing.T, program, event string, payload []byte) *spool.Record {
	t.Helper()
	w := lab.New(t)
	cmd := w.Program(program, event)
	cmd.Stdin = bytes.NewReader(payload)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v, %s", program, event, err, out)
	}
	recs := w.Records(t)
	if len(recs) != 1 {
		t.Fatalf("%s %s stored %d records", program, event, len(recs))
	}
	return recs[0]
}

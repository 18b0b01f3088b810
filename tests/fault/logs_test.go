package fault_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// logsDir has logs as hooks write them, of sessions of each form.
const logsDir = "testdata/logs"

// leftover is what is in a state folder, and comes of it.
type leftover struct {
	// Records counts the events of each session.
	Records map[string]int
	// Stored are the spans that the store has in the end, Filed those that the
	// file had not got yet.
	Stored, Filed []string
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
	logs, err := spooltest.Logs(filepath.Join(home, powerSpool))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if !damaged && log.Broken()+log.Unknown > 0 {
			t.Fatalf("log of %s: %+v", log.Key, log)
		}
		l.Records[log.Key.String()] = len(log.Records)
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

// recordedSession is a recorded session in testdata/logs, up to an event.
type recordedSession struct {
	program, folder string
	last            int
}

var recordedSessions = []recordedSession{
	{"cline-hook", "cline/testdata/e2e-cli2/ok", 15},
	{"cline-hook", "cline/testdata/next-session", 21},
	{"cline-hook", "cline/testdata/e2e-cli3/subagent", 8},
	{"claude-hook", "claude/testdata/e2e/background-subagent", 16},
	{"claude-hook", "claude/testdata/e2e/interrupt", 4},
}

// TestWriteLogs writes testdata/logs: real hooks store recorded payloads. What a hook
// records about its environment is made the same on every machine.
func TestWriteLogs(t *testing.T) {
	if !golden.Updating() {
		skip.Elsewhere(t, "writes testdata; asked for with -update")
	}
	if err := os.RemoveAll(logsDir); err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(logsDir, spool.Options{})
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
	for _, s := range recordedSessions {
		for _, e := range lab.Recording(t, "../../hook", s.folder)[:s.last] {
			store(s.program, e.Name, e.Payload)
		}
	}
	store("cline-hook", "PreToolUse", []byte("not JSON"))
	if err := sp.Close(); err != nil {
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

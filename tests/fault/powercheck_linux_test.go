package fault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// byProgram is how many states go by for each one that the real program
// delivers, too.
const byProgram = 100

// examine starts the machine again from what the disk holds: it reads the logs,
// continues the sessions, delivers, and compares with what must be there.
func (s *diskState) examine(t *testing.T, r *proof.Result, home string) {
	defer func() { _ = os.RemoveAll(home) }()
	if err := materialise(home, s.tree); err != nil {
		t.Error(err)
		return
	}
	var problems []string
	problems = append(problems, s.lost()...)
	must, wrong := s.later(home)
	problems = append(problems, wrong...)
	problems = append(problems, s.undelivered(t, home, must)...)
	if len(problems) > 0 {
		r.Break("state %d, after %s:\n%s", s.number, s.after, strings.Join(problems, "\n"))
	}
}

// lost describes the records that are missing from their logs.
func (s *diskState) lost() (problems []string) {
	for log, records := range s.known.lasting {
		missing := 0
		for _, rec := range records {
			if !bytes.Contains(s.tree[log], []byte(rec)) {
				missing++
			}
		}
		if missing > 0 {
			problems = append(problems, fmt.Sprintf("%d of %d lasting records are not in %s (%d bytes)", missing, len(records), log, len(s.tree[log])))
		}
	}
	return problems
}

// later continues the sessions, reads all logs, and returns the spans that a
// delivery must give.
func (s *diskState) later(home string) (must map[string]bool, problems []string) {
	dir := filepath.Join(home, powerSpool)
	added, err := s.goOn(dir)
	if err != nil {
		return nil, []string{fmt.Sprintf("the sessions cannot continue: %v", err)}
	}
	must = make(map[string]bool)
	for key, added := range added {
		l, err := spooltest.Read(dir, key)
		if err != nil {
			problems = append(problems, fmt.Sprintf("read %s: %v", key, err))
			continue
		}
		expect, wrong := s.compare(l, added, filepath.Join(dir, key.Host, key.Name, "events.json-seq"))
		for _, w := range wrong {
			problems = append(problems, key.String()+": "+w)
		}
		// What was lost from before a session's position may have been in a run that
		// counts as delivered: there only new runs are known whole.
		if s.mode != "never" {
			expect = l.Records
		}
		for _, spans := range runsOf(key.Host, expect, powerNow) {
			for _, sp := range spansOf(spans) {
				must[spanID(sp)] = true
			}
		}
	}
	return must, problems
}

// compare says what is wrong with what is read from a log: a record that no hook
// wrote, or one that was added after the power came back and is not there. It
// returns those that were added, as they are read.
func (s *diskState) compare(l spooltest.Log, added map[string]bool, log string) (later []*spool.Record, problems []string) {
	b, err := os.ReadFile(log) //nolint:gosec // The test's own.
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, rec := range l.Records {
		if added[recordID(rec)] {
			later = append(later, rec)
			continue
		}
		// A line feed at the end may be missing.
		if text := string(b[rec.Offset:rec.End]); !s.known.written[text] && !s.known.written[text+"\n"] {
			problems = append(problems, fmt.Sprintf("a record is read that nobody wrote: %.200q", text))
		}
	}
	if n := len(added) - len(later); n != 0 {
		problems = append(problems, fmt.Sprintf("of %d events that came later %d are not read", len(added), n))
	}
	return later, problems
}

func recordID(r *spool.Record) string { return fmt.Sprint(r.At.UnixNano(), string(r.Payload)) }

// undelivered delivers and reports what the destinations lack.
func (s *diskState) undelivered(t *testing.T, home string, must map[string]bool) (problems []string) {
	if s.number%byProgram == 0 {
		if err := flushByProgram(t.Context(), home, s.mode); err != nil {
			problems = append(problems, err.Error())
		}
	}
	state, file := filepath.Join(home, powerState), filepath.Join(home, powerFile)
	if err := deliverState(t.Context(), state, file, powerNow); err != nil {
		return append(problems, fmt.Sprintf("delivery: %v", err))
	}
	stored, integrity, err := storedSpans(t.Context(), filepath.Join(state, "traces.db"), "")
	if err != nil || integrity != "ok" {
		problems = append(problems, fmt.Sprintf("the store: %v, integrity %q", err, integrity))
	}
	filed, err := filedSpans(t, file, "")
	if err != nil {
		problems = append(problems, err.Error())
	}
	for destination, got := range map[string]map[string]bool{"store": stored, "file": filed} {
		counted := s.known.counted[destination]
		if n := missing(counted, got); n > 0 {
			problems = append(problems, fmt.Sprintf("%s lacks %d of %d spans that counted as delivered", destination, n, len(counted)))
		}
		if n := missing(must, got); n > 0 {
			problems = append(problems, fmt.Sprintf("%s lacks %d of %d spans of runs in the logs", destination, n, len(must)))
		}
	}
	return problems
}

func missing(want, got map[string]bool) (n int) {
	for id := range want {
		if !got[id] {
			n++
		}
	}
	return n
}

// goOn appends whole runs to sessions that there were, and to one that is new.
func (s *diskState) goOn(dir string) (map[spool.Key]map[string]bool, error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return nil, err
	}
	later := make(map[spool.Key]map[string]bool)
	for _, host := range []string{"cline", "claude-code"} {
		ids := []string{"conv_1795175967104_3b3h3lm", "1795174833149", "new"}
		if host == "claude-code" {
			ids = []string{"eac41571-255c-464a-8441-dccbd98b3d7e"}
		}
		for _, id := range ids {
			key := spool.SessionKey(host, id)
			added := make(map[string]bool)
			for run := range s.rng.IntN(4) {
				for i, p := range laterRun(host, id, run, s.rng.IntN(400), powerNow.Add(-90*time.Minute)) {
					rec := &spool.Record{
						Host: host, Session: id, Event: p.Name, Payload: p.Payload, Cwd: "/home/dev/project",
						At: powerNow.Add(-90 * time.Minute).Add(time.Duration(run*10+i) * time.Second),
					}
					if err := sp.Append(rec); err != nil {
						return nil, errors.Join(err, sp.Close())
					}
					added[recordID(rec)] = true
				}
			}
			// A session of which nothing is there has no log to be read.
			if _, err := os.Stat(filepath.Join(dir, key.Host, key.Name, "events.json-seq")); err == nil {
				later[key] = added
			}
		}
	}
	return later, sp.Close()
}

// flushByProgram delivers by hand.
func flushByProgram(ctx context.Context, home, mode string) error {
	env := filepath.Join(home, ".config", "hookspan", "hookspan.env")
	if err := os.MkdirAll(filepath.Dir(env), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(env, []byte(powerSettings(home, mode)), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(lab.Programs, "hookspan"), "flush", "--wait") //nolint:gosec // The program is ours.
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("hookspan flush: %w, said %s", err, out)
	}
	return nil
}

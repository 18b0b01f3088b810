package fault_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/powerfs"
)

// powerWork is what real programs did, recorded once for each setting.
type powerWork struct {
	sync string
	home string
	ops  []powerfs.Op
}

// powerFolders are there before the work begins; all else the programs make.
var powerFolders = []string{powerMarks, filepath.Dir(powerFile)}

// The marks by which the recording shows what was known outside, and when: a
// file is written when a hook answers, or made when hooks have exited, or when
// a delivery begins or has ended.
const (
	markAnswer = powerMarks + "/answer-"
	markExited = powerMarks + "/exited-"
	markBegins = powerMarks + "/begins-"
	markEnded  = powerMarks + "/ended-"
)

// script is the work as a shell script.
type script struct {
	t *testing.T
	bytes.Buffer
	n int
}

func (s *script) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *script) next() int {
	s.n++
	return s.n
}

// hooks are the payloads of a recording, from one number to another, one after
// the other.
func (s *script) hooks(program, folder string, from, to int) {
	for _, f := range s.payloads(folder, from, to) {
		if program == "cline-hook" {
			s.line("%s <'%s' >%s%d", s.call(program, f), f, markAnswer, s.next())
			continue
		}
		s.line("%s <'%s' >/dev/null; : >%s%d", s.call(program, f), f, markExited, s.next())
	}
}

// atOnce starts the hooks of such payloads at once.
func (s *script) atOnce(program, folder string, from, to int) {
	for _, f := range s.payloads(folder, from, to) {
		s.line("%s <'%s' >/dev/null &", s.call(program, f), f)
	}
	s.line("wait; : >%s%d", markExited, s.next())
}

func (s *script) call(program, file string) string {
	_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
	return fmt.Sprintf("'%s' %s", filepath.Join(lab.Programs, program), event)
}

func (s *script) payloads(folder string, from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		found, err := filepath.Glob(fmt.Sprintf("../../hook/%s/%03d-*.json", folder, n))
		if err != nil || len(found) != 1 {
			s.t.Fatalf("payload %d of %s: %v %v", n, folder, found, err)
		}
		abs, err := filepath.Abs(found[0])
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, abs)
	}
	return out
}

func (s *script) flush() {
	n := s.next()
	s.line(": >%s%d; '%s' flush --wait >/dev/null; : >%s%d", markBegins, n, filepath.Join(lab.Programs, "hookspan"), markEnded, n)
}

// Folders of payloads.
const (
	nextPayloads    = "cline/testdata/next-session"
	classicPayloads = "cline/testdata/e2e-cli2/ok"
	claudePayloads  = "claude/testdata/e2e/tools-resume"
)

// powerScript is the day that loses its power: three sessions side by side, some
// hooks at once, deliveries that hooks start and deliveries by hand, a session
// that is removed because it is old, and then continues.
func powerScript(t *testing.T) []byte {
	s := &script{t: t}
	s.line("umask 077")
	s.hooks("cline-hook", nextPayloads, 1, 4)
	s.hooks("claude-hook", claudePayloads, 1, 4)
	s.atOnce("cline-hook", nextPayloads, 5, 10)
	s.hooks("cline-hook", classicPayloads, 1, 5)
	s.hooks("cline-hook", nextPayloads, 11, 15)
	s.flush()
	s.hooks("claude-hook", claudePayloads, 5, 14)
	s.hooks("cline-hook", nextPayloads, 16, 18)
	s.flush()
	s.line(`touch -d '3 days ago' %s/cline/*/events.json-seq`, powerSpool)
	s.hooks("cline-hook", classicPayloads, 6, 9)
	s.flush()
	s.hooks("cline-hook", nextPayloads, 19, 21)
	s.hooks("cline-hook", classicPayloads, 10, 15)
	s.flush()
	s.hooks("cline-hook", nextPayloads, 22, 23)
	return s.Bytes()
}

// recordWork does the work under strace.
func recordWork(t *testing.T, sync string) *powerWork {
	t.Helper()
	home := t.TempDir()
	w := &powerWork{sync: sync, home: home}
	put := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(".config/hookspan/hookspan.env", powerSettings(home, sync))
	put("work.sh", string(powerScript(t)))
	for _, dir := range powerFolders {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), "strace", append(powerfs.StraceArgs(trace), "sh", "work.sh")...) //nolint:gosec // A test script.
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the work under strace: %v, said %s", err, out)
	}
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if w.ops, err = powerfs.Parse(f, home); err != nil {
		t.Fatal(err)
	}
	w.check(t)
	return w
}

// check holds the model to what is really there after the work, so that no call
// was misread, and the work to what it is for.
func (w *powerWork) check(t *testing.T) {
	t.Helper()
	fs := powerfs.New(w.home, powerFolders...)
	removed := 0
	for i, o := range w.ops {
		if err := fs.Apply(o); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
		// A log that is removed gets another name first.
		if o.Kind == powerfs.Rename && strings.HasSuffix(o.Path, "/events.json-seq") {
			removed++
		}
	}
	if removed == 0 {
		t.Fatal("no log was removed")
	}
	live := fs.Live()
	for name, b := range live {
		if b == nil {
			continue
		}
		got, err := os.ReadFile(filepath.Join(w.home, name)) //nolint:gosec // A file of the test's own.
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%s: the model has %d bytes, the disk %d: %v", name, len(b), len(got), err)
		}
	}
	for _, dir := range []string{powerState, "out"} {
		err := filepath.WalkDir(filepath.Join(w.home, dir), func(path string, d os.DirEntry, err error) error {
			name, rerr := filepath.Rel(w.home, path)
			if err != nil || rerr != nil {
				return fmt.Errorf("%w, %w", err, rerr)
			}
			if _, ok := live[name]; !ok && !strings.HasSuffix(name, "-shm") {
				t.Errorf("the model lacks %s", name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// filesystemRows have the file system lack what the programs ask of it.
// The flags of flock, as Linux has them.
const lockShared, lockExclusive = 1, 2

var filesystemRows = []proof.Row{
	{
		Name: "locks as NFS has them: a shared one of files open for reading alone, an exclusive one of files open for writing",
		Rule: "every event is stored, delivered once and removed",
		Run: func(t *testing.T, r *proof.Result) {
			onFileSystem(t, r, true, "", func(u trace.Use) syscall.Errno {
				writes, reads := u.Flags&(syscall.O_WRONLY|syscall.O_RDWR) != os.O_RDONLY, u.Flags&(syscall.O_WRONLY|syscall.O_RDWR) != os.O_WRONLY
				how := int(u.Arg) //nolint:gosec // LOCK_ constants.
				if u.Name == "flock" && (how&lockShared != 0 && !reads || how&lockExclusive != 0 && !writes) {
					return syscall.EBADF
				}
				return 0
			})
		},
	},
	{
		Name: "a file system without locks",
		Rule: "every event is stored and delivered once; nothing is removed, and doctor says why",
		Rest: true,
		Run: func(t *testing.T, r *proof.Result) {
			for _, errno := range []syscall.Errno{syscall.ENOSYS, syscall.ENOLCK, syscall.EBADF, syscall.EINVAL, syscall.EOPNOTSUPP} {
				onFileSystem(t, r, false, "files cannot be locked here", func(u trace.Use) syscall.Errno {
					if u.Name == "flock" {
						return errno
					}
					return 0
				})
			}
		},
	},
	{
		Name: "folders that cannot be synced, also with HOOKSPAN_SPOOL_SYNC=always",
		Rule: "every event is stored without a word, delivered once to each destination and removed",
		Rest: true,
		Run: func(t *testing.T, r *proof.Result) {
			for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.EBADF} {
				for _, sync := range []string{"boundary", "always"} {
					onFileSystem(t, r, true, "", func(u trace.Use) syscall.Errno {
						if info, err := os.Stat(u.Path); u.Name == "fsync" && err == nil && info.IsDir() {
							return errno
						}
						return 0
					}, "HOOKSPAN_SPOOL_SYNC="+sync)
				}
			}
		},
	},
	{
		Name: "SIGKILL at the system calls of a removal",
		Rule: "nothing that was delivered comes to a destination again; the next removal leaves nothing behind",
		Run:  func(t *testing.T, r *proof.Result) { killRemoval(t, r, &hosts[0], "", 48*time.Hour) },
	},
	{
		Name: "SIGKILL at the system calls of a removal that leaves an ended session's link",
		Rule: "nothing that was delivered comes to a destination again, also if the session continues; the next removal leaves no events behind",
		Run:  func(t *testing.T, r *proof.Result) { killRemoval(t, r, &hosts[1], "SessionEnd", time.Hour) },
	},
}

// twoDaysAgo makes everything in the spool silent for longer than a delivered log is kept.
func twoDaysAgo(t *testing.T, w *lab.World) { silentFor(t, w, 48*time.Hour) }

func silentFor(t *testing.T, w *lab.World, d time.Duration) {
	t.Helper()
	old := time.Now().Add(-d)
	err := filepath.WalkDir(filepath.Join(w.State(), "spool"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) != "sweep.stamp" {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// delivery is a traced hookspan flush.
func delivery(w *lab.World, args ...string) trace.Program {
	return trace.Program{Path: filepath.Join(lab.Programs, "hookspan"), Args: args, Env: w.Environ, Dir: w.Work}
}

// onFileSystem stores, delivers and removes a run under a rule for system calls.
func onFileSystem(t *testing.T, r *proof.Result, removed bool, told string, rule func(u trace.Use) syscall.Errno, settings ...string) {
	t.Helper()
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	w := lab.New(t, append(settings, "HOOKSPAN_EXPORTERS=store,otlp,file")...)
	f := &trace.Fault{Rule: rule}
	run := func(p trace.Program) *trace.Ending {
		t.Helper()
		end, err := trace.Run(p, f)
		if err != nil {
			t.Fatal(err)
		}
		r.Trial(1)
		return end
	}
	var l ledger
	a, want := &hosts[0], 3
	for range want {
		n := l.number()
		holdSweeps(t, w)
		if end := run(a.traced(w, a.tool, "fs", n)); end.Code != 0 || string(end.Stdout) != a.answer || len(end.Stderr) > 0 {
			r.Break("%s: code %d, answered %q, said %q", a.command(), end.Code, end.Stdout, end.Stderr)
		}
	}
	if records, _ := stored(t, w); len(records) != want {
		r.Break("%d events are stored, want %d", len(records), want)
	}
	if log, err := os.ReadFile(filepath.Join(w.State(), "hookspan.log")); err == nil {
		r.Break("the log says %q", log)
	}
	endRuns(t, w, &l)
	for range 2 {
		if end := run(delivery(w, "flush", "--wait")); end.Code != 0 {
			r.Break("hookspan flush: code %d: %s%s", end.Code, end.Stdout, end.Stderr)
		}
		twoDaysAgo(t, w)
	}
	for name, got := range map[string]map[string]int{"otlp": {}, "store": {}, "file": {}} {
		spans := w.OTLP.Spans()
		switch name {
		case "store":
			spans = w.Stored()
		case "file":
			spans = w.Filed()
		}
		for i := range spans {
			got[spans[i].Name] += max(1, spans[i].Count)
		}
		total := 0
		for _, n := range got {
			total += n
		}
		if total != want+1 {
			r.Break("%s has the spans %v, want a run of %d calls once", name, got, want)
		}
	}
	run(delivery(w, "flush", "--wait"))
	log := filepath.Join(w.State(), "spool", spool.SessionKey(a.name, "fs").String(), "events.json-seq")
	if _, err := os.Stat(log); errors.Is(err, fs.ErrNotExist) != removed {
		r.Break("removed: %v, want %v", err, removed)
	}
	if end := run(delivery(w, "doctor")); told != "" && !strings.Contains(string(end.Stdout), told) {
		r.Break("doctor does not say %q: %s", told, end.Stdout)
	}
}

// killRemoval kills the flush that removes a session which every destination has. end is
// the event of the session's end, if it leaves its link: then the session continues.
func killRemoval(t *testing.T, r *proof.Result, a *host, end string, silent time.Duration) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	b := &backlog{w: lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file"), files: make(map[string][]byte)}
	var l ledger
	hook := func(a *host, names ...string) {
		t.Helper()
		holdSweeps(t, b.w)
		for _, name := range names {
			if err := a.hook(b.w, name, "removal", l.number()); err != nil {
				t.Fatal(err)
			}
		}
	}
	tool := a.tool
	if end != "" {
		// A call without an end would keep the events for a day.
		tool = "PostToolUse"
		ended, started := *a, a.payload
		ended.payload = func(hook, session string, n int) []byte {
			if hook != tool {
				return started(hook, session, n)
			}
			return bytes.Replace(started(ended.tool, session, n), []byte(ended.tool), []byte(tool), 1)
		}
		a = &ended
	}
	hook(a, tool, tool)
	endRuns(t, b.w, &l)
	if end != "" {
		hook(a, end)
	}
	key := spool.SessionKey(a.name, "removal").String()
	b.w.Hookspan("flush", "--wait", "--session", key)
	b.save(t)
	flush := func(f *trace.Fault) *trace.Ending {
		silentFor(t, b.w, silent)
		ending, err := trace.Run(delivery(b.w, "flush", "--wait"), f)
		if err != nil {
			t.Fatal(err)
		}
		return ending
	}
	names := []string{"renameat", "unlinkat"}
	if proof.Soak() {
		names = append(names, "flock", "getdents64", "openat")
	}
	quiet := flush(nil)
	for _, name := range names {
		for n := range quiet.Calls[name] {
			b.restore(t)
			at := trace.Call{Name: name, N: n + 1}
			if flush(&trace.Fault{At: at}).Hit {
				r.Trial(1)
			}
			if end != "" {
				turn := fmt.Appendf(nil, `"prompt_id":"%s-%d"`, name, n)
				next := *a
				next.payload = func(hook, session string, n int) []byte {
					return bytes.ReplaceAll(a.payload(hook, session, n), []byte(`"prompt_id":"p1"`), turn)
				}
				hook(&next, tool, a.end, end)
			}
			flush(nil)
			flush(nil)
			for _, s := range b.w.OTLP.Spans() {
				if s.Count > 1 {
					r.Break("killed at %s: span %q came to otlp %d times", at, s.Name, s.Count)
				}
			}
			dir := filepath.Join(b.w.State(), "spool", a.name)
			if end != "" {
				if _, err := os.Stat(filepath.Join(b.w.State(), "spool", key, "events.json-seq")); !errors.Is(err, fs.ErrNotExist) {
					r.Break("killed at %s: the events are still there: %v", at, err)
				}
				continue
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				left, _ := os.ReadDir(filepath.Join(dir, entries[0].Name()))
				r.Break("killed at %s: the session is still there with %v", at, left)
			}
		}
	}
}

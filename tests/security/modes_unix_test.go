//go:build !windows

package security_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// modeRows are about who else on the machine can read or write what is kept.
var modeRows = []proof.Row{
	{
		Name:  "hooks, deliveries, the bridge, installing, importing and every other command under the umasks 0000, 0022, 0077 and 0777, as root (in the long run) and as another user",
		Rule:  "they work; folders of hookspan's own are 0700 and files 0600, hook files 0755, backups and lists of trust 0600",
		Short: 60, Long: 100, Run: umasks,
	},
	{
		Waits: true,
		Name:  "state folders, spools, logs, stores, delivery states and sessions with modes, owners and links that others have a hand in",
		Rule:  "what others can write or own is refused with a line in the log, or narrowed; hooks answer; no link leads a write elsewhere",
		Short: 25, Rest: true, Run: looseModes,
	},
	{
		Waits: true,
		Name:  "HOOKSPAN_FILE_PATH in a folder of this user and in one that all can write to: links, pipes, files of another user, with a second name, writable by others",
		Rule:  "refused with the reason, what the name leads to stays as it is, and the other destinations get their spans; a file of this user's alone is written",
		Short: 9, Run: fileDestinations,
	},
	{
		Name:  "cline-hook --port with a port on which another user listens",
		Rule:  "nothing is sent there, and the event is in the file; a bridge of the same user gets it",
		Short: 4, Run: otherUsersPorts,
	},
}

// fileDestinations delivers to a file that others may have a hand in.
func fileDestinations(t *testing.T, r *proof.Result) {
	write := func(path string, mode fs.FileMode) error {
		return errors.Join(os.WriteFile(path, []byte("kept\n"), 0o600), os.Chmod(path, mode))
	}
	cases := []struct {
		name    string
		shared  bool
		make    func(path, canary string) error
		refused bool
	}{
		{"absent", true, func(string, string) error { return nil }, false},
		{"own", true, func(path, _ string) error { return write(path, 0o600) }, false},
		{"own, readable by all", true, func(path, _ string) error { return write(path, 0o644) }, false},
		{"own, writable by the group, in a folder of this user", false, func(path, _ string) error { return write(path, 0o664) }, false},
		{"writable by all", true, func(path, _ string) error { return write(path, 0o666) }, true},
		{"a link", false, func(path, canary string) error { return os.Symlink(filepath.Join(canary, "x"), path) }, true},
		{"a link to nothing", true, func(path, canary string) error { return os.Symlink(filepath.Join(canary, "new"), path) }, true},
		{"a second name", true, func(path, canary string) error { return os.Link(filepath.Join(canary, "x"), path) }, true},
		{"a pipe", false, func(path, _ string) error { return mkfifo(path) }, true},
		{"another user's", true, func(path, _ string) error {
			return errors.Join(write(path, 0o666), os.Lchown(path, nobody, nobody))
		}, true},
	}
	for _, c := range cases {
		if c.name == "another user's" && os.Getuid() != 0 {
			r.Note("as this user alone")
			continue
		}
		w, canary, _ := guarded(t)
		dir := filepath.Join(w.Home, "shared")
		path := filepath.Join(dir, "traces.jsonl")
		mode := fs.FileMode(0o700)
		if c.shared {
			mode = 0o777 | fs.ModeSticky
		}
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode), c.make(path, canary)); err != nil {
			t.Fatal(err)
		}
		w.Environ = append(w.Environ, "HOOKSPAN_FILE_PATH="+path)
		kept := snapshot(t, canary, nil)
		w.Play(task(t, "file", "prompt", "read_file", "a", "b"))
		endSweeps(t, w)
		results := w.Flush()
		if after := snapshot(t, canary, nil); !mapsEqual(kept, after) {
			r.Break("%s: written to where the name leads", c.name)
		}
		if len(w.OTLP.Spans()) == 0 {
			r.Break("%s: the other destination got nothing", c.name)
		}
		info, err := os.Lstat(path)
		written := false
		if err == nil && info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			written = bytes.Contains(b, []byte("resourceSpans"))
		}
		if file := results["file"]; c.refused == written || c.refused == (len(file.Errors) == 0) {
			r.Break("%s: written %t, result %+v", c.name, written, file)
		}
		r.Trial(1)
	}
}

// otherUsersPorts has another user listen where events are posted.
func otherUsersPorts(t *testing.T, r *proof.Result) {
	if os.Getuid() != 0 {
		r.Skip("only root can start a listener as another user")
	}
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		r.Skip("the system does not say whose a socket is: %v", err)
	}
	for _, uid := range []int{nobody, -1} {
		theirs := lab.New(t)
		if uid >= 0 {
			giveTo(t, theirs, uid)
		}
		b := startBridgeAs(t, theirs, func(cmd *exec.Cmd) { under(cmd, "0022", uid) })
		w := lab.New(t)
		for _, body := range []string{`{"session_id":"p","hook_event_name":"Stop","prompt":"` + secret + `"}`, strings.Repeat(" ", 1<<20) + `{"session_id":"p"}`} {
			o := w.Call(lab.Call{Args: []string{"--port", fmt.Sprint(b.Port), "--dir", "kept"}, Stdin: strings.NewReader(body)})
			if err := o.Neutral(""); err != nil {
				r.Break("user %d: %v", uid, err)
			}
			r.Trial(1)
		}
		kept, _ := os.ReadFile(filepath.Join(w.Work, "kept", "cline-hook-events.json"))
		said, _ := os.ReadFile(filepath.Join(w.Work, "kept", "cline-hook-events-errors.json"))
		if n := b.events(t); uid >= 0 && n != 0 || uid < 0 && n != 2 {
			r.Break("a bridge of user %d got %d events", uid, n)
		}
		if uid >= 0 && (!bytes.Contains(kept, []byte(secret)) || !bytes.Contains(said, []byte(fmt.Sprintf("served by user %d", uid)))) {
			r.Break("the file holds %.200q, its errors %.300q", kept, said)
		}
		b.end(t)
	}
}

// nobody is the id of a user without privileges.
const nobody = 65534

// under has a program run under a umask, as another user where uid is not -1.
func under(cmd *exec.Cmd, umask string, uid int) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", `umask "$0"; exec "$@"`, umask, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	if uid >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}} //nolint:gosec // A user's number.
	}
	return cmd
}

// giveTo makes a world another user's, and the way there passable.
func giveTo(t *testing.T, w *lab.World, uid int) {
	t.Helper()
	err := errors.Join(os.Chmod(filepath.Dir(w.Home), 0o711), os.Chmod(lab.Programs, 0o755))
	err = errors.Join(err, filepath.WalkDir(w.Home, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func umasks(t *testing.T, r *proof.Result) {
	users := []int{-1}
	switch {
	case os.Getuid() != 0:
		r.Note("as this user alone: another takes root")
	case proof.Soak():
		users = append(users, nobody)
	default:
		users = []int{nobody} // who has more to trip over
	}
	files := 0
	for _, uid := range users {
		for _, umask := range []string{"0000", "0022", "0077", "0777"} {
			w := lab.New(t)
			who := fmt.Sprintf("umask %s, user %d", umask, uid)
			if err := os.MkdirAll(filepath.Join(w.Home, "project", ".cline"), 0o700); err != nil {
				t.Fatal(err)
			}
			w.Write("project/.cline/hooks.json", `{"hooks":{}}`)
			w.Write(".claude/settings.json", `{"env":{"A":"b"}}`)
			if uid >= 0 {
				giveTo(t, w, uid)
			}
			run := func(stdin []byte, name string, args ...string) {
				t.Helper()
				cmd := under(w.Program(name, args...), umask, uid)
				cmd.Stdin = bytes.NewReader(stdin)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				switch {
				case name != "hookspan" && (err != nil || name == "cline-hook" && string(out) != lab.Neutral || name == "claude-hook" && len(out) > 0):
					r.Break("%s: %s %v: %v, said %q", who, name, args, err, out)
				case err != nil && (!errors.As(err, &exit) || args[0] != "doctor" && args[0] != "flush"):
					r.Break("%s: %s %v: %v, said %q", who, name, args, err, out)
				}
				r.Trial(1)
			}
			run([]byte("{}"), "cline-hook", "PreToolUse") // the first of all makes the folders
			for _, e := range task(t, "modes", "prompt", "read_file", "a", "b") {
				run(e.Payload, "cline-hook", e.Name)
			}
			run(text(t, object{"session_id": "c", "hook_event_name": "Stop"}), "claude-hook", "Stop")
			for _, args := range [][]string{
				{"flush"},
				{"list"},
				{"show"},
				{"status"},
				{"doctor"},
				{"hooks", "add", "--event", "PreToolUse", "--", "true"},
				{"hooks", "trust", "--yes", filepath.Join(w.Home, "project")},
				{"install", "cline"},
				{"install", "claude"},
				{"import", "cline"},
				{"pause"},
				{"resume"},
			} {
				run(nil, "hookspan", args...)
			}
			// Hooks of the user's own keep a memory.
			run(clineEvent(t, "own", "PreToolUse", object{"preToolUse": object{"toolName": "x", "parameters": object{}}}).Payload, "cline-hook", "PreToolUse")
			bridged(t, w, r, umask, uid)
			endSweeps(t, w)
			files += checkModes(t, r, w, who)
			if n := stores(t, w); n < 6 {
				r.Break("%s: %d events are stored, want at least 6", who, n)
			}
		}
	}
	r.Note("%d files and folders looked at", files)
}

func bridged(t *testing.T, w *lab.World, r *proof.Result, umask string, uid int) {
	t.Helper()
	b := startBridgeAs(t, w, func(cmd *exec.Cmd) { under(cmd, umask, uid) }, "--record", "--dir", filepath.Join(w.Home, "kept"))
	if code, answer := b.post(t, "/claude-hook", []byte(`{"session_id":"b","hook_event_name":"Stop"}`)); code != http.StatusOK {
		r.Break("umask %s, user %d: the bridge answered %d: %s", umask, uid, code, answer)
	}
	b.end(t)
	r.Trial(1)
}

// checkModes holds everything that hookspan has made to its modes.
func checkModes(t *testing.T, r *proof.Result, w *lab.World, who string) (n int) {
	t.Helper()
	want := func(path string, mode fs.FileMode) {
		info, err := os.Lstat(path)
		if err != nil {
			r.Break("%s: %v", who, err)
			return
		}
		if info.Mode().Perm() != mode {
			r.Break("%s: %s has mode %v, want %v", who, path, info.Mode(), mode)
		}
		n++
	}
	for _, root := range []string{w.State(), filepath.Join(w.Home, "kept")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				want(path, 0o700)
			} else {
				want(path, 0o600)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]fs.FileMode{
		w.File(): 0o600, filepath.Join(w.Home, ".config/hookspan/trusted-hooks.json"): 0o600,
		filepath.Join(w.Home, ".claude/settings.json.hookspan-backup"): 0o600, filepath.Join(w.Home, ".claude/settings.json"): 0o600,
		filepath.Join(w.Home, ".cline/hooks.json"): 0o600,
	} {
		want(path, mode)
	}
	scripts, err := filepath.Glob(filepath.Join(w.Home, "Documents", "Cline", "Hooks", "*"))
	if err != nil || len(scripts) == 0 {
		r.Break("%s: no hook files (%v)", who, err)
	}
	for _, s := range scripts {
		want(s, 0o755)
	}
	return n
}

// looseModes prepares a machine, changes one thing and lets a hook and a delivery
// meet it.
func looseModes(t *testing.T, r *proof.Result) {
	spoolOf := func(w *lab.World) string { return filepath.Join(w.State(), "spool") }
	session := func(w *lab.World) string {
		all, err := filepath.Glob(filepath.Join(spoolOf(w), "cline", "*"))
		if err != nil || len(all) == 0 {
			t.Fatalf("no session: %v", err)
		}
		return all[0]
	}
	chmod := func(mode fs.FileMode, name func(*lab.World) string) func(*lab.World, string) error {
		return func(w *lab.World, _ string) error { return os.Chmod(name(w), mode) }
	}
	below := func(name string) func(*lab.World) string {
		return func(w *lab.World) string { return filepath.Join(w.State(), name) }
	}
	in := func(name string) func(*lab.World) string {
		return func(w *lab.World) string { return filepath.Join(session(w), name) }
	}
	own := func(name func(*lab.World) string) func(*lab.World, string) error {
		return func(w *lab.World, _ string) error { return os.Lchown(name(w), nobody, nobody) }
	}
	link := func(name func(*lab.World) string) func(*lab.World, string) error {
		return func(w *lab.World, to string) error {
			path := name(w)
			target := filepath.Join(to, "target-"+filepath.Base(w.Home))
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				if err := os.Mkdir(target, 0o700); err != nil {
					return err
				}
			} else if err := os.WriteFile(target, nil, 0o600); err != nil {
				return err
			}
			return errors.Join(os.RemoveAll(path), os.Symlink(target, path))
		}
	}
	cases := []struct {
		name string
		do   func(w *lab.World, canary string) error
		// refused says that the event cannot be stored.
		refused bool
		// narrowed is what ends up with fewer rights.
		narrowed func(*lab.World) string
	}{
		{"spool writable by all", chmod(0o777, spoolOf), true, nil},
		{"spool writable by the group", chmod(0o770, spoolOf), true, nil},
		{"spool readable by all", chmod(0o755, spoolOf), false, nil},
		{"spool of another user", own(spoolOf), true, nil},
		{"spool a link", link(spoolOf), true, nil},
		{"agent's folder a link", link(func(w *lab.World) string { return filepath.Join(spoolOf(w), "cline") }), true, nil},
		{"session a link", link(session), true, nil},
		{"log of events a link", link(in("events.json-seq")), true, nil},
		{"delivery state a link", link(in("delivery.json")), false, nil},
		{"state folder writable by all", chmod(0o777, below("")), false, nil},
		{"log a link", link(below("hookspan.log")), false, nil},
		{"log writable by all", chmod(0o666, below("hookspan.log")), false, nil},
		{"store readable by all", chmod(0o644, below("traces.db")), false, below("traces.db")},
		{"store writable by all", chmod(0o666, below("traces.db")), false, below("traces.db")},
	}
	for _, c := range cases {
		if c.name == "spool of another user" && os.Getuid() != 0 {
			continue
		}
		w, canary, _ := guarded(t)
		w.Hookspan("list") // makes the store
		w.Hook("PreToolUse", toolCall(t, "loose", "read_file", "a", "b").Payload)
		w.Hook("x", []byte("not JSON")) // a line of the log
		endSweeps(t, w)
		if _, err := os.Stat(filepath.Join(w.State(), "hookspan.log")); err != nil {
			w.Write(".local/state/hookspan/hookspan.log", "")
		}
		before := len(w.Records(t))
		if err := c.do(w, canary); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		kept := snapshot(t, canary, nil)
		call := clineEvent(t, "loose", "PreToolUse", object{"preToolUse": object{"toolName": "x", "parameters": object{}}})
		if err := w.TryHook("PreToolUse", call.Payload); err != nil {
			r.Break("%s: %v", c.name, err)
		}
		r.Trial(1)
		for _, args := range [][]string{{"status"}, {"doctor"}, {"list"}} {
			w.Hookspan(args...)
		}
		r.Trial(1)
		if after := snapshot(t, canary, nil); !mapsEqual(kept, after) {
			r.Break("%s: written to where the link leads: %v", c.name, after)
		}
		stored := stores(t, w) > before
		if stored == c.refused {
			r.Break("%s: the event was stored: %t", c.name, stored)
		}
		if c.refused {
			log, err := os.ReadFile(filepath.Join(w.State(), "hookspan.log"))
			if err != nil || !strings.Contains(string(log), "event not stored") {
				r.Break("%s: the log does not say that an event was not stored (%v): %q", c.name, err, log)
			}
			out, _, code := w.Hookspan("doctor")
			if code == 0 {
				r.Break("%s: hookspan doctor finds nothing: %s", c.name, out)
			}
		}
		if c.narrowed != nil {
			if info, err := os.Stat(c.narrowed(w)); err != nil || info.Mode().Perm()&0o077 != 0 {
				r.Break("%s: it stays so: %v, %v", c.name, info.Mode(), err)
			}
		}
	}
}

// stores counts the events in the files that are really the spool's.
func stores(t *testing.T, w *lab.World) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.State(), "spool", "*", "*", "events.json-seq"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(b, []byte{0x1e})
	}
	return n
}

package security_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// mostRead is the memory in bytes below which a program stays, whatever is in the
// place of a file that it reads.
const mostRead = 128 << 20

// kindRows are about what can be in the place of a file that another user can
// write: a repository, an agent, another user.
var kindRows = []proof.Row{
	{
		Name:  "a project's .hookspan.env and .cline/hooks.json, and a state folder's log, exchanged for a pipe and back without pause while hooks run",
		Rule:  "each hook answers neutrally; none waits for the pipe",
		Short: 60, Long: 3000, Run: exchanged,
	},
	{
		Waits: true,
		Name: "pipes, sockets, folders, links to an endless device and files of a terabyte in the place of each file that hooks and commands read: " +
			"settings, trust, rules, hooks, logs, records, transcripts, destinations",
		Rule:  fmt.Sprintf("each program ends by itself and uses below %d MB", mostRead>>20),
		Short: 300, Rest: true, Run: oddKinds,
	},
	{
		Name:  "a transcript of Claude Code's that a hook names, with a terabyte behind its rows, or as one of these kinds, when its run is delivered",
		Rule:  fmt.Sprintf("the run's spans arrive without what is beyond the limits; the log and the doctor name a file that was not read whole; below %d MB", mostRead>>20),
		Short: 7, Run: oddTranscripts,
	},
}

func oddTranscripts(t *testing.T, r *proof.Result) {
	const session = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"
	all := maps.Clone(kinds)
	all["rows and a terabyte"] = func(path string) error {
		row := `{"type":"user","sessionId":"` + session + `","timestamp":"2026-11-20T11:00:00Z","message":{"role":"user","content":"x"}}` + "\n"
		return errors.Join(os.WriteFile(path, []byte(row), 0o600), os.Truncate(path, 1<<40))
	}
	peak := int64(0)
	for kind, put := range all {
		w := lab.New(t)
		path := filepath.Join(w.Home, ".claude", "projects", "-w", session+".jsonl")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
			t.Fatal(err)
		}
		for _, event := range []object{
			{"hook_event_name": "UserPromptSubmit", "prompt": "go"},
			{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": object{"command": "ls"}, "tool_response": object{"stdout": "x"}},
			{"hook_event_name": "Stop"},
		} {
			event["session_id"], event["transcript_path"], event["cwd"] = session, path, w.Work
			o := w.Call(lab.Call{Program: "claude-hook", Args: []string{fmt.Sprint(event["hook_event_name"])}, Stdin: bytes.NewReader(text(t, event))})
			if err := o.Neutral(""); err != nil {
				r.Break("%s: %v", kind, err)
			}
		}
		endSweeps(t, w)
		o, kib, err := w.Peak(lab.Call{Program: "hookspan", Args: []string{"flush", "--wait"}})
		if err != nil || o.Code != 0 || kib<<10 >= mostRead {
			r.Break("%s: %s, %d MB, %v, said %.300q", kind, o.State, kib>>10, err, o.Err)
		}
		peak = max(peak, kib)
		if n := len(w.OTLP.Spans()); n < 2 {
			r.Break("%s: %d spans arrived, want the run and its call", kind, n)
		}
		doctor, _, _ := w.Hookspan("doctor")
		log, _ := os.ReadFile(filepath.Join(w.State(), "hookspan.log"))
		if strings.Contains(kind, "terabyte") && (!strings.Contains(doctor, "left out") || !bytes.Contains(log, []byte(session+".jsonl"))) {
			r.Break("%s: nothing says that a part was left out: log %.300q, doctor %.300q", kind, log, doctor)
		}
		r.Trial(1)
	}
	r.Note("peak %d MB", peak>>10)
}

// exchange has a file and a pipe take turns under a name until the returned
// function is called.
func exchange(t *testing.T, path string) (stop func()) {
	t.Helper()
	other := path + ".other"
	if err := unix.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	end, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-end:
				done <- nil
				return
			default:
				// hookspan may move what is too long for a log out of the way.
				err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
				if err != nil && !errors.Is(err, unix.ENOENT) {
					done <- err
					return
				}
			}
		}
	}()
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func exchanged(t *testing.T, r *proof.Result) {
	places := []string{"work/.hookspan.env", "work/.cline/hooks.json", ".local/state/hookspan/hookspan.log"}
	for _, place := range places {
		w := lab.New(t)
		w.Write(place, `{"hooks":{}}`)
		stop := exchange(t, filepath.Join(w.Home, place))
		for i := range r.N / len(places) {
			call := clineEvent(t, "exchanged", "PostToolUse", object{
				"workspaceRoots": []string{w.Work}, "postToolUse": object{"toolName": "x", "parameters": object{"i": i}, "result": "y", "success": true},
			})
			payload := call.Payload
			if place == places[2] && i%2 == 0 {
				payload = []byte("not JSON") // a line of the log
			}
			o := w.Call(lab.Call{Args: []string{"PostToolUse"}, Stdin: bytes.NewReader(payload)})
			if err := o.Neutral(lab.Neutral); err != nil {
				r.Break("%s, hook %d: %v", place, i, err)
			}
			r.Trial(1)
		}
		stop()
		endSweeps(t, w)
	}
}

// kinds make something else than a file.
var kinds = map[string]func(path string) error{
	"a pipe":             mkfifo,
	"a folder":           func(path string) error { return os.Mkdir(path, 0o700) },
	"an endless device":  func(path string) error { return os.Symlink("/dev/zero", path) },
	"a link to a pipe":   func(path string) error { return errors.Join(mkfifo(path+".pipe"), os.Symlink(path+".pipe", path)) },
	"a socket":           socketAt,
	"a terabyte of zero": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
}

// socketAt makes a socket. Its path may be longer than the kernel takes.
func socketAt(path string) error {
	dir, err := os.MkdirTemp("", "socket")
	if err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return errors.Join(l.Close(), os.Rename(filepath.Join(dir, "s"), path), os.Remove(dir))
}

func oddKinds(t *testing.T, r *proof.Result) {
	const taskID, session, claude = "1795174833149", "1795174957841_0jeru", "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"
	hook := []string{"cline-hook", "PreToolUse"}
	flush := []string{"hookspan", "flush"}
	doctor := []string{"hookspan", "doctor"}
	status := []string{"hookspan", "status"}
	hooks := func(args ...string) []string { return append([]string{"hookspan", "hooks"}, args...) }
	do := func(args ...string) []string { return append([]string{"hookspan"}, args...) }
	places := map[string][][]string{
		"work/.hookspan.env":                                                 {hook, do("config"), do("import", "cline")},
		"work/.cline/hooks.json":                                             {hook, hooks("list"), hooks("trust", "--yes"), hooks("trust", "--list"), hooks("check"), hooks("add", "--project", ".", "--event", "PreToolUse", "--", "true")},
		"work/.claude/settings.json":                                         {do("install", "claude", "--project", ".", "--scope", "project"), status},
		".cline/hooks.json":                                                  {hook, hooks("list"), hooks("check"), hooks("add", "--event", "PreToolUse", "--", "true"), {"cline-hook", "--status"}, {"cline-hook", "--enable"}},
		".config/hookspan/trusted-hooks.json":                                {hook, hooks("trust", "--list"), hooks("list")},
		".config/hookspan/hookspan.env":                                      {hook, do("config"), doctor},
		".config/hookspan/redact.rules":                                      {flush, doctor},
		".claude/settings.json":                                              {do("install", "claude"), hooks("import", "claude"), status, do("uninstall", "claude")},
		".claude/settings.json.hookspan-backup":                              {do("install", "claude"), do("uninstall", "claude")},
		".local/state/hookspan/hookspan.log":                                 {hook, doctor},
		".local/state/hookspan/install.json":                                 {do("install", "cline"), status, do("uninstall", "cline")},
		".local/state/hookspan/traces.db":                                    {do("list"), flush, doctor},
		".local/state/hookspan/paused":                                       {hook, do("pause"), do("resume")},
		".cline/data/globalState.json":                                       {do("install", "cline"), status, doctor},
		".claude/projects/-w/" + claude + ".jsonl":                           {do("import", "claude")},
		".cline/data/tasks/" + taskID + "/ui_messages.json":                  {do("import", "cline")},
		".cline/data/sessions/" + session + "/" + session + ".messages.json": {do("import", "cline")},
		"Documents/Cline/Hooks/TaskStart":                                    {do("install", "cline"), status, do("uninstall", "cline")},
		".cline/hook-events/cline-hook-events.json":                          {{"cline-hook", "--dir", "../.cline/hook-events"}},
		"traces.jsonl":                                                       {flush},
	}
	peak := int64(0)
	for place, commands := range places {
		for kind, put := range kinds {
			w := lab.New(t)
			// Something to deliver, and trust to look up.
			w.Write("work/.cline/hooks.json", `{"hooks":{}}`)
			if _, errs, code := w.Hookspan("hooks", "trust", "--yes", w.Work); code != 0 {
				t.Fatal(errs)
			}
			w.Play(task(t, "kinds", "prompt", "read_file", "a", "b"))
			endSweeps(t, w)
			path := filepath.Join(w.Home, filepath.FromSlash(place))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.RemoveAll(path)); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			for _, argv := range commands {
				payload := clineEvent(t, "kinds", "PreToolUse", object{"workspaceRoots": []string{w.Work}, "preToolUse": object{"toolName": "x", "parameters": object{}}}).Payload
				o, kib, err := w.Peak(lab.Call{Program: argv[0], Args: argv[1:], Stdin: bytes.NewReader(payload)})
				what := fmt.Sprintf("%s as %s: %s", place, kind, strings.Join(argv, " "))
				switch {
				case o.State == "hung", o.Code < 0, strings.Contains(o.Err, "panic:"):
					r.Break("%s: %s, said %.300q", what, o.State, o.Err)
				case err != nil:
					t.Fatalf("%s: %v", what, err)
				case kib<<10 >= mostRead:
					r.Break("%s: used %d MB, want below %d", what, kib>>10, mostRead>>20)
				case argv[0] == "cline-hook" && o.Code != 0 && !strings.HasPrefix(argv[1], "--"):
					r.Break("%s: %s, said %.300q", what, o.State, o.Err)
				}
				peak = max(peak, kib)
				r.Trial(1)
			}
			endSweeps(t, w)
		}
	}
	r.Note("%d places, %d kinds, peak %d MB", len(places), len(kinds), peak>>10)
}

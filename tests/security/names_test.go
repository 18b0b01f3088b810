package security_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// nameRows give the programs names that lead somewhere, in every place of a
// payload that holds one.
var nameRows = []proof.Row{
	{
		Name:  "hostile names as session ids, tool names, paths, hook names, folders and arguments, through both hooks",
		Rule:  "each hook answers neutrally; nothing outside the state folder changes, and in it no name is made of theirs",
		Short: 400, Run: hostileNames,
	},
	{
		Name:  "the same posted to the bridge, with --record and --dir",
		Rule:  "as above; the bridge continues",
		Short: 80, Run: hostilePosts,
	},
	{
		Name:  "session ids that look alike: Unicode forms, letter case, width, invisible and final characters",
		Rule:  "each is a separate session",
		Short: 30, Run: twins,
	},
}

// names are what a payload or a project can be called. dir is a folder that must
// stay as it is.
func names(dir string) []string {
	return []string{
		"../../../../../../canary/x", "../../../../../canary/x", "../../canary/x", "../canary", "..", ".", "./", "/", "//", "~", "~/x", "~root/x",
		dir + "/x", dir, "file://" + dir + "/x", `..\..\..\canary\x`, `C:\canary\x`, `\\server\share\x`, `\\?\C:\x`, "C:x",
		"%2e%2e%2f%2e%2e%2fcanary%2fx", "..%2f..%2fcanary", "%2e%2e/canary", "..%c0%afcanary", "%00", "....//....//canary", "..;/canary",
		"a/b/c", "a\x00b", "../canary/x\x00.json", "a\nb", "a\r\nb: c", "\n", "\t", "", " ", "  x  ", ".hidden", "-", "--", "-rf", "--config=x",
		"CON", "NUL", "aux", "PRN.txt", "COM1", "LPT1:", "a.", "a..", "a ", "a. .", "a:stream", "x::$DATA", "a*?<>|\"",
		"$(touch CANARY)", "`touch CANARY`", "; touch CANARY #", "| touch CANARY", "&& touch CANARY", "'; touch CANARY; '", "\"; touch CANARY; \"",
		"$HOME", "${IFS}x", "%HOME%", "%s%n%x", "{{.}}", "${jndi:ldap://127.0.0.1/x}", "' OR 1=1; DROP TABLE spans; --", "__proto__", "constructor",
		"\u202egnp.exe", "zero\u200bwidth", "\ufeffbom", "\u2066isolate\u2069", "e\u0301", "\u00e9", "\U0001f600", "\ud7ff", "\x1b]0;x\x07", "\x9b2J",
		"invalid\xff\xfe", strings.Repeat("n", 255), strings.Repeat("n", 300), strings.Repeat("../", 2000), strings.Repeat("é", 5000), strings.Repeat("m", 1<<20),
	}
}

// stateNames are the only paths below the state folder.
var stateNames = regexp.MustCompile(`^(\.|hookspan\.log(\.1)?|traces\.db(-wal|-shm)?|\.sweep|limits\.jsonl|budgets(/sent\.json)?|programs(/c[a-z]+-hook\.[a-z]+)?|` +
	`spool(/\.?[a-z.-]+|/(cline|claude-code)(/[0-9a-f]{32}(/[a-z.-]+)?)?)?)$`)

// untouched holds a world to the rule: what is around the state folder is as it
// was, and in the state folder are known names alone.
func untouched(t *testing.T, r *proof.Result, w *lab.World, before map[string]string) {
	t.Helper()
	after := outside(t, w)
	for path, what := range after {
		if before[path] != what {
			r.Break("%q outside the state folder was %q and is %q", path, before[path], what)
		}
	}
	for path := range before {
		if after[path] == "" {
			r.Break("%q outside the state folder is gone", path)
		}
	}
	for path := range snapshot(t, w.State(), nil) {
		if !stateNames.MatchString(path) {
			r.Break("%q in the state folder", path)
		}
	}
}

// outside is what stands around the state folder, beside the home folder too.
// The file destination is where the user said.
func outside(t *testing.T, w *lab.World) map[string]string {
	t.Helper()
	return snapshot(t, filepath.Dir(w.Home), func(rel string) bool {
		home := filepath.Base(w.Home)
		return rel == home+"/.local/state/hookspan" || rel == home+"/traces.jsonl" || rel == home+"/kept"
	})
}

// guarded is a machine with something to lose beside it and in the folder that
// the hooks run in.
func guarded(t *testing.T, settings ...string) (w *lab.World, canary string, before map[string]string) {
	t.Helper()
	w = lab.New(t, settings...)
	canary = filepath.Join(filepath.Dir(w.Home), "canary")
	for _, dir := range []string{canary, filepath.Join(w.Work, "canary"), filepath.Join(w.Home, "canary")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte("left alone"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The state folder's own way there.
	if err := os.MkdirAll(w.State(), 0o700); err != nil {
		t.Fatal(err)
	}
	return w, canary, outside(t, w)
}

func hostileNames(t *testing.T, r *proof.Result) {
	w, canary, before := guarded(t)
	for _, name := range names(canary) {
		valid := strings.ToValidUTF8(name, "\uFFFD")
		for _, e := range []lab.Event{
			clineEvent(t, valid, "TaskStart", object{"taskStart": object{"taskMetadata": object{"taskId": name, "initialTask": name}}}),
			toolCall(t, "s", name, name, name),
			clineEvent(t, "s", name, object{"workspaceRoots": []string{name}, "userId": name, "clineVersion": name}),
			{Name: "PreToolUse", Payload: []byte(name)},
		} {
			event := e.Name
			if strings.ContainsRune(event, 0) || strings.HasPrefix(event, "-") || len(event) > 1<<16 {
				event = "PreToolUse" // no argument can be that, or it is an order
			}
			if err := w.TryHook(event, e.Payload); err != nil {
				r.Break("%.60q: %v", name, err)
			}
			r.Trial(1)
		}
		payload := text(t, object{
			"session_id": valid, "prompt_id": name, "transcript_path": name, "cwd": name, "hook_event_name": "PostToolUse",
			"tool_name": name, "tool_use_id": name, "tool_input": object{"file_path": name}, "tool_response": name,
		})
		cmd := w.Program("claude-hook", "PostToolUse")
		cmd.Stdin = bytes.NewReader(payload)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			r.Break("claude-hook with %.60q: %v, said %q", name, err, out)
		}
		r.Trial(1)
	}
	w.Settle()
	w.Flush()
	untouched(t, r, w, before)
	stored := make(map[string]bool)
	for _, rec := range w.Records(t) {
		stored[rec.Session] = true
	}
	for _, name := range names(canary) {
		// Of a payload above HOOKSPAN_MAX_EVENT_BYTES long texts are cut, the id
		// among them.
		if valid := strings.ToValidUTF8(name, "\uFFFD"); len(valid) < 1<<20 && !stored[valid] {
			r.Break("no session %.60q is stored", valid)
		}
	}
	r.Note("%d sessions", len(stored))
}

func hostilePosts(t *testing.T, r *proof.Result) {
	w, canary, before := guarded(t)
	kept := filepath.Join(w.Home, "kept")
	b := startBridge(t, w, "--record", "--dir", kept)
	for _, name := range names(canary) {
		for _, route := range []string{"/claude-hook", "/cline-hook"} {
			payload := text(t, object{
				"session_id": "s" + strings.ToValidUTF8(name, "\uFFFD"), "transcript_path": name, "cwd": name, "hook_event_name": name,
				"tool_name": name, "tool_use_id": name, "tool_input": object{"file_path": name},
			})
			if code, answer := b.post(t, route, payload); code != http.StatusOK {
				r.Break("%s with %.60q: answered %d: %.200s", route, name, code, answer)
			}
			r.Trial(1)
		}
		// As a path and a query of the request itself.
		b.raw(t, "POST /claude-hook/"+escapePath(name)+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	}
	for path := range snapshot(t, kept, nil) {
		if !regexp.MustCompile(`^(\.|(cline|claude)-hook-events(-errors)?\.json|\.hook-events\.lock)$`).MatchString(path) {
			r.Break("%q in the folder of --dir", path)
		}
	}
	b.end(t)
	w.Settle()
	untouched(t, r, w, before)
}

// escapePath keeps a request line one line.
func escapePath(s string) string {
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c >= 0x7f {
			return '_'
		}
		return c
	}, s[:min(len(s), 1000)])
}

func twins(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	groups := [][]string{
		{"caf\u00e9", "cafe\u0301"},                      // composed and decomposed
		{"\u212b", "\u00c5", "A\u030a"},                  // the sign, the letter, the pair
		{"\ufb01le", "file"},                             // ligature
		{"Session", "session", "SESSION", "ſession"},     // case, and the long s that folds to it
		{"\u0130d", "id", "\u0131d", "ID"},               // Turkish letters
		{"stra\u00dfe", "strasse", "STRASSE"},            // a fold that is longer
		{"\uff41bc", "abc", "\u0430bc"},                  // full width, and Cyrillic
		{"x", "x ", " x", "x.", "x\u00a0", "x\t", "x\n"}, // at the ends
		{"xy", "x\u200by", "x\u200dy", "x\u00ady", "x\ufe0fy", "\ufeffxy", "x\u202ey", "x\x00y"},
		{"1", "01", "1.0", "1e0", "+1"},
		{"a/b", `a\b`, "a//b", "a/./b", "a%2fb"},
		{strings.Repeat("z", 1<<16), strings.Repeat("z", 1<<16) + "z"},
	}
	want := make(map[string]bool)
	for _, group := range groups {
		for _, id := range group {
			want[id] = true
			w.Hook("PreToolUse", clineEvent(t, id, "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": id}}}).Payload)
			r.Trial(1)
		}
	}
	got := make(map[string]int)
	for _, rec := range w.Records(t) {
		got[rec.Session]++
	}
	for id := range want {
		if got[id] != 1 {
			r.Break("session %.40q has %d events, want 1", id, got[id])
		}
	}
	folders, err := filepath.Glob(filepath.Join(w.State(), "spool", "cline", "*"))
	if err != nil || len(folders) != len(want) {
		r.Break("%d folders for %d sessions (%v)", len(folders), len(want), err)
	}
	r.Note("%d folders", len(folders))
}

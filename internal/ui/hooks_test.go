//go:build !windows

package ui

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/hookstest"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// editSite is a server that can change the hooks of a home folder.
type editSite struct {
	t    *testing.T
	addr string
	home *hookstest.Home

	mu       sync.Mutex
	terminal []string
}

func startedEdit(t *testing.T, edit bool) *editSite {
	t.Helper()
	s, _ := testStore(t, "npm test")
	out := &editSite{t: t, home: hookstest.New(t)}
	o := Options{Store: s, Token: testToken, Hooks: out.home.Catalog(s)}
	if edit {
		o.Edit = &hooks.Editor{Catalog: o.Hooks, Say: func(text string) {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.terminal = append(out.terminal, text)
		}}
	}
	out.addr = listening(t, o)
	return out
}

// post sends a body as the page does, with lines replaced, and returns the answer.
func (s *editSite) post(name string, body any, replace ...string) (status int, answer string) {
	s.t.Helper()
	text, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(b)
	}
	head := "POST /api/v1/hooks/" + name + " HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nSec-Fetch-Site: same-origin\nOrigin: http://ADDR\n" +
		"Content-Type: application/json\nContent-Length: " + fmt.Sprint(len(text)) + "\nConnection: close\n\n"
	return send(s.t, s.addr, strings.NewReplacer(replace...).Replace(head)+text)
}

func (s *editSite) list() (out struct {
	Edit  bool
	Files []hooks.File
},
) {
	s.t.Helper()
	status, answer := send(s.t, s.addr, strings.Replace(apiCall, "sessions", "hooks", 1)+"\n")
	if err := json.Unmarshal([]byte(answer), &out); status != 200 || err != nil {
		s.t.Fatalf("hooks: %d %v %s", status, err, answer)
	}
	return out
}

// file is the listed file that ends with a name.
func (s *editSite) file(name string) hooks.File {
	s.t.Helper()
	for _, f := range s.list().Files {
		if strings.HasSuffix(f.Path, filepath.Join(s.home.Dir, name)) {
			return f
		}
	}
	s.t.Fatalf("%s is not listed", name)
	return hooks.File{}
}

// preview shows a change and returns it with its code.
func (s *editSite) preview(r map[string]any) (p hooks.Preview, code string) {
	s.t.Helper()
	status, answer := s.post("preview", r)
	if err := json.Unmarshal([]byte(answer), &p); status != 200 || err != nil {
		s.t.Fatalf("preview: %d %v %s", status, err, answer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(answer, "code ") {
		s.t.Errorf("the answer has the code: %s", answer)
	}
	if p.Code {
		found := regexp.MustCompile(`^code ([A-Z2-7]{4}-[A-Z2-7]{4}) allows this once: `).FindStringSubmatch(s.terminal[len(s.terminal)-1])
		if found == nil || !strings.HasSuffix(s.terminal[len(s.terminal)-1], p.What) {
			s.t.Fatalf("the terminal shows %q for %q", s.terminal, p.What)
		}
		code = found[1]
		if strings.Contains(answer, code) {
			s.t.Errorf("the answer has the code: %s", answer)
		}
	}
	return p, code
}

func (s *editSite) addition() map[string]any {
	f := s.file(".cline/hooks.json")
	return map[string]any{"kind": "add", "file": f.ID, "sha256": f.SHA256, "event": "PreToolUse", "matcher": "Grep", "command": "true"}
}

// TestWritesAnswerTheirPageOnly differs from the page's request in one thing each. No
// file changes.
func TestWritesAnswerTheirPageOnly(t *testing.T) {
	s := startedEdit(t, true)
	_, port, _ := net.SplitHostPort(s.addr)
	add := s.addition()
	confirm := map[string]any{"id": "x", "sha256": add["sha256"], "code": "AAAA-AAAA"}
	for _, tt := range []struct {
		name    string
		replace []string
		want    int
	}{
		{"a name that was rebound to this machine", []string{"Host: ADDR", "Host: rebound.example:" + port}, 421},
		{"this machine at another port", []string{"Host: ADDR", "Host: 127.0.0.1:1"}, 421},
		{"a page at another port", []string{"Origin: http://ADDR", "Origin: http://127.0.0.1:3000"}, 403},
		{"a sandboxed frame", []string{"Origin: http://ADDR", "Origin: null"}, 403},
		{"a second origin", []string{"Origin: http://ADDR", "Origin: http://ADDR\nOrigin: http://127.0.0.1:3000"}, 403},
		{"a fetch of another port of this machine", []string{"same-origin", "same-site"}, 403},
		{"a fetch of another site", []string{"same-origin", "cross-site"}, 403},
		{"no token", []string{"X-Hookspan-Token: TOKEN\n", ""}, 401},
		{"a wrong token", []string{"TOKEN", strings.Repeat("0", 64)}, 401},
		{"two tokens", []string{"X-Hookspan-Token: TOKEN\n", "X-Hookspan-Token: TOKEN\nX-Hookspan-Token: TOKEN\n"}, 401},
		{"the token as a cookie", []string{"X-Hookspan-Token: ", "Cookie: token="}, 401},
		{"a form", []string{"application/json", "application/x-www-form-urlencoded"}, 415},
		{"plain text, which other pages may send", []string{"application/json", "text/plain"}, 415},
		{"plain text with JSON as a parameter", []string{"application/json", "text/plain; x=application/json"}, 415},
		{"a second type", []string{"Content-Type: application/json", "Content-Type: application/json\nContent-Type: text/plain"}, 415},
		{"no type", []string{"Content-Type: application/json\n", ""}, 415},
		{"a compressed body", []string{"Content-Type", "Content-Encoding: gzip\nContent-Type"}, 415},
		{"GET", []string{"POST ", "GET "}, 413},
		{"PUT", []string{"POST ", "PUT "}, 405},
		{"DELETE", []string{"POST ", "DELETE "}, 405},
		{"a question for permission", []string{"POST ", "OPTIONS "}, 405},
		{"another path of the API", []string{"/hooks/", "/sessions/"}, 405},
		{"a path with another spelling", []string{"/hooks/", "/hooks//"}, 405},
	} {
		for name, body := range map[string]any{"preview": add, "apply": confirm} {
			t.Run(name+": "+tt.name, func(t *testing.T) {
				if status, answer := s.post(name, body, tt.replace...); status != tt.want {
					t.Errorf("status %d, want %d: %s", status, tt.want, answer)
				}
			})
		}
	}
	for name, tt := range map[string]struct {
		head, body string
		want       int
	}{
		"GET without a body":    {"GET /api/v1/hooks/preview HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nConnection: close\n\n", "", 405},
		"a body of no length":   {"POST /api/v1/hooks/preview HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nContent-Type: application/json\nTransfer-Encoding: chunked\nConnection: close\n\n", "2\n{}\n0\n\n", 411},
		"a body that is large":  {"POST /api/v1/hooks/preview HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nContent-Type: application/json\nContent-Length: 300000\nConnection: close\n\n", "{}", 413},
		"a body that is longer": {"POST /api/v1/hooks/preview HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nContent-Type: application/json\nContent-Length: 2\nConnection: close\n\n", "{}{}{}{}", 404},
	} {
		t.Run(name, func(t *testing.T) {
			if status, answer := send(t, s.addr, tt.head+tt.body); status != tt.want {
				t.Errorf("status %d, want %d: %s", status, tt.want, answer)
			}
		})
	}
	if len(s.terminal) > 0 {
		t.Errorf("the terminal shows %q", s.terminal)
	}
	s.unchanged()
}

// unchanged fails the test if one of the files is not as it was made.
func (s *editSite) unchanged() {
	s.t.Helper()
	for name, want := range map[string]string{".cline/hooks.json": hookstest.ClineHooks, ".claude/settings.json": hookstest.ClaudeSettings, "code/shop/.cline/hooks.json": hookstest.ProjectHooks} {
		if got := strings.ReplaceAll(s.home.Read(name), s.home.Dir, "HOME"); got != want {
			s.t.Errorf("%s is now\n%s", name, got)
		}
	}
	for _, name := range []string{".cline/hooks.json.hookspan-backup", "code/shop/.claude/settings.json", ".local/state/hookspan/ui/hooks-off.json"} {
		if _, err := os.Lstat(filepath.Join(s.home.Dir, filepath.FromSlash(name))); err == nil {
			s.t.Errorf("%s was written", name)
		}
	}
}

// TestWrongChangesAreRefused changes one thing of a request that would be right.
func TestWrongChangesAreRefused(t *testing.T) {
	s := startedEdit(t, true)
	managed := filepath.Join(s.home.Dir, "managed", "managed-settings.json")
	s.home.Write("managed/managed-settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`, 0o644)
	claude, cline := s.file(".claude/settings.json"), s.file(".cline/hooks.json")
	for name, tt := range map[string]struct {
		change map[string]any
		want   int
		text   string
	}{
		"an unknown file":              {map[string]any{"file": "0000000000000000"}, 404, "no such file in the list"},
		"a path":                       {map[string]any{"file": filepath.Join(s.home.Dir, ".cline/hooks.json")}, 404, "no such file in the list"},
		"a path upwards":               {map[string]any{"file": "../../../etc/passwd"}, 404, "no such file in the list"},
		"no file":                      {map[string]any{"file": ""}, 404, "no such file in the list"},
		"an organisation's file":       {map[string]any{"file": s.file("managed/managed-settings.json").ID}, 400, managed + " is not yours to change here"},
		"another file's digest":        {map[string]any{"sha256": claude.SHA256}, 409, "has changed since it was shown"},
		"no digest":                    {map[string]any{"sha256": ""}, 409, "has changed since it was shown"},
		"an unknown member":            {map[string]any{"path": "/etc/passwd"}, 400, "not the JSON object that the page sends"},
		"an unknown kind":              {map[string]any{"kind": "delete"}, 400, `kind \"delete\": want add, change`},
		"no event":                     {map[string]any{"event": ""}, 400, "event: want"},
		"an event that Cline lacks":    {map[string]any{"event": "PostToolBatch"}, 400, "the hook would not run: Cline never gives the event PostToolBatch"},
		"no command":                   {map[string]any{"command": " "}, 400, "command: want"},
		"a command and an address":     {map[string]any{"url": "http://127.0.0.1:1/"}, 400, "a hook is one of the two"},
		"a file's address":             {map[string]any{"command": "", "url": "file:///etc/passwd"}, 400, "begins with http:// or https://"},
		"a matcher that is not valid":  {map[string]any{"matcher": "Edit("}, 400, "is no JavaScript regular expression"},
		"a rule that is not valid":     {map[string]any{"if": "Bash(("}, 400, "if"},
		"a time limit below zero":      {map[string]any{"timeout": -1}, 400, "time limit -1: want seconds"},
		"a time limit of two days":     {map[string]any{"timeout": 200_000}, 400, "want seconds, more than 0 and at most 86400"},
		"a zero character":             {map[string]any{"command": "a\x00b"}, 400, "zero character"},
		"a mask of a secret":           {map[string]any{"command": "curl -H 'x: [REDACTED:bearer]'"}, 400, "write the secret itself"},
		"the same hook again":          {map[string]any{"matcher": "Edit|Write", "command": filepath.Join(s.home.Dir, "hooks/format.sh")}, 400, "the same hook already"},
		"a hook that is not there":     {map[string]any{"kind": "change", "hook": 17}, 404, "no such hook"},
		"a hook before the first":      {map[string]any{"kind": "off", "hook": -1}, 404, "no such hook"},
		"one that is not switched off": {map[string]any{"kind": "on", "off": "x"}, 404, "not switched off"},
		"nothing to undo":              {map[string]any{"kind": "undo"}, 409, "nothing to undo"},
		"trust for one's own file":     {map[string]any{"kind": "trust"}, 400, "needs no trust"},
		"trust for Claude Code's":      {map[string]any{"kind": "trust", "file": claude.ID, "sha256": claude.SHA256}, 400, "needs no trust"},
		"a test of an unknown event":   {map[string]any{"kind": "test", "agent": "cline", "event": "Nothing"}, 400, "event: want one of"},
		"a test of an unknown agent":   {map[string]any{"kind": "test", "agent": "x"}, 400, "want claude-code or cline"},
		"a test with a text for input": {map[string]any{"kind": "test", "agent": "cline", "tool": "execute_command", "input": "rm"}, 400, "want a JSON object"},
		"a test in an unknown place":   {map[string]any{"kind": "test", "agent": "cline", "tool": "execute_command", "file": "/"}, 404, "no such file in the list"},
		"nothing to change":            {map[string]any{"kind": "change", "hook": 0, "event": "PreToolUse", "matcher": "Bash", "command": cline.Hooks[0].Text}, 400, "nothing to change"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.addition()
			for k, v := range tt.change {
				r[k] = v
			}
			if status, answer := s.post("preview", r); status != tt.want || !strings.Contains(answer, tt.text) {
				t.Errorf("%d %s\nwant %d %s", status, answer, tt.want, tt.text)
			}
		})
	}
	s.unchanged()
}

// TestAChangeNeedsItsCode tries to make a change that was shown.
func TestAChangeNeedsItsCode(t *testing.T) {
	s := startedEdit(t, true)
	refused := func(what string, p hooks.Preview, code string, want int) {
		t.Helper()
		if status, answer := s.post("apply", map[string]any{"id": p.ID, "sha256": p.SHA256, "code": code}); status != want {
			t.Errorf("%s: %d %s, want %d", what, status, answer, want)
		}
		s.unchanged()
	}
	first, old := s.preview(s.addition())
	p, code := s.preview(s.addition())
	refused("another change's code", p, old, 403)
	refused("no code", p, "", 403)
	refused("the change that was shown before", first, old, 409)
	refused("a wrong code for the third time", p, "AAAA-AAAA", 403)
	refused("the code after three wrong ones", p, code, 409)
	p, code = s.preview(s.addition())
	other := p
	other.ID = "x"
	refused("another change's id", other, code, 409)
	other = p
	other.SHA256 = strings.Repeat("0", 64)
	refused("another digest", other, code, 409)
	if status, answer := s.post("apply", map[string]any{"id": p.ID, "sha256": p.SHA256, "code": strings.ToLower(strings.ReplaceAll(code, "-", " "))}); status != 200 {
		t.Fatalf("the code in small letters: %d %s", status, answer)
	}
	changed := s.home.Read(".cline/hooks.json")
	if !strings.Contains(changed, `"matcher": "Grep"`) {
		t.Fatalf("the file is\n%s", changed)
	}
	if status, _ := s.post("apply", map[string]any{"id": p.ID, "sha256": p.SHA256, "code": code}); status != 409 || s.home.Read(".cline/hooks.json") != changed {
		t.Errorf("the code counts twice: %d", status)
	}
	if got := strings.ReplaceAll(s.home.Read(".cline/hooks.json.hookspan-backup"), s.home.Dir, "HOME"); got != hookstest.ClineHooks {
		t.Errorf("the file as it was is\n%s", got)
	}
}

// TestAFileThatChangesBetweenPreviewAndWriteStays swaps the file after the change was
// shown.
func TestAFileThatChangesBetweenPreviewAndWriteStays(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, path, other string) error{
		"another content": func(_ *testing.T, path, _ string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"one byte more": func(_ *testing.T, path, _ string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(" ")
				_ = f.Close()
			}
			return err
		},
		"gone": func(_ *testing.T, path, _ string) error { return os.Remove(path) },
		"a symbolic link to a file with the same bytes": func(_ *testing.T, path, other string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(other, data, 0o600)
			}
			if err == nil {
				err = os.Remove(path)
			}
			if err == nil {
				err = os.Symlink(other, path)
			}
			return err
		},
		"a folder that is a link to one with the same bytes": func(_ *testing.T, path, other string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.MkdirAll(other+".d", 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(other+".d", filepath.Base(path)), data, 0o600)
			}
			if err == nil {
				err = os.Rename(filepath.Dir(path), filepath.Dir(path)+".old")
			}
			if err == nil {
				err = os.Symlink(other+".d", filepath.Dir(path))
			}
			return err
		},
		"a folder": func(_ *testing.T, path, _ string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
		"JSON no more": func(_ *testing.T, path, _ string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		for _, file := range []string{".cline/hooks.json", "code/shop/.cline/hooks.json", ".claude/settings.json"} {
			t.Run(name+" at "+file, func(t *testing.T) {
				s := startedEdit(t, true)
				f := s.file(file)
				path, other := f.Path, filepath.Join(s.home.Dir, "other")
				p, code := s.preview(map[string]any{"kind": "add", "file": f.ID, "sha256": f.SHA256, "event": "PreToolUse", "matcher": "Grep", "command": "true"})
				if err := swap(t, path, other); err != nil {
					t.Fatal(err)
				}
				before := snapshot(t, s.home.Dir)
				status, answer := s.post("apply", map[string]any{"id": p.ID, "sha256": p.SHA256, "code": code})
				if status != 409 || !strings.Contains(answer, "nothing was written") {
					t.Errorf("%d %s", status, answer)
				}
				if after := snapshot(t, s.home.Dir); after != before {
					t.Errorf("files changed from\n%s\nto\n%s", before, after)
				}
			})
		}
	}
}

// snapshot lists all files below a folder with their contents.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil && d.Type()&os.ModeSymlink == 0 {
			return err
		}
		_, _ = fmt.Fprintf(&b, "%s %s %q\n", path, d.Type(), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAProjectsLinksAreNotWrittenThrough: the project's author could lead them anywhere.
func TestAProjectsLinksAreNotWrittenThrough(t *testing.T) {
	s := startedEdit(t, true)
	victim := filepath.Join(s.home.Dir, "victim.json")
	for _, name := range []string{"code/shop/.claude/settings.json", "code/shop/.cline/hooks.json"} {
		s.home.Write("victim.json", "{}", 0o600)
		path := filepath.Join(s.home.Dir, filepath.FromSlash(name))
		_ = os.Remove(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
		f := s.file(name)
		status, answer := s.post("preview", map[string]any{"kind": "add", "file": f.ID, "sha256": f.SHA256, "event": "Stop", "command": "true"})
		if status != 400 || !strings.Contains(answer, "is a link, which a project's may not be") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// TestWithoutEditNothingCanBeChanged: the routes do not exist.
func TestWithoutEditNothingCanBeChanged(t *testing.T) {
	s := startedEdit(t, false)
	if s.list().Edit {
		t.Error("the list says that hooks can be changed")
	}
	for _, name := range []string{"preview", "apply"} {
		if status, answer := s.post(name, s.addition()); status != 405 {
			t.Errorf("POST %s: %d %s", name, status, answer)
		}
		if status, answer := send(t, s.addr, strings.Replace(apiCall, "sessions", "hooks/"+name, 1)+"\n"); status != 404 {
			t.Errorf("GET %s: %d %s", name, status, answer)
		}
	}
	s.unchanged()
}

// TestTestsStartNothingBeforeTheCode looks for what a hook would leave behind.
func TestTestsStartNothingBeforeTheCode(t *testing.T) {
	s := startedEdit(t, true)
	mark := filepath.Join(s.home.Dir, "started")
	s.home.Write("hooks/guard.sh", "#!/bin/sh\ntouch "+mark+"\n", 0o755)
	started := func() bool { _, err := os.Stat(mark); return err == nil }
	for _, agent := range []string{"cline", "claude-code"} {
		if agent == "claude-code" {
			s.home.Write(".claude/settings.json", strings.ReplaceAll(hookstest.ClaudeSettings, "./guard.sh", "HOME/hooks/guard.sh"), 0o600)
		}
		r := map[string]any{"kind": "test", "agent": agent, "event": "PreToolUse", "tool": map[string]string{"cline": "execute_command", "claude-code": "Bash"}[agent], "input": `{"command":"ls"}`}
		p, code := s.preview(r)
		if started() || !p.Code || len(p.Matches) == 0 || !p.Matches[0].Runs {
			t.Fatalf("%s: started %v, %+v", agent, started(), p)
		}
		if status, _ := s.post("apply", map[string]any{"id": p.ID, "sha256": "", "code": "x"}); status != 403 || started() {
			t.Fatalf("%s: %d, started %v", agent, status, started())
		}
		status, answer := s.post("apply", map[string]any{"id": p.ID, "sha256": "", "code": code})
		if status != 200 || !started() || !strings.Contains(answer, `"exit 0, `) {
			t.Fatalf("%s: %d %s", agent, status, answer)
		}
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
		if status, _ := s.post("apply", map[string]any{"id": p.ID, "sha256": "", "code": code}); status != 409 || started() {
			t.Errorf("%s: the code counts twice: %d, started %v", agent, status, started())
		}
	}
	// The hook changes after it was shown.
	p, code := s.preview(map[string]any{"kind": "test", "agent": "cline", "event": "PreToolUse", "tool": "execute_command", "input": `{"command":"ls"}`})
	s.home.Write(".cline/hooks.json", strings.Replace(hookstest.ClineHooks, "guard.sh\"", "guard.sh --all\"", 1), 0o600)
	if status, answer := s.post("apply", map[string]any{"id": p.ID, "sha256": "", "code": code}); status != 409 || started() {
		t.Errorf("%d %s, started %v", status, answer, started())
	}
}

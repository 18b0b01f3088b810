package security_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// terminal keeps what a program says.
type terminal struct {
	mu   sync.Mutex
	said strings.Builder
}

func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said.Write(b)
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said.String()
}

// editedHooks is the file that the attacks try to change.
const editedHooks = `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}`

// onEditedPage makes a row of an attack on a page that can change hooks.
func onEditedPage(a attack) func(*testing.T, *proof.Result) {
	return func(t *testing.T, r *proof.Result) {
		f := a(t, startEdited(t, r, "", "--edit"))
		r.Trial(f.trials)
		for _, b := range f.broken {
			r.Break("%s", b)
		}
	}
}

func startEdited(t *testing.T, r *proof.Result, program string, options ...string) *page {
	t.Helper()
	w := lab.New(t)
	w.Write(".cline/hooks.json", editedHooks)
	return startPageIn(t, r, w, program, options...)
}

// hooksFile is a file of hooks as the page lists it.
type hooksFile struct{ ID, Path, SHA256 string }

// body is what follows the head of an answer.
func body(raw string) []byte {
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		return nil
	}
	defer res.Body.Close() //nolint:errcheck // A test.
	b, _ := io.ReadAll(res.Body)
	return b
}

// hooksFile returns the file that the attacks try to change.
func (p *page) hooksFile(t *testing.T) hooksFile {
	t.Helper()
	var list struct{ Files []hooksFile }
	raw := p.raw(t, p.get("/api/v1/hooks", p.tokenLine()))
	if err := json.Unmarshal(body(raw), &list); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	for _, f := range list.Files {
		if f.Path == filepath.Join(p.w.Home, ".cline", "hooks.json") {
			return f
		}
	}
	t.Fatalf("the file is not in %q", raw)
	return hooksFile{}
}

// posting is a request as the page sends it.
func (p *page) posting(name string, v any) string {
	b, _ := json.Marshal(v)
	head := p.get("/api/v1/hooks/"+name, p.tokenLine(), "Sec-Fetch-Site: same-origin", "Origin: http://"+p.address(), "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(b)))
	return strings.Replace(head, "GET", "POST", 1) + string(b)
}

// addition is the preview of a new hook.
func (p *page) addition(t *testing.T) map[string]any {
	f := p.hooksFile(t)
	p.previews++
	return map[string]any{"kind": "add", "file": f.ID, "sha256": f.SHA256, "event": "PreToolUse", "matcher": "Grep", "command": fmt.Sprintf("true %d", p.previews)}
}

var codeLine = regexp.MustCompile(`code ([A-Z2-7]{4}-[A-Z2-7]{4}) allows this once: `)

// preview asks for a change and returns what writes it, with the code that the terminal
// shows.
func (p *page) preview(t *testing.T, f *finding) map[string]any {
	t.Helper()
	before := len(codeLine.FindAllString(p.terminal.text(), -1))
	raw := p.raw(t, p.posting("preview", p.addition(t)))
	var shown struct{ ID, SHA256 string }
	if err := json.Unmarshal(body(raw), &shown); err != nil || status(raw) != http.StatusOK {
		t.Fatalf("an honest preview was answered %q", raw)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if all := codeLine.FindAllStringSubmatch(p.terminal.text(), -1); len(all) > before {
			code := all[len(all)-1][1]
			if strings.Contains(raw, code) {
				f.breaks("the answer to a preview has the code: %q", raw)
			}
			return map[string]any{"id": shown.ID, "sha256": shown.SHA256, "code": code}
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal shows no code: %q", p.terminal.text())
		}
	}
}

// homeFiles lists all files of the home folder with their contents, but for hookspan's
// store and logs.
func (p *page) homeFiles(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(p.w.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "hookspan":
			return fs.SkipDir
		case d.IsDir() || d.Type()&fs.ModeNamedPipe != 0:
			return nil
		}
		data, err := os.ReadFile(path)
		if d.Type()&fs.ModeSymlink != 0 {
			err = nil
		}
		_, _ = fmt.Fprintf(&b, "%s %s %q\n", path, d.Type(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// swapped writes to a file that has changed since the preview.
func swapped(t *testing.T, p *page) *finding {
	f := &finding{}
	path := filepath.Join(p.w.Home, ".cline", "hooks.json")
	other := filepath.Join(p.w.Home, "other")
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, swap := range map[string]func(){
		"other bytes":   func() { must(os.WriteFile(path, []byte("{}"), 0o600)) },
		"one byte more": func() { must(os.WriteFile(path, []byte(editedHooks+" "), 0o600)) },
		"no JSON":       func() { must(os.WriteFile(path, []byte("{"), 0o600)) },
		"gone":          func() { must(os.Remove(path)) },
		"a folder":      func() { must(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link to the same bytes": func() {
			must(os.Rename(path, other), os.Symlink(other, path))
		},
		"a folder that is a link to the same": func() {
			must(os.Rename(filepath.Dir(path), other), os.Symlink(other, filepath.Dir(path)))
		},
	} {
		write := p.preview(t, f)
		swap()
		before := p.homeFiles(t)
		raw := p.raw(t, p.posting("apply", write))
		f.trials++
		if code := status(raw); code != http.StatusConflict && code != http.StatusBadRequest {
			f.breaks("%s: answered %q", name, raw)
		}
		if after := p.homeFiles(t); after != before {
			f.breaks("%s: files changed from\n%s\nto\n%s", name, before, after)
		}
		_ = os.RemoveAll(filepath.Dir(path))
		_ = os.RemoveAll(other)
		p.w.Write(".cline/hooks.json", editedHooks)
	}
	raw := p.raw(t, p.posting("apply", p.preview(t, f)))
	if b, err := os.ReadFile(path); err != nil || status(raw) != http.StatusOK || !strings.Contains(string(b), "Grep") {
		t.Fatalf("an honest write was answered %q and left %q, %v", raw, b, err)
	}
	return f
}

// writes tries to write without what a write needs.
func writes(t *testing.T, p *page) *finding {
	f := &finding{}
	before := p.homeFiles(t)
	refused := func(name, request string) {
		t.Helper()
		raw := p.answer(t, request)
		f.trials++
		if code := status(raw); code < 400 || code > 499 {
			f.breaks("%s: answered %q", name, raw)
		}
		if after := p.homeFiles(t); after != before {
			f.breaks("%s: files changed from\n%s\nto\n%s", name, before, after)
			before = after
		}
	}
	with := func(write map[string]any, name string, value any) map[string]any {
		out := map[string]any{}
		for k, v := range write {
			out[k] = v
		}
		out[name] = value
		return out
	}
	old := p.preview(t, f)
	write := p.preview(t, f)
	code := write["code"].(string)
	refused("a former preview with its code", p.posting("apply", old))
	refused("another change's code", p.posting("apply", with(write, "code", old["code"])))
	refused("no code", p.posting("apply", with(write, "code", "")))
	refused("a part of the code", p.posting("apply", with(write, "code", code[:8])))
	refused("the code after three wrong ones", p.posting("apply", write))
	write = p.preview(t, f)
	refused("another digest", p.posting("apply", with(write, "sha256", strings.Repeat("0", 64))))
	refused("another id", p.posting("apply", with(write, "id", "x")))
	refused("a list of codes", p.posting("apply", with(write, "code", []string{code})))
	for _, name := range []string{"preview", "apply"} {
		honest := p.posting(name, write)
		if name == "preview" {
			honest = p.posting(name, p.addition(t))
		}
		for what, change := range map[string][2]string{
			"no token": {p.tokenLine() + "\r\n", ""}, "a wrong token": {p.tokenLine(), "X-Hookspan-Token: " + strings.Repeat("0", 64)},
			"a page at another port": {"Origin: http://" + p.address(), "Origin: http://127.0.0.1:3000"}, "a sandboxed frame": {"Origin: http://" + p.address(), "Origin: null"},
			"a fetch of another port": {"same-origin", "same-site"}, "a fetch of another site": {"same-origin", "cross-site"}, "a rebound name": {"Host: " + p.address(), "Host: evil.example"},
			"a form": {"application/json", "application/x-www-form-urlencoded"}, "plain text": {"application/json", "text/plain"}, "no type": {"Content-Type: application/json\r\n", ""},
			"PUT": {"POST", "PUT"}, "GET": {"POST", "GET"},
		} {
			if !strings.Contains(honest, change[0]) {
				t.Fatalf("%q is not in %q", change[0], honest)
			}
			refused(name+", "+what, strings.Replace(honest, change[0], change[1], 1))
		}
	}
	readOnly := startEdited(t, p.r, p.cmd.Path)
	unchanged := readOnly.homeFiles(t)
	for _, name := range []string{"preview", "apply"} {
		raw := readOnly.raw(t, readOnly.posting(name, readOnly.addition(t)))
		f.trials++
		if code := status(raw); code < 400 || code > 499 || readOnly.homeFiles(t) != unchanged {
			f.breaks("%s without --edit: answered %q", name, raw)
		}
	}
	// The same change with its code, once.
	write = p.preview(t, f)
	if raw := p.raw(t, p.posting("apply", write)); status(raw) != http.StatusOK {
		t.Fatalf("an honest write was answered %q", raw)
	}
	before = p.homeFiles(t)
	refused("the code again", p.posting("apply", write))
	return f
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/hookstest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// TestUIPrintsItsAddressFirst starts the page without a store and without a browser,
// uses the address, and ends it as Ctrl-C does.
func TestUIPrintsItsAddressFirst(t *testing.T) {
	home := t.TempDir()
	r, w := io.Pipe()
	var stderr bytes.Buffer
	environ := []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "LOCALAPPDATA=" + filepath.Join(home, "state")}
	a := newApp([]string{"ui", "--port", "0"}, nil, w, &stderr, environ)
	a.home = home
	t.Setenv("PATH", t.TempDir()) // No program that opens a browser.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, a)
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	address := regexp.MustCompile(`^http://([0-9a-f]{32}\.localhost):(\d+)/open#token=([0-9a-f]{64})\n$`).FindStringSubmatch(line)
	if err != nil || address == nil {
		t.Fatalf("first line %q, %v", line, err)
	}
	file := filepath.Join(home, "state", "hookspan", "ui", address[2]+".html")
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file that the browser opens: %v, %v", info, err)
	}
	if page, err := os.ReadFile(file); err != nil || !bytes.Contains(page, []byte("url="+line[:len(line)-1])) {
		t.Errorf("%s, %v", page, err)
	}
	for token, want := range map[string]int{address[3]: http.StatusOK, "": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+address[2]+"/api/v1/about", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = address[1] + ":" + address[2]
		req.Header.Set(ui.TokenHeader, token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != want || want == http.StatusOK && !bytes.Contains(body, []byte("hookspan install")) {
			t.Errorf("token %q: %s %s", token, res.Status, body)
		}
	}
	// A later start at its port finds it; one that needs more says so.
	again := func(options ...string) (code int, stdout, stderr string) {
		var o, e bytes.Buffer
		a := newApp(append([]string{"ui", "--no-open", "--port", address[2]}, options...), nil, &o, &e, environ)
		a.home = home
		code = run(t.Context(), a)
		return code, o.String(), e.String()
	}
	if code, out, said := again(); code != 0 || out != line || !strings.Contains(said, fmt.Sprintf("as process %d", os.Getpid())) {
		t.Errorf("a second start: %d, %q, %q", code, out, said)
	}
	var o bytes.Buffer
	later := newApp([]string{"ui", "--no-open"}, nil, &o, io.Discard, environ)
	later.home = home
	if code := run(t.Context(), later); code != 0 || o.String() != line {
		t.Errorf("a second start without a port: %d, %q", code, &o)
	}
	if code, out, said := again("--edit"); code == 0 || out != "" || !strings.Contains(said, "runs already, without --edit") {
		t.Errorf("a second start with --edit: %d, %q, %q", code, out, said)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if !bytes.Contains(stderr.Bytes(), []byte("open the address yourself")) {
		t.Errorf("stderr: %s", &stderr)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays after the end: %v", err)
	}
	// A file that was left behind: another program has the port, and answers.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:"+address[2])
	if err != nil {
		t.Fatal(err)
	}
	other := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // A test.
		_, _ = io.WriteString(w, `"`+ui.Proof(strings.Repeat("0", 64), r.URL.Query().Get("nonce"))+`"`)
	})}}
	other.Start()
	defer other.Close()
	port, err := strconv.Atoi(address[2])
	if err != nil {
		t.Fatal(err)
	}
	left := ui.Started{Dir: filepath.Dir(file), Port: port, Process: os.Getpid(), Address: line[:len(line)-1]}
	if err := left.Write(); err != nil || left.File() != file {
		t.Fatal(left.File(), err)
	}
	if code, out, said := again(); code == 0 || out != "" || !strings.Contains(said, "the port is taken") {
		t.Errorf("a start where another program has the port: %d, %q, %q", code, out, said)
	}
}

// TestUIWithoutNames uses the address that every browser finds.
func TestUIWithoutNames(t *testing.T) {
	home := t.TempDir()
	r, w := io.Pipe()
	a := newApp([]string{"ui", "--ip", "--no-open"}, nil, w, io.Discard, []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "LOCALAPPDATA=" + filepath.Join(home, "state")})
	a.home = home
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, a) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	m := regexp.MustCompile(`^http://127\.0\.0\.1:(\d+)/open#token=[0-9a-f]{64}\n$`).FindStringSubmatch(line)
	if err != nil || m == nil || m[1] == strconv.Itoa(uiPort) {
		t.Errorf("first line %q, %v", line, err)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestHooksListHasWhatThePageSwitchedOff switches a hook off as the page does.
func TestHooksListHasWhatThePageSwitchedOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the home folder of the test is one of Linux")
	}
	h := hookstest.New(t)
	s, err := store.Open(t.Context(), filepath.Join(h.Dir, "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m := h.Catalog(s)
	l, err := m.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	e := &hooks.Editor{Catalog: m, Say: func(text string) { _, _ = fmt.Sscanf(text, "code %s", &code) }}
	p, err := e.Preview(t.Context(), hooks.Request{Kind: "off", File: l.Files[0].ID, SHA256: l.Files[0].SHA256, Hook: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(t.Context(), hooks.Confirmation{ID: p.ID, SHA256: p.SHA256, Code: code}); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := newApp([]string{"hooks", "list"}, nil, &stdout, &stderr, []string{"HOME=" + h.Dir})
	a.home, a.goos = h.Dir, "linux"
	if code := run(t.Context(), a); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if want := "\nswitched off\n  PreToolUse  Edit|Write  " + h.Dir + "/hooks/format.sh\n"; !strings.Contains(stdout.String(), want) {
		t.Errorf("%s\nwant %s", &stdout, want)
	}
	if !strings.Contains(stderr.String(), "hookspan ui --edit") {
		t.Errorf("stderr: %s", &stderr)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/ui/hooks/hookstest"
)

// TestUIPrintsItsAddressFirst starts the page without a store and without a browser,
// uses the address, and ends it as Ctrl-C does.
func TestUIPrintsItsAddressFirst(t *testing.T) {
	home := t.TempDir()
	r, w := io.Pipe()
	var stderr bytes.Buffer
	a := newApp([]string{"ui", "--port", "0"}, nil, w, &stderr, []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "LOCALAPPDATA=" + filepath.Join(home, "state")})
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
	address := regexp.MustCompile(`^(http://127\.0\.0\.1:(\d+))/open#token=([0-9a-f]{64})\n$`).FindStringSubmatch(line)
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
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1]+"/api/v1/about", nil)
		if err != nil {
			t.Fatal(err)
		}
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
}

// TestHooksListHasWhatThePageSwitchedOff switches a hook off as the page does.
func TestHooksListHasWhatThePageSwitchedOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the home folder of the test is one of Linux")
	}
	h := hookstest.New(t)
	s, err := store.Open(t.Context(), filepath.Join(h.Dir, "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m := h.Machine(s)
	l, err := m.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := &hooks.Editor{Machine: m, Say: func(string) {}}
	p, err := e.Preview(t.Context(), hooks.Request{Kind: "off", File: l.Files[0].ID, SHA256: l.Files[0].SHA256, Hook: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(t.Context(), hooks.Confirmation{ID: p.ID, SHA256: p.SHA256}); err != nil {
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

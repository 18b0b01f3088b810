package export

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"golang.org/x/net/html"
)

// TestBrowserShowsHostileTextsOnly opens the page in Chromium: no script runs, nothing
// is asked for, and the page's policy allows its style sheet.
func TestBrowserShowsHostileTextsOnly(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		skip.Missing(t, "no chromium on this machine: tests/setup.sh installs Debian's")
	}
	var asked atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		t.Errorf("the page asked for %s", r.URL)
	}))
	defer target.Close()
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte(written(t, HTML, hostileTrace(target.URL), recorded(t, "claude"))), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--window-size=390,800", "--dump-dom", "file://"+page)
	var problems strings.Builder
	cmd.Stderr = &problems
	cmd.WaitDelay = time.Second
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, problems.String())
	}
	root, err := html.Parse(strings.NewReader(string(dom)))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n := range root.Descendants() {
		switch {
		case n.Type == html.ElementNode && n.Data == "title" && n.FirstChild.Data != "2 traces":
			t.Errorf("the page's title is %q", n.FirstChild.Data)
		case n.Type == html.ElementNode && n.Data == "script":
			t.Error("the page has a script")
		case n.Type == html.ElementNode && n.Data == "summary":
			rows++
		}
	}
	if rows < len(hostileTexts) {
		t.Errorf("%d rows, want at least %d", rows, len(hostileTexts))
	}
	// A style sheet that the policy refuses, or a script that it stopped, is on the
	// console.
	for _, line := range strings.Split(problems.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser says: %s", line)
		}
	}
}

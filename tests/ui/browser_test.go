package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hookstest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// site is a server with its store, and the address of its page.
type site struct {
	store *store.Store
	// base is without the token, address with it.
	base, address string
	// stop ends the server.
	stop func()
}

// serve starts a server over a store with tasks.
func serve(t *testing.T, tasks []sample.Task) *site {
	t.Helper()
	return serveEdit(t, tasks, nil)
}

// serveEdit is serve for a page that can change hooks, or with nil cannot.
func serveEdit(t *testing.T, tasks []sample.Task, edit *editing) *site {
	t.Helper()
	return serveWith(t, tasks, edit, func(*ui.Options) {})
}

// serveWith is serveEdit with changed options.
func serveWith(t *testing.T, tasks []sample.Task, edit *editing, change func(*ui.Options)) *site {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", tasks, edit, change)
}

// serveAt is serveWith at an address.
func serveAt(t *testing.T, at string, tasks []sample.Task, edit *editing, change func(*ui.Options)) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := sample.Fill(t.Context(), s, time.Now(), tasks); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", at)
	if err != nil {
		t.Fatal(err)
	}
	token, host := ui.NewToken(), ui.NewHost()
	options := ui.Options{
		Host:   host,
		Agents: make(map[string]string),
		Store:  s, Token: token, Watch: []string{path, path + "-wal"}, StoreFiles: []string{path, path + "-wal"}, NoTraces: "run hookspan install", Version: "1.2.3",
		Resume: func(_ context.Context, t *store.Summary) string { return t.Host + " --resume " + t.Session },
		Status: func(context.Context) (any, error) {
			return map[string]any{
				"recording": "on", "sessions": 3, "last_event": time.Now().Add(-4 * time.Minute), "state_dir": "/home/ada/.local/state/hookspan", "env_file": "/home/ada/.config/hookspan/env",
				"destinations": []any{map[string]any{"name": "store", "target": path, "level": "ok", "lines": []string{"39 traces, 628 spans on this machine"}}},
			}, nil
		},
		Findings: func(context.Context) (any, error) {
			return []any{map[string]any{"level": "problem", "text": "no agent has hookspan's hooks", "hint": "hookspan install"}}, nil
		},
	}
	for _, a := range hook.Agents() {
		options.Agents[a.Host] = a.Name
	}
	home := hookstest.New(t)
	options.Hooks = home.Catalog(s)
	if edit != nil {
		edit.home, edit.Catalog = home, options.Hooks
		options.Edit = &edit.Editor
	}
	change(&options)
	server := ui.New(options)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	base := fmt.Sprintf("http://%s:%d", cmp.Or(options.Host, "127.0.0.1"), l.Addr().(*net.TCPAddr).Port)
	return &site{s, base, base + ui.Opening + "#token=" + token, cancel}
}

// browser is a tab of Chromium that keeps what went wrong in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// problems are exceptions, console messages and dialogs; asked are the addresses of
	// all requests, referrers the pages that requests name.
	problems, asked, referrers []string
	// open are the questions of the API that are not answered yet.
	open map[network.RequestID]bool
}

var (
	looksDir = flag.String("looks", "", "folder to write a picture of each view into")
	slow     = flag.Duration("slow", 0, "each answer of the API comes as much later, at most")
	program  = flag.String("browser", "", "the browser: if empty, Chromium without its windows, or with them if that is not installed")
)

// chromium is the program that all tests share. Pages of different servers, which are at
// different ports, share no storage.
var chromium struct {
	start sync.Once
	// profile is the folder of its files.
	profile string
	ctx     context.Context
	stop    func()
	err     error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// lookBrowser finds the browser. Chromium without its windows, which is the same engine,
// takes half of the time.
func lookBrowser() (path string, err error) {
	if *program != "" {
		return exec.LookPath(*program)
	}
	if path, err = exec.LookPath("chromium-headless-shell"); err != nil {
		path, err = exec.LookPath("chromium")
	}
	return path, err
}

// startChromium starts the shared program.
func startChromium() error {
	c := &chromium
	path, err := lookBrowser()
	if err != nil {
		return err
	}
	if c.profile, err = os.MkdirTemp("", "hookspan-chromium-"); err != nil {
		return err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(c.profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		// The driver presses keys faster than a person.
		chromedp.Flag("disable-ipc-flooding-protection", true), chromedp.WSURLReadTimeout(time.Minute),
		// A tab that is not in front works as one that is.
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-background-timer-throttling", true),
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}))
	c.ctx = ctx
	c.stop = func() {
		_ = chromedp.Cancel(ctx) // closes the browser and waits for it
		closeTab()
		cancel()
		_ = os.RemoveAll(c.profile)
	}
	return chromedp.Run(ctx)
}

// open opens a tab in the shared browser.
func open(t *testing.T) *browser {
	t.Helper()
	chromium.start.Do(func() { chromium.err = startChromium() })
	if errors.Is(chromium.err, exec.ErrNotFound) {
		skip.Missing(t, "no chromium on this machine: tests/setup.sh installs Debian's")
	}
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	ctx, closeTab := chromedp.NewContext(chromium.ctx)
	ctx, stop := context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(func() {
		stop()
		closeTab()
	})
	b := &browser{t: t, ctx: ctx, open: map[network.RequestID]bool{}}
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			go func() {
				if !strings.HasSuffix(e.Request.URL, "/api/v1/events") {
					time.Sleep(rand.N(*slow)) //nolint:gosec // No secret.
				}
				_ = chromedp.Run(ctx, fetch.ContinueRequest(e.RequestID))
			}()
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				b.problems = append(b.problems, "console: an error")
			}
		case *cdplog.EventEntryAdded:
			b.problems = append(b.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
		case *page.EventJavascriptDialogOpening:
			b.problems = append(b.problems, "dialog: "+e.Message)
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(false)) }()
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, e.Request.URL)
			if e.Type == network.ResourceTypeDocument { // whatever the page before still awaited is gone
				clear(b.open)
			}
			if strings.Contains(e.Request.URL, "/api/v1/") && !strings.HasSuffix(e.Request.URL, "/api/v1/events") {
				b.open[e.RequestID] = true
			}
			if from := e.Request.Headers["Referer"]; from != nil && from != "" {
				b.referrers = append(b.referrers, fmt.Sprint(from))
			}
		case *network.EventLoadingFinished:
			delete(b.open, e.RequestID)
		case *network.EventLoadingFailed:
			delete(b.open, e.RequestID)
		}
	})
	b.run(cdplog.Enable(), network.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`addEventListener("say", (e) => (window.said ??= []).push(e.detail))`).Do(ctx)
		return err
	}))
	if *slow > 0 {
		b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/api/v1/*"}}))
	}
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// answered reports that the page waits for no answer of the API.
func (b *browser) answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open) == 0
}

// eval returns what an expression gives.
func eval[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v, awaited))
	return v
}

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// quoted returns a text as JavaScript.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// wait waits until an expression is true. A document that another one replaces
// meanwhile, as Back and reload do, ends a poll.
func (b *browser) wait(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	poll := func() error {
		return chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	}
	err := poll()
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "context with specified id") {
		err = poll()
	}
	if err != nil {
		b.t.Fatalf("never true: %s (%v)\nat %s:\n%s", expression, err, eval[string](b, "location.href"), eval[string](b, "document.body.innerText"))
	}
}

// until waits until a condition that the page does not know is true.
func (b *browser) until(met func() bool, what string) {
	b.t.Helper()
	for range 3000 {
		if met() {
			return
		}
		b.run(chromedp.Evaluate(`new Promise((r) => setTimeout(r, 20))`, nil, awaited))
	}
	b.t.Fatalf("never so: %s", what)
}

// shows waits until the page has a text that a person can see.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.wait("document.body.innerText.includes(" + quoted(text) + ")")
}

// failures waits until keys lead to a task's failures: these and its rows are two answers.
func (b *browser) failures() {
	b.t.Helper()
	b.wait(`document.querySelector(".row, .did") && document.querySelector(".callout .nth")`)
}

// click clicks an element in the moment in which it is there: a later one may have taken its place.
func (b *browser) click(element string) {
	b.t.Helper()
	b.wait("((e) => e && !e.disabled && (e.click(), true))(" + element + ")")
}

// said waits until the page has said a text, which it shows for a moment only.
func (b *browser) said(text string) {
	b.t.Helper()
	b.wait("window.said?.includes(" + quoted(text) + ")")
}

// goes presses the keys of a view. They must come within a moment, which a busy machine may take.
func (b *browser) goes(key, path string) {
	b.t.Helper()
	b.until(func() bool {
		b.keys("g", key)
		return eval[string](b, "location.pathname") == path
	}, "g "+key+" leads to "+path)
}

func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// enter opens the page with its token.
func (b *browser) enter(s *site) {
	b.t.Helper()
	b.run(chromedp.Navigate(s.address))
	b.wait("sessionStorage.length > 0 && location.hash === ''")
}

// goTo opens a view.
func (b *browser) goTo(s *site, path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(s.base + path))
}

// visit opens a view in the document that is there. Of a view of the same kind it may show the
// former answer until its own is there.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Evaluate(`history.pushState({}, "", `+quoted(path)+`); dispatchEvent(new PopStateEvent("popstate"))`, nil))
}

// notFound is how the browser reports an answer 404.
const notFound = "404 (Not Found)"

// faultless fails the test if something went wrong in the tab, or if it asked another
// host. Problems that have one of the allowed texts do not count.
func (b *browser) faultless(s *site, allowed ...string) {
	b.t.Helper()
	for _, p := range b.takeProblems(s) {
		if !slices.ContainsFunc(allowed, func(text string) bool { return strings.Contains(p, text) }) {
			b.t.Error(p)
		}
	}
}

// refused fails unless one request was refused since the last call, as text says, and nothing
// else went wrong.
func (b *browser) refused(s *site, text string) {
	b.t.Helper()
	if got := b.takeProblems(s); len(got) != 1 || !strings.Contains(got[0], text) {
		b.t.Errorf("problems %q, want one with %q", got, text)
	}
}

// takeProblems returns what went wrong in the tab since the last call, with the requests
// to other hosts.
func (b *browser) takeProblems(s *site) (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		out = append(out, "the browser reports: "+p)
	}
	for _, u := range b.asked {
		if !strings.HasPrefix(u, s.base) && !strings.HasPrefix(u, "data:") {
			out = append(out, "the page asked "+u)
		}
	}
	b.problems, b.asked = nil, nil
	return out
}

// withExecutor returns a context for calls that have no result as an action.
func withExecutor(b *browser) context.Context {
	return cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Target)
}

// axe returns the accessibility rules that the page breaks, or skips the test.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../../internal/ui/web/node_modules/axe-core/axe.min.js")
	if err != nil {
		skip.Missing(t, "axe-core is not installed: run npm ci in internal/ui/web")
	}
	return string(script)
}

// upload stores one more task.
func (s *site) upload(t *testing.T, task sample.Task) {
	t.Helper()
	if err := s.store.UploadTraces(t.Context(), task.Spans(time.Now())); err != nil {
		t.Fatal(err)
	}
}

// emulateZone gives the tab another time zone.
func emulateZone(ctx context.Context, name string) error {
	return emulation.SetTimezoneOverride(name).Do(ctx)
}

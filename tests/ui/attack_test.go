package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// hostile are texts that become scripts where a page takes texts for markup. RAN is a
// call that the test would see.
var hostile = []string{
	`<script>RAN</script>`, `"><script>RAN</script>`, `<img src=x onerror=RAN>`, `<svg/onload=RAN>`, `<svg><script>RAN</script></svg>`,
	`<iframe srcdoc="<script>parent.RAN</script>">`, `<a href="javascript:RAN">x</a>`, `javascript:RAN`, `<body onload=RAN>`,
	`<details open ontoggle=RAN>`, `<input autofocus onfocus=RAN>`, `<video><source onerror=RAN>`, `<math><mtext></p><img src=x onerror=RAN>`,
	`<noscript><p title="</noscript><img src=x onerror=RAN>">`, `</title><script>RAN</script>`, `</style><script>RAN</script>`, `</textarea><script>RAN</script>`,
	`{{constructor.constructor('RAN')()}}`, "${RAN}", `<object data="javascript:RAN">`, `<embed src="javascript:RAN">`, `<meta http-equiv=refresh content="0;url=javascript:RAN">`,
	`<base href="http://127.0.0.1:1/">`, `<form action="http://127.0.0.1:1/"><button>`, `<link rel=stylesheet href="http://127.0.0.1:1/x.css">`,
	"\u202egnp.exe\u202c", "a\u0000b\u001b[31mc", `{"__html":"<img src=x onerror=RAN>"}`, `]]><script>RAN</script>`, `<!--<img src="--><img src=x onerror=RAN//">`,
}

// hostileTasks has the texts in every field of a trace.
func hostileTasks() (out []sample.Task) {
	for i, text := range hostile {
		text = strings.ReplaceAll(text, "RAN", "window.ran=1")
		out = append(out, sample.Task{
			Ago: time.Duration(i+1) * time.Minute, Host: text, Model: text, Project: "/" + text, Session: text, Prompt: text, Answer: text, Outcome: otelmap.OutcomeFailed,
			Steps: []sample.Step{
				{Say: text, Took: time.Second, Context: 10},
				{Tool: text, Args: map[string]any{"command": text, text: text}, Result: text, Error: text, Kind: text, Hook: text, Took: time.Second},
				{Tool: "Edit", Args: map[string]any{"file_path": text, "old_string": text, "new_string": "x" + text}, Result: text, Took: time.Second},
				{Agent: text, Say: text, Result: text, Steps: []sample.Step{{Tool: text, Took: time.Second}}},
				{Event: otelmap.EventNotification, Say: text},
			},
		})
	}
	return out
}

func TestTextsOfATraceNeverBecomeScripts(t *testing.T) {
	tasks := hostileTasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	clean := func(path string) {
		t.Helper()
		if eval[bool](b, `"ran" in window || [...document.querySelectorAll("script, iframe, object, embed, base, form, img, video, [onerror], [onload], [href^=javascript]")].some((e) => e.getAttribute("src") !== "/assets/app.js")`) {
			t.Fatalf("%s: a text became markup or a script", path)
		}
		if eval[bool](b, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`) {
			t.Errorf("%s: a character that reorders text is in the document", path)
		}
	}
	for _, path := range []string{"/", "/cost", "/hooks", "/search?text=script", "/search?text=window"} {
		b.goTo(s, path)
		b.shows("window.ran=1")
		clean(path)
	}
	for i := range tasks {
		for _, tab := range []string{"", "?tab=conversation", "?tab=changes"} {
			path := "/t/" + tasks[i].ID() + tab
			b.goTo(s, path)
			b.wait(`document.querySelector("h1.prompt") && !document.querySelector(".wait")`)
			b.keys("e", "e")
			b.wait(`document.querySelector(".row-details")`)
			clean(path)
		}
	}
	b.goTo(s, "/t/"+tasks[25].ID())
	b.shows("⟨U+202E⟩gnp.exe⟨U+202C⟩")
	b.faultless(s)
}

// TestAnotherPageOfThisMachineReadsNothing has a page at another port, such as that of a
// development server, try each way to reach the traces.
func TestAnotherPageOfThisMachineReadsNothing(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>development</title><body>"))
	}))
	defer evil.Close()
	b.enter(s)
	b.shows("39 tasks")
	b.run(chromedp.Navigate(evil.URL))
	api := s.base + "/api/v1/sessions"
	for name, try := range map[string]string{
		"fetch":                 `fetch(URL).then((r) => r.text())`,
		"fetch with cookies":    `fetch(URL, { credentials: "include" }).then((r) => r.text())`,
		"fetch with the header": `fetch(URL, { headers: { "X-Hookspan-Token": "x" } }).then((r) => r.text())`,
		"fetch without cors":    `fetch(URL, { mode: "no-cors" }).then((r) => r.text()).then((t) => { if (!t) throw 0; return t; })`,
		"fetch of the shell":    `fetch(BASE).then((r) => r.text())`,
		"image":                 `new Promise((ok, no) => { const i = new Image(); i.onload = () => ok("loaded"); i.onerror = () => no(0); i.src = BASE + "/assets/icon.svg"; })`,
		"script":                `new Promise((ok, no) => { const e = document.createElement("script"); e.onload = () => ok("loaded"); e.onerror = () => no(0); e.src = BASE + "/assets/app.js"; document.body.append(e); })`,
		"style":                 `new Promise((ok, no) => { const e = document.createElement("link"); e.rel = "stylesheet"; e.onload = () => ok("loaded"); e.onerror = () => no(0); e.href = BASE + "/assets/app.css"; document.head.append(e); })`,
		"event source":          `new Promise((ok, no) => { const e = new EventSource(BASE + "/api/v1/events"); e.onopen = () => ok("open"); e.onerror = () => { e.close(); no(0); }; })`,
		"WebSocket":             `new Promise((ok, no) => { const e = new WebSocket(BASE.replace("http", "ws") + "/api/v1/events"); e.onopen = () => ok("open"); e.onerror = () => no(0); })`,
		"frame":                 `new Promise((ok, no) => { const e = document.createElement("iframe"); e.onload = () => { try { ok(e.contentDocument.body.innerText || (() => { throw 0; })()); } catch { no(0); } }; e.src = BASE + "/open"; document.body.append(e); })`,
		"token of another tab":  `new Promise((ok, no) => { const c = new BroadcastChannel("hookspan"); c.onmessage = (e) => ok(JSON.stringify(e.data)); c.postMessage("ask"); setTimeout(() => no(0), 300); })`,
		"storage":               `Promise.resolve(sessionStorage.getItem("hookspan-token") || Promise.reject(0))`,
		"window":                `new Promise((ok, no) => { const w = open(BASE + "/open"); setTimeout(() => { try { ok(w.document.body.innerText || (() => { throw 0; })()); } catch { no(0); } w?.close(); }, 500); })`,
	} {
		t.Run(name, func(t *testing.T) {
			expression := strings.NewReplacer("URL", fmt.Sprintf("%q", api), "BASE", fmt.Sprintf("%q", s.base)).Replace(try)
			if got := eval[string](b, expression+`.then((t) => "read: " + t, () => "refused")`); got != "refused" {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestNoTokenNoData opens the page without its token.
func TestNoTokenNoData(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.goTo(s, "/")
	b.shows("This tab has no access")
	if text := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(text, "Checkout") {
		t.Error("the page has data without a token")
	}
}

// TestLinkInANewTabHasAccess opens a second tab, which asks the first one for the token.
func TestLinkInANewTabHasAccess(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.shows("39 tasks")
	ctx, cancel := chromedp.NewContext(b.ctx)
	defer cancel()
	second := &browser{t: t, ctx: ctx}
	second.goTo(s, "/cost")
	second.shows("claude-sonnet-4-6")
	_ = context.Cause(ctx)
}

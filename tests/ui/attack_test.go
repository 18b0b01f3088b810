package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestAttacks is the table of what a browser is needed for; tests/security has the
// attacks that a program can make.
func TestAttacks(t *testing.T) {
	proof.Run(t, "docs/results/security.md", "page", []proof.Row{
		{
			Name: "texts that become scripts where a page takes them for markup, and the scripts of the Big List of Naughty Strings, as title, project, agent, model, session, " +
				"tool, argument, path, command, output, error, hook's reason, subagent, answer, notification and change of a file; in every view",
			Rule:  "no script runs, no element comes of a text, the browser reports no violation of the policy, and no character reorders what is shown",
			Short: 250, Run: hostileTexts,
		},
		{
			Name:  "a page at another port of this machine: fetch, image, script, style, form, frame, window, EventSource, WebSocket, the tab's storage and its channel",
			Rule:  "it reads nothing, and no element of it loads anything",
			Short: 15, Run: otherPage,
		},
		{
			Name: "a development server that had the port before: its open tab asks on the channel, its service worker answers /open and all else, its page and scripts are in the cache as immutable, " +
				"under the names 127.0.0.1 and localhost",
			Rule:  "the page is hookspan's, runs hookspan's script, and gives the tab nothing; under 127.0.0.1 as the page's name the same attack gets the token",
			Short: 2, Run: formerServer,
		},
		{
			Name:  "the bare address, the address of an earlier start, a pasted link without a tab that has the token, and a port that is forwarded to another number",
			Rule:  "a page without data or a field says how the page is opened from the terminal",
			Short: 6, Run: otherAddresses,
		},
		{
			Name:  "a link opened with Ctrl, and the page through a port that is forwarded to the same number",
			Rule:  "both show the traces",
			Short: 2, Run: honestWays,
		},
		{
			Name:  "a tab without the token, and one with a wrong one",
			Rule:  "the page says that it has no access and what to do, and has no data",
			Short: 2, Run: withoutToken,
		},
		{
			Name:  "the token in the tab: address bar, history, document, cookies, lasting storage, referrers and requests' addresses, in every view",
			Rule:  "it is in the tab's session storage and a header of requests to the server, and nowhere else",
			Short: 10, Run: tokenInTab,
		},
		{
			Name:  "the same texts in each member of a project's hooks.json and settings.json, in the list, the differences and the forms of a page with --edit",
			Rule:  "no script runs, no element comes of a text, and no character reorders what is shown",
			Short: 60, Run: hostileHooks,
		},
		{
			Name:  "a page at another port of this machine that tries to change a hook, with --edit: fetch with JSON, text and the stolen token, form, beacon, XMLHttpRequest",
			Rule:  "no file changes, and the terminal shows no code",
			Short: 20, Run: otherPageWrites,
		},
		{
			Name:  "hookspan ui and the browser where there is no network but the loopback addresses: every path of the API, every view",
			Rule:  "each view shows what it shows elsewhere; no connection or datagram of hookspan ui looks for a way out, and the page asks no other server",
			Short: 30, Run: noRequestLeaves,
		},
		{
			Name: "these rows over a page that was built without one of its defences",
			Rule: "the row that the defence is for fails",
			Long: len(defences), Run: defenceless,
		},
	})
}

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
	"[x](javascript:RAN)\n\n![x](http://127.0.0.1:1/x.png)\n\n[![x](data:image/svg+xml,RAN)](vbscript:RAN)", "<javascript:RAN> [a]\n\n[a]: javascript:RAN", "```<script>RAN</script>\n</pre><img src=x onerror=RAN>",
	"[x](http://127.0.0.1:1/\"onmouseover=\"RAN)", "| <img src=x onerror=RAN> |\n|---|\n| [x](java\tscript:RAN) |", "> - # <svg/onload=RAN> [x]( javascript:RAN ) `<b onclick=RAN>`",
}

// naughty are the strings of the Big List of Naughty Strings that could run something.
func naughty(r *proof.Result) (out []string) {
	b, err := os.ReadFile("../../internal/ui/web/node_modules/big-list-of-naughty-strings/blns.json")
	if err != nil {
		r.Skip("the list of texts is not installed: run npm ci in internal/ui/web")
	}
	var all []string
	if err := json.Unmarshal(b, &all); err != nil {
		panic(err)
	}
	for _, s := range all {
		if regexp.MustCompile(`(?i)[<>]|script|alert\(`).MatchString(s) {
			out = append(out, s)
		}
	}
	return out
}

// stepsOf has a text in every field of a step.
func stepsOf(text string) []sample.Step {
	return []sample.Step{
		{Say: text, Took: time.Second, Context: 10},
		{Tool: text, Args: map[string]any{"command": text, text: text}, Result: text, Error: text, Kind: text, Hook: text, Took: time.Second},
		{Tool: "Edit", Args: map[string]any{"file_path": text, "old_string": text, "new_string": "x" + text}, Result: text, Took: time.Second},
		{Agent: text, Say: text, Result: text, Steps: []sample.Step{{Tool: text, Took: time.Second}}},
		{Event: otelmap.EventNotification, Say: text},
	}
}

// taskOf has a text in every field of a task.
func taskOf(i int, text string, steps []sample.Step) sample.Task {
	return sample.Task{
		Ago: time.Duration(i+1) * time.Minute, Host: text, Model: text, Project: "/" + text, Session: text, Prompt: text, Answer: text, Outcome: otelmap.OutcomeFailed, Steps: steps,
	}
}

func hostileTexts(t *testing.T, r *proof.Result) {
	var tasks, long []sample.Task
	for i, text := range hostile {
		text = strings.ReplaceAll(text, "RAN", "window.ran=1")
		tasks = append(tasks, taskOf(i, text, stepsOf(text)))
	}
	// The list is in the fields of short tasks, which the lists show, and in the steps
	// of long ones. Every tenth text, in the long run each, is looked at row by row.
	list, step := naughty(r), 10
	if proof.Soak() {
		step = 1
	}
	walked := taskOf(2000, "walked", nil)
	all := tasks
	for i, text := range list {
		all = append(all, taskOf(100+i, text, []sample.Step{{Tool: text, Args: map[string]any{"command": text}, Result: text, Error: text, Took: time.Second}}))
		if i%60 == 0 {
			long = append(long, taskOf(1000+i, fmt.Sprintf("long %d", i), nil))
		}
		last := &long[len(long)-1]
		last.Steps = append(last.Steps, stepsOf(text)...)
		if i%step == 0 {
			walked.Steps = append(walked.Steps, stepsOf(text)...)
		}
	}
	s, b := serve(t, append(append(all, long...), walked)), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	clean := func(path string) {
		t.Helper()
		if eval[bool](b, `"ran" in window || [...document.querySelectorAll("script, iframe, object, embed, base, form, img, video, [onerror], [onload], [href^=javascript]")].some((e) => !/^\/assets\/[0-9a-f]{32}\/app\.js$/.test(e.getAttribute("src") ?? ""))`) {
			r.Break("%s: a text became markup or a script", path)
		}
		if eval[bool](b, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`) {
			r.Break("%s: a character that reorders text is in the document", path)
		}
	}
	for _, path := range []string{"/?limit=5000", "/cost", "/hooks", "/calls?limit=5000", "/calls?failed=1&denied=1", "/changes?limit=800", "/compare?a=text%3Dwindow.ran%3D1&b=model%3D%253Dx", "/search?text=script", "/search?text=window", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[2].ID()} {
		b.goTo(s, path)
		b.shows("window.ran=1")
		clean(path)
	}
	r.Trial(len(list))
	loaded := func(tab string) {
		t.Helper()
		b.wait(`document.querySelector("h1.prompt") && document.querySelector("#tab-` + tab + `[aria-selected=true]") && !document.querySelector(".wait")`)
	}
	// open opens a task, and its tabs by their keys.
	open := func(task *sample.Task) {
		t.Helper()
		b.goTo(s, "/t/"+task.ID())
		loaded("waterfall")
		for _, tab := range []struct{ key, name string }{{"2", "conversation"}, {"3", "changes"}, {"1", "waterfall"}} {
			b.keys(tab.key)
			loaded(tab.name)
			clean("/t/" + task.ID() + " " + tab.name)
		}
	}
	for i := range tasks {
		open(&tasks[i])
		b.keys("e", "e")
		b.wait(`document.querySelector(".row-details[aria-busy=false]")`)
		clean("/t/" + tasks[i].ID())
		r.Trial(1)
	}
	for i := range long {
		open(&long[i])
	}
	open(&walked)
	for row := 0; eval[bool](b, fmt.Sprintf(`document.querySelector("#row%d") !== null`, row)); row++ {
		b.keys("j")
		b.wait(fmt.Sprintf(`document.querySelector("#row%d.selected") && document.querySelector(".row-details[aria-busy=false]")`, row))
		clean(fmt.Sprintf("/t/%s row %d", walked.ID(), row))
	}
	b.goTo(s, "/t/"+tasks[25].ID())
	b.shows("⟨U+202E⟩gnp.exe⟨U+202C⟩")
	for _, p := range b.takeProblems(s) {
		r.Break("%s", p)
	}
}

// otherPage has a page at another port, such as that of a development server, try each
// way to reach the traces.
func otherPage(t *testing.T, r *proof.Result) {
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
		"image":                 `new Promise((ok, no) => { const i = new Image(); i.onload = () => ok("loaded"); i.onerror = () => no(0); i.src = BASE + ICON; })`,
		"script":                `new Promise((ok, no) => { const e = document.createElement("script"); e.onload = () => ok("loaded"); e.onerror = () => no(0); e.src = BASE + SCRIPT; document.body.append(e); })`,
		"style":                 `new Promise((ok, no) => { const e = document.createElement("link"); e.rel = "stylesheet"; e.onload = () => ok("loaded"); e.onerror = () => no(0); e.href = BASE + STYLE; document.head.append(e); })`,
		"form": `new Promise((ok, no) => { const i = document.createElement("iframe"), f = document.createElement("form"); i.name = f.target = "answer"; f.action = URL; f.method = "post"; document.body.append(i, f);
			i.onload = () => { try { ok(i.contentDocument.body.innerText || (() => { throw 0; })()); } catch { no(0); } }; f.submit(); })`,
		"event source":         `new Promise((ok, no) => { const e = new EventSource(BASE + "/api/v1/events"); e.onopen = () => ok("open"); e.onerror = () => { e.close(); no(0); }; })`,
		"WebSocket":            `new Promise((ok, no) => { const e = new WebSocket(BASE.replace("http", "ws") + "/api/v1/events"); e.onopen = () => ok("open"); e.onerror = () => no(0); })`,
		"frame":                `new Promise((ok, no) => { const e = document.createElement("iframe"); e.onload = () => { try { ok(e.contentDocument.body.innerText || (() => { throw 0; })()); } catch { no(0); } }; e.src = BASE + "/open"; document.body.append(e); })`,
		"token of another tab": `new Promise((ok, no) => { const c = new BroadcastChannel("hookspan"); c.onmessage = (e) => ok(JSON.stringify(e.data)); c.postMessage("ask"); setTimeout(() => no(0), 300); })`,
		"storage":              `Promise.resolve(sessionStorage.getItem("hookspan-token") || Promise.reject(0))`,
		"window":               `new Promise((ok, no) => { const w = open(BASE + "/open"); setTimeout(() => { try { ok(w.document.body.innerText || (() => { throw 0; })()); } catch { no(0); } w?.close(); }, 500); })`,
	} {
		expression := strings.NewReplacer("URL", fmt.Sprintf("%q", api), "BASE", fmt.Sprintf("%q", s.base), "SCRIPT", s.asset(t, "app.js"), "STYLE", s.asset(t, "app.css"), "ICON", s.asset(t, "icon.svg")).Replace(try)
		if got := eval[string](b, expression+`.then((t) => "read: " + t, () => "refused")`); got != "refused" {
			r.Break("%s: %s", name, got)
		}
		r.Trial(1)
	}
	// The same ways reach a server that lets them.
	willing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: x\n\n"))
	}))
	defer willing.Close()
	for _, way := range []string{`fetch(URL).then((r) => r.text())`, `new Promise((ok, no) => { const e = new EventSource(URL); e.onopen = () => { e.close(); ok("open"); }; e.onerror = () => no(0); })`} {
		if got := eval[string](b, strings.Replace(way, "URL", fmt.Sprintf("%q", willing.URL), 1)+`.then((t) => "read: " + t, () => "refused")`); got == "refused" {
			t.Errorf("a server that lets other pages read is not read: the row shows nothing")
		}
	}
}

func withoutToken(t *testing.T, r *proof.Result) {
	s, b := serve(t, sample.Tasks()), open(t)
	for _, address := range []string{s.base + "/", s.base + "/open#token=" + strings.Repeat("0", 64)} {
		b.run(chromedp.Navigate(address))
		b.wait(`/This tab has no access|Checkout/.test(document.body.innerText)`)
		if text := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(text, "Checkout") {
			r.Break("%s: the page has data without its token", address)
		} else {
			b.shows("This tab has no access")
			b.shows("hookspan ui") // what to do
		}
		r.Trial(1)
	}
}

func tokenInTab(t *testing.T, r *proof.Result) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	_, token, _ := strings.Cut(s.address, "#token=")
	if eval[string](b, `sessionStorage.getItem("hookspan-token")`) != token {
		t.Fatal("the tab does not have the token")
	}
	for _, path := range []string{"/", "/t/" + tasks[0].ID(), "/t/" + tasks[0].ID() + "?tab=conversation", "/s/" + tasks[0].Session, "/search?text=discount", "/cost", "/hooks", "/status", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[2].ID()} {
		b.goTo(s, path)
		b.wait(`document.querySelector(".live.on") && !document.querySelector(".wait")`)
		for what, value := range map[string]string{
			"address": "location.href", "document": "document.documentElement.outerHTML", "cookies": "document.cookie", "local storage": "JSON.stringify({ ...localStorage })",
			"history": "JSON.stringify(history.state)", "name of the window": "window.name", "links": `[...document.links].map((a) => a.href).join(" ")`,
			"timing": `performance.getEntries().map((e) => e.name).join(" ")`,
		} {
			// The first entry of the timing is the address that was opened.
			if strings.Contains(eval[string](b, "String("+value+")"), token) {
				r.Break("%s: the token is in the %s", path, what)
			}
		}
		r.Trial(1)
	}
	_, entries, err := page.GetNavigationHistory().Do(withExecutor(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.URL+e.UserTypedURL+e.Title, token) {
			r.Break("the token is in the history: %s", e.URL)
		}
	}
	r.Trial(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		// The driver reports the fragment apart from the address.
		if strings.Contains(a, token) {
			r.Break("the token is in the address of a request: %s", a)
		}
	}
	for _, a := range b.referrers {
		r.Break("a request names the page that it comes from: %s", a)
	}
}

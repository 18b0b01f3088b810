package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/testkit/hookstest"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// editing is the editor of a page and what its terminal shows.
type editing struct {
	hooks.Editor
	home *hookstest.Home

	mu    sync.Mutex
	lines []string
}

func newEditing() *editing {
	e := &editing{}
	e.Say = func(text string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lines = append(e.lines, text)
	}
	return e
}

var codeLine = regexp.MustCompile(`^code ([A-Z2-7]{4}-[A-Z2-7]{4}) allows this once: `)

// code is the last code in the terminal.
func (e *editing) code(t *testing.T) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) == 0 {
		t.Fatal("the terminal shows nothing")
	}
	found := codeLine.FindStringSubmatch(e.lines[len(e.lines)-1])
	if found == nil {
		t.Fatalf("the terminal shows no code: %q", e.lines)
	}
	return found[1]
}

// fill types a text into the field with a label.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	l, _ := json.Marshal(label)
	field := fmt.Sprintf(`[...(document.querySelector("dialog") ?? document).querySelectorAll("label")].find((l) => l.offsetParent && l.innerText.startsWith(%s))?.querySelector("input, textarea, select")`, l)
	b.wait(field)
	b.run(chromedp.Evaluate(fmt.Sprintf(`{ const e = %s; e.focus(); if (e.select) e.select(); }`, field), nil))
	if eval[string](b, field+".tagName") == "SELECT" {
		v, _ := json.Marshal(text)
		// What can be chosen may come later than the field.
		b.wait(fmt.Sprintf(`((e) => { const o = [...e.options].find((o) => o.value === %s || o.text.startsWith(%[1]s)); if (o) { e.value = o.value; e.dispatchEvent(new Event("change", { bubbles: true })); } return !!o; })(%s)`, v, field))
		return
	}
	if text == "" {
		b.keys("\b")
		return
	}
	b.keys(text)
}

// press presses the button with a text, in the section with another.
func (b *browser) press(in, text string) {
	b.t.Helper()
	i, _ := json.Marshal(in)
	w, _ := json.Marshal(text)
	button := fmt.Sprintf(`[...document.querySelectorAll("dialog, .hook, .hook-file, .filters, .which")].filter((e) => e.innerText.includes(%s)).sort((a, b) => a.innerText.length - b.innerText.length).flatMap((e) => [...e.querySelectorAll("button")]).find((x) => x.innerText === %s && !x.disabled && x.offsetParent)`, i, w)
	b.click(button)
}

// confirm types the code and writes.
func (b *browser) confirm(e *editing, button string) {
	b.t.Helper()
	b.shows("Code from the terminal")
	b.fill("Code from the terminal", e.code(b.t))
	b.press("Code from the terminal", button)
}

func TestHooksViewSaysWhatNeverRunsAndWhy(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	for _, text := range []string{
		"7 configured in 3 files", "of which never run", ".cline/hooks.json", ".claude/settings.json", "line 6", "at most 10s",
		"you have not trusted this content", "hookspan hooks trust",
		`matcher "bash" fits no tool, so the hook never runs: upper and lower case count: write "Bash"`,
		"Cline does not ask hookspan: it has no hook file PreToolUse from hookspan", "hookspan install cline --pre-tool-use",
		`a hook with "if" runs on tool events only`,
		"1 run in the last day", "half within 41ms", "last deny: deleting folders needs a person",
		"Cline's own hook files", "TaskStart yours",
	} {
		b.shows(text)
	}
	// The verdict leads to its span.
	b.click(`[...document.querySelectorAll(".hook .facts a")].find((a) => a.innerText === "deny")`)
	b.wait(`location.pathname.startsWith("/t/") && location.search.includes("span=")`)
	b.shows("deleting folders needs a person")
	b.goTo(s, "/hooks?show=never")
	b.shows("Never runs.")
	b.wait(`[...document.querySelectorAll(".hook")].every((h) => h.classList.contains("never"))`)
	if n := eval[int](b, `[...document.querySelectorAll("button")].filter((x) => ["Add a hook", "Edit", "Switch off", "Test", "Trust", "Test a call"].includes(x.innerText)).length`); n != 0 {
		t.Errorf("%d buttons change hooks without --edit", n)
	}
	b.faultless(s)
}

func TestHooksViewSaysWhichHooksACallStarts(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	b.fill("Tool", "Bash")
	b.fill("Arguments", `{"command":"rm -rf dist"}`)
	b.press("Which hooks", "Ask")
	b.shows("A call of Bash starts 1 hook; 2 more would be for it but never run.")
	b.shows(`Does not start: matcher "Edit|Write" fits none of Bash`)
	b.shows(`Starts: matcher "Bash" fits Bash`)
	b.shows("Does not start: it runs at Stop, which is no call of a tool")
	b.wait(`location.search.includes("tool=Bash") && location.search.includes("input=")`)
	b.run(chromedp.Reload())
	b.shows(`Does not start: matcher "Edit|Write"`)
	b.press("Never run", "Started by this call")
	b.wait(`document.querySelectorAll(".hook").length === 3 && location.search.includes("show=fits")`)
	b.run(chromedp.NavigateBack())
	b.wait(`document.querySelectorAll(".hook").length > 3`)
	b.fill("Recorded call", "Edit: ")
	b.shows("A call of Edit starts")
	b.wait(`location.search.startsWith("?call=") && [...document.querySelectorAll(".which input")][1].value.includes("src/invoice/rows.ts")`)
	b.shows(`Would start: matcher "Edit|Write" fits Edit`)
	b.fill("Tool", "bash")
	b.press("Which hooks", "Ask")
	b.shows("No tool bash is known")
	b.fill("Arguments", "rm")
	b.press("Which hooks", "Ask")
	b.shows("arguments: want a JSON object")
	b.press("Which hooks", "Clear")
	b.wait(`location.search === ""`)
	b.refused(s, "status of 400") // the arguments
}

// TestAddAHookOnThePage adds a hook, looks at the difference, and at the bytes.
func TestAddAHookOnThePage(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, sample.Tasks(), e), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	before := e.home.Read(".cline/hooks.json")
	b.press(e.home.Dir+"/.cline/hooks.json", "Add a hook")
	b.fill("Matcher", "Grep")
	b.fill("Command", "./hooks/new.sh")
	b.fill("Time limit", "5")
	b.press("Add a hook", "Show the difference")
	b.shows("add PreToolUse [Grep]: ./hooks/new.sh")
	b.wait(`[...document.querySelectorAll("dialog .diff .plus")].some((l) => l.innerText.includes('"command": "./hooks/new.sh"'))`)
	b.shows("is looked for in the folder where Cline works")
	if got := e.home.Read(".cline/hooks.json"); got != before {
		t.Fatalf("the file was written before it was confirmed:\n%s", got)
	}
	b.fill("Code from the terminal", "AAAA-AAAA")
	b.press("Code from the terminal", "Write")
	b.shows("That is not the code for this change")
	b.confirm(e, "Write")
	b.shows("done: add PreToolUse [Grep]: ./hooks/new.sh")
	want := strings.Replace(before, `format.sh" }] }`, `format.sh" }] },
      {
        "matcher": "Grep",
        "hooks": [
          {
            "type": "command",
            "command": "./hooks/new.sh",
            "timeout": 5
          }
        ]
      }`, 1)
	if got := e.home.Read(".cline/hooks.json"); got != want {
		t.Fatalf("the file is\n%s\nwant\n%s", got, want)
	}
	b.press("done: add", "Close")
	b.wait(`!document.querySelector("dialog") && [...document.querySelectorAll(".hook code")].some((c) => c.innerText === "./hooks/new.sh")`)
	b.refused(s, "status of 403") // the wrong code

	b.press("./hooks/new.sh", "Edit")
	b.fill("Matcher", "Grep|Glob")
	b.press("Edit a hook", "Show the difference")
	b.confirm(e, "Write")
	b.shows("done: change")
	if got := e.home.Read(".cline/hooks.json"); got != strings.Replace(want, `"Grep"`, `"Grep|Glob"`, 1) {
		t.Fatalf("the file is\n%s", got)
	}
	b.press("done: change", "Undo")
	b.confirm(e, "Write")
	b.shows("done: undo the last change")
	if got := e.home.Read(".cline/hooks.json"); got != want {
		t.Fatalf("after the undo the file is\n%s", got)
	}
	b.faultless(s)
}

func TestSwitchOffAndOnRestoresTheFile(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	for name, command := range map[string]string{".cline/hooks.json": "/hooks/guard.sh", ".claude/settings.json": "Is everything done?"} {
		before := e.home.Read(name)
		b.press(command, "Switch off")
		b.shows("switch off ")
		b.confirm(e, "Write")
		b.shows("done: switch off")
		b.press("done: switch off", "Close")
		b.wait(`document.querySelector(".hook.off")?.innerText.includes("switched off just now")`)
		if got := e.home.Read(name); got == before || strings.Contains(got, command) {
			t.Fatalf("%s: the hook is still there:\n%s", name, got)
		}
		b.press("switched off just now", "Switch on")
		b.confirm(e, "Write")
		b.shows("done: switch on")
		b.press("done: switch on", "Close")
		b.wait(`!document.querySelector(".hook.off") && !document.querySelector("dialog")`)
		if got := e.home.Read(name); got != before {
			t.Fatalf("%s: the file is\n%s\nwant\n%s", name, got, before)
		}
	}
	b.faultless(s)
}

func TestTestOfHooksWithARecordedCall(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, sample.Tasks(), e), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	b.press("/hooks/guard.sh", "Test")
	b.fill("Recorded call", "execute_command: npm run build")
	b.press("Test hooks", "Show what it starts")
	b.shows(`matcher "Bash" fits Bash`)
	b.shows(`does not run`)
	b.shows(`matcher "Edit|Write" fits none of Bash`)
	b.confirm(e, "Run them")
	b.shows("Cline continues as if there were no hook.")
	b.shows("exit 0")
	b.press("Test hooks", "Another call")
	b.fill("Arguments", `{"command":"rm -rf /"}`)
	b.press("Test hooks", "Show what it starts")
	b.confirm(e, "Run them")
	b.shows("Cline does not run the tool")
	b.shows("exit 2")
	b.shows("deny: rm -rf goes too far")
	b.shows(`"cancel":true`)
	b.press("Test hooks", "Another call")
	b.fill("Agent", "Claude Code")
	b.fill("Tool", "Read")
	b.press("Test hooks", "Show what it starts")
	b.shows(`matcher "Bash" fits none of Read`)
	b.wait(`![...document.querySelectorAll("dialog button")].some((x) => x.innerText === "Run them" && x.offsetParent)`)
	b.faultless(s)
}

func TestTrustOnThePage(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	b.press("not trusted", "Trust")
	b.shows("line 1: PreToolUse: .cline/check.sh")
	b.confirm(e, "Trust")
	b.shows("done: trust")
	b.press("done: trust", "Close")
	b.wait(`[...document.querySelectorAll(".hook-file")].some((f) => f.innerText.includes("of the project shop") && f.innerText.includes("Stop trusting") && !f.innerText.includes("not trusted"))`)
	b.faultless(s)
}

// TestKeysOfTheHooksView presses each key of the view.
func TestKeysOfTheHooksView(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.goTo(s, "/hooks")
	b.shows("yours, in every project")
	at := func(text string) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.activeElement?.closest(".hook")?.innerText.includes(%q)`, text))
	}
	b.keys("j")
	at("guard.sh")
	b.keys("j", "j")
	at("log.sh")
	b.keys("k")
	at("format.sh")
	b.keys("e", "e")
	at("check.sh")
	b.keys("E")
	at("log.sh")
	for key, title := range map[string]string{"\r": "Edit a hook", "x": "Switch a hook off", "v": "Test hooks with a call", "a": "Add a hook"} {
		b.keys(key)
		b.wait(fmt.Sprintf(`document.querySelector("dialog h2")?.innerText === %q`, title))
		b.keys("g", "s", "j") // Behind the dialog no key works.
		b.keys("\x1b")
		b.run(chromedp.Evaluate(`document.querySelector("dialog .close")?.click()`, nil))
		b.wait(`!document.querySelector("dialog") && location.pathname === "/hooks"`)
		b.keys("j", "k")
		at("log.sh")
	}
	b.keys("/")
	b.wait(`document.activeElement === document.querySelector(".which input")`)
	b.faultless(s)
}

// TestAFileThatIsEditedShowsAtOnce edits a file by hand.
func TestAFileThatIsEditedShowsAtOnce(t *testing.T) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	b.enter(s)
	b.goTo(s, "/hooks")
	b.shows("guard.sh")
	b.wait(`document.querySelector(".live.on")`)
	e.home.Write(".cline/hooks.json", strings.Replace(hookstest.ClineHooks, "guard.sh", "other.sh", 1), 0o600)
	b.shows("other.sh")
	b.faultless(s)
}

// TestEditingViews looks at every dialog in both themes on every screen.
func TestEditingViews(t *testing.T) {
	script := axe(t)
	e := newEditing()
	s, b := serveEdit(t, sample.Tasks(), e), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/hooks?tool=Bash")
	b.shows("A call of Bash starts")
	b.looks("hooks that fit", script)
	b.press(e.home.Dir+"/.cline/hooks.json", "Add a hook")
	b.shows("Show the difference")
	b.looks("a hook's form", script)
	b.fill("Command", "true")
	b.press("Add a hook", "Show the difference")
	b.shows("Code from the terminal")
	b.looks("a hook's difference", script)
	b.press("Code from the terminal", "×")
	b.press("/hooks/guard.sh", "Test")
	b.shows("Show what it starts")
	b.looks("test of hooks", script)
	b.fill("Arguments", `{"command":"rm -rf /"}`)
	b.press("Test hooks", "Show what it starts")
	b.shows("Code from the terminal")
	b.looks("hooks to test", script)
	b.confirm(e, "Run them")
	b.shows("exit 2")
	b.looks("result of a test", script)
	b.keys("\x1b")
	b.wait(`!document.querySelector("dialog")`)
	b.faultless(s)
}

// hostileHooks has hostile texts in each member of a project's file, which the
// project's author writes, and in Claude Code's settings.
func hostileHooks(t *testing.T, r *proof.Result) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	type object map[string]any
	var groups []any
	for _, text := range hostile {
		text = strings.ReplaceAll(text, "RAN", "window.ran=1")
		groups = append(groups, object{"matcher": text, "hooks": []any{object{"type": "command", "command": text + " ", "args": []string{text}, "if": text}, object{"type": text, "command": text}}})
	}
	events := object{"PreToolUse": groups}
	for _, text := range hostile {
		events[text] = groups[:1]
	}
	data, err := json.Marshal(object{"env": object{"A": hostile[0]}, "hooks": events})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"code/shop/.cline/hooks.json", "code/shop/.claude/settings.json"} {
		e.home.Write(name, string(data), 0o600)
	}
	b.enter(s)
	b.run(chromedp.EmulateViewport(1280, 900))
	for _, path := range []string{"/hooks", "/hooks?tool=" + url.QueryEscape(hostile[2]), "/hooks?show=never"} {
		b.goTo(s, path)
		b.shows("<script>window.ran=1</script>")
		b.shows("⟨U+202E⟩gnp.exe")
		unharmed(r, b, path)
	}
	b.goTo(s, "/hooks")
	b.press("not trusted", "Trust")
	b.shows("Code from the terminal")
	unharmed(r, b, "trust")
	b.confirm(e, "Trust")
	b.shows("done: trust")
	b.press("done: trust", "Close")
	b.click(`[...document.querySelectorAll(".hook button")].find((x) => x.innerText === "Edit" && x.closest(".hook").innerText.includes("onerror"))`)
	b.shows("Show the difference")
	b.fill("Time limit", "3")
	b.press("Edit a hook", "Show the difference")
	b.wait(`document.querySelector("dialog .diff, dialog [role=alert]")`)
	unharmed(r, b, "edit")
	r.Trial(2 * len(hostile))
}

// unharmed breaks the row if a text ran or became markup.
func unharmed(r *proof.Result, b *browser, where string) {
	b.t.Helper()
	if eval[bool](b, `"ran" in window || [...document.querySelectorAll("script, iframe, object, embed, base, form, img, video, [onerror], [onload], [href^=javascript]")].some((e) => !/^\/assets\/[0-9a-f]{32}\/app\.js$/.test(e.getAttribute("src") ?? ""))`) {
		r.Break("%s: a text became markup or a script", where)
	}
	if eval[bool](b, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`) {
		r.Break("%s: a character that reorders text is in the document", where)
	}
}

// otherPageWrites has a page at another port try to change a hook in each way that a
// browser has for sending something.
func otherPageWrites(t *testing.T, r *proof.Result) {
	e := newEditing()
	s, b := serveEdit(t, nil, e), open(t)
	b.enter(s)
	b.goTo(s, "/hooks")
	b.shows("guard.sh")
	list := eval[hooks.Listing](b, `fetch("/api/v1/hooks", { headers: { "X-Hookspan-Token": sessionStorage.getItem("hookspan-token") } }).then((r) => r.json())`)
	before := e.home.Read(".cline/hooks.json")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>development</title><body>"))
	}))
	defer evil.Close()
	b.run(chromedp.Navigate(evil.URL))
	body, _ := json.Marshal(map[string]any{"kind": "add", "file": list.Files[0].ID, "sha256": list.Files[0].SHA256, "event": "Stop", "command": "true"})
	_, token, _ := strings.Cut(s.address, "#token=")
	for name, try := range map[string]string{
		"fetch":                   `fetch(URL, { method: "POST", body: BODY })`,
		"fetch of JSON":           `fetch(URL, { method: "POST", body: BODY, headers: { "Content-Type": "application/json" } })`,
		"fetch with the token":    `fetch(URL, { method: "POST", body: BODY, headers: { "Content-Type": "application/json", "X-Hookspan-Token": TOKEN } })`,
		"fetch without an answer": `fetch(URL, { method: "POST", body: BODY, mode: "no-cors" })`,
		"a beacon":                `Promise.resolve(navigator.sendBeacon(URL, new Blob([BODY], { type: "application/json" })))`,
		"a beacon of text":        `Promise.resolve(navigator.sendBeacon(URL, BODY))`,
		"XMLHttpRequest":          `new Promise((ok) => { const x = new XMLHttpRequest(); x.onloadend = ok; x.open("POST", URL); x.send(BODY); })`,
		"a form of text in a tab": `new Promise((ok) => { const f = document.createElement("form"); f.method = "POST"; f.action = URL; f.enctype = "text/plain"; f.target = "w"; const i = document.createElement("input"); i.name = BODY.slice(0, -1) + ',"x":"'; i.value = '"}'; f.append(i); document.body.append(f); f.submit(); setTimeout(ok, 300); })`,
		"a form in a frame":       `new Promise((ok) => { const w = document.createElement("iframe"); w.name = "v"; const f = document.createElement("form"); f.method = "POST"; f.action = URL; f.target = "v"; document.body.append(w, f); f.submit(); setTimeout(ok, 300); })`,
		"keepalive at the end":    `fetch(URL, { method: "POST", body: BODY, keepalive: true })`,
	} {
		for _, path := range []string{"preview", "apply"} {
			u, _ := json.Marshal(s.base + "/api/v1/hooks/" + path)
			q, _ := json.Marshal(string(body))
			expression := strings.NewReplacer("URL", string(u), "BODY", string(q), "TOKEN", fmt.Sprintf("%q", token)).Replace(try)
			_ = eval[bool](b, expression+`.then(() => true, () => false)`)
			e.mu.Lock()
			lines := len(e.lines)
			e.mu.Unlock()
			if got := e.home.Read(".cline/hooks.json"); got != before || lines > 0 {
				r.Break("%s to %s: the file is\n%s\nthe terminal shows %q", name, path, got, e.lines)
			}
			r.Trial(1)
		}
	}
}

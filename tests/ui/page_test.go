package ui

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestViews opens every view: what a person looks for is there, nothing is wider than the
// screen or cut, and axe finds nothing, in both themes on every screen.
func TestViews(t *testing.T) {
	script := axe(t)
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	first := "/t/" + tasks[0].ID()
	b.enter(s)
	b.screen("light", 1440, 900)
	for _, view := range []struct {
		name, path string
		keys       []string
		texts      []string
	}{
		{"sessions", "/", nil, []string{"39 tasks", "Checkout fails for orders", "API request failed: 529", "2 tasks"}},
		{"a project's sessions", "/?project=" + url.QueryEscape(tasks[3].Project), []string{"j"}, []string{"6 tasks", "Rotate the database passwords", "Clear"}},
		{"sessions of some days", "/?from=2020-01-01&to=2020-02-01", nil, []string{"No task matches", "Fewer filters show more"}},
		{"trace", first, nil, []string{"Checkout fails", "completed", "15m50s", "11 tool calls, 1 failed, 1 denied", "claude-opus-4-7", "npm test -- cart", "Explore"}},
		{"trace's details", first, []string{"e", "e", "\r"}, []string{"Expected: 2700"}},
		{"matches in a trace", first + "?find=discount", nil, []string{"of 10"}},
		{"conversation", first + "?tab=conversation", nil, []string{"You", "I will look at how the total is computed first.", "Expected: 2700"}},
		{"changes", first + "?tab=changes", nil, []string{"2 files", "src/cart/line.ts", "return times(line.price, line.count);"}},
		{"session", "/s/" + tasks[0].Session, nil, []string{"2 tasks", "Context", "Now the invoice"}},
		{"search", "/search?text=discount", nil, []string{"steps in", "Checkout fails"}},
		{"empty search", "/search", nil, []string{"All words must be in one step"}},
		{"search without a hit", "/search?text=hippopotamus", nil, []string{"Nothing found"}},
		{"calls", "/calls", nil, []string{"301 tool calls took", "8 failed", "2 were denied", "deleting folders needs a person"}},
		{"a folder's changes", "/changes?file=src/cart/", nil, []string{"changes took", "return times(line.price, line.count);"}},
		{"no calls", "/calls?command=hippopotamus", nil, []string{"No call matches", "Fewer filters show more"}},
		{"cost", "/cost", nil, []string{"Models", "For a task", "Five-hour windows", "Your hooks", "claude-sonnet-4-6", "Projects", "shop", "Tools", "execute_command"}},
		{"comparison", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[1].ID(), nil, []string{"Two tasks", "second to first", "side by side", "src/cart/line.ts"}},
		{"empty comparison", "/compare", nil, []string{"Compare two tasks"}},
		{"hooks", "/hooks", nil, []string{".cline/hooks.json", "PreToolUse", "deleting folders needs a person"}},
		{"status", "/status", nil, []string{"Recording is on", "no agent has hookspan's hooks", "39"}},
		{"keys", "/status", []string{"?"}, []string{"Keys are on", "next, previous failure"}},
		{"unknown task", "/t/00000000000000000000000000000000", nil, []string{"There is no such trace"}},
	} {
		b.goTo(s, view.path)
		b.wait(`document.querySelector("#app > *") && !document.querySelector("main:empty")`)
		if len(view.keys) > 0 && view.texts != nil {
			b.wait(`document.querySelector(".task, .row, .finding") !== null`)
			if strings.HasPrefix(view.path, "/t/") {
				b.failures()
			}
		}
		b.keys(view.keys...)
		for _, text := range view.texts {
			b.shows(text)
		}
		b.wait(`document.querySelector(".live.on")`)
		if view.name == "sessions of some days" { // A small screen shows its filters when they are asked for.
			b.screen("light", 390, 844)
			b.click(`document.querySelector('.filters > [aria-haspopup="dialog"]')`)
			b.wait(`document.querySelector("dialog .dates")`)
		}
		b.looks(view.name, script)
		if view.name == "unknown task" {
			b.faultless(s, notFound)
		} else {
			b.faultless(s)
		}
	}
}

// TestKeys presses each key and looks at what it selects.
func TestKeys(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	first := "/t/" + tasks[0].ID()
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	selected := func(label string) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.querySelector(".row.selected .label")?.textContent === %q && new URLSearchParams(location.search).has("span")`, label))
	}
	detail := func(text string) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.querySelector(".details").innerText.includes(%q)`, text))
	}

	b.goTo(s, first)
	b.shows("applyDiscount")
	b.failures()
	b.keys("j")
	selected("Claude Code")
	b.keys("j", "j", "j")
	selected("Grep")
	detail("src/cart/total.ts:31")
	b.keys("k")
	selected("chat")
	b.keys("h")
	selected("Claude Code")
	b.keys("h")
	b.wait(`document.querySelectorAll("[role=treeitem]").length === 1`)
	b.keys("l")
	b.wait(`document.querySelectorAll("[role=treeitem]").length > 20`)
	b.keys("e")
	detail("deleting folders needs a person")
	b.keys("e")
	detail("Expected: 2700")
	b.keys("E")
	detail("deleting folders needs a person")
	b.keys("2")
	b.wait(`document.querySelector(".did.selected")?.innerText.includes("rm -rf dist") && location.search.includes("tab=conversation")`)
	b.keys("3")
	b.shows("2 files")
	b.keys("1", "e", "z")
	b.wait(`location.search.includes("zoom=") && document.body.innerText.includes("zoom out")`)
	b.keys("0")
	b.wait(`!location.search.includes("zoom=")`)
	b.keys("/")
	b.wait(`document.activeElement.type === "search"`)
	// The browser's driver types the key into the field that it has opened.
	b.keys("\b", "lineTotal")
	b.shows(" of ")
	b.wait(`location.search.includes("find=lineTotal")`)
	b.keys("\x1b")
	b.wait(`document.activeElement === document.body`)
	b.wait(`document.querySelector(".row.selected.match") && !location.search.includes("addef365818811fd")`)
	at := eval[string](b, `location.search`)
	b.keys("n")
	b.wait(fmt.Sprintf(`location.search !== %q`, at))
	b.keys("N")
	b.wait(fmt.Sprintf(`location.search === %q`, at))
	b.wait(`document.querySelectorAll(".row.match").length >= 3`)
	b.keys("f")
	b.wait(`document.querySelector(".details").innerText.includes("All 48 tests pass.")`)
	b.keys("f")
	b.said("Stopped following")
	b.run(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, nil))
	b.keys("y")
	b.said("Copied")
	b.wait(`window.copied === location.href`)
	b.keys("\x1b")
	b.wait(`!document.querySelector(".row.selected") && !location.search.includes("span=") && !location.search.includes("find=") && !document.querySelector(".finder").innerText.includes(" of ")`)
	b.keys("j", "\r")
	b.wait(`document.querySelector(".trace.with-sheet")`)
	b.keys("\r")
	b.wait(`!document.querySelector(".trace.with-sheet")`)
	b.keys("]")
	b.shows("Now the invoice, please")
	b.wait(`location.pathname === "/t/` + tasks[1].ID() + `"`)
	b.keys("[")
	b.wait(`location.pathname === "` + first + `"`)
	b.shows("Checkout fails")
	b.keys("c")
	b.said("Press c on another task to compare")
	b.keys("]")
	b.shows("Now the invoice, please")
	b.keys("c")
	b.shows("Two tasks")
	for key, path := range map[string]string{"s": "/", "f": "/search", "l": "/calls", "d": "/changes", "c": "/cost", "h": "/hooks", "t": "/status"} {
		b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil))
		b.goes(key, path)
	}
	b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	b.goes("s", "/")
	b.shows("39 tasks")
	// The first line is a session, which unfolds to its tasks; the newest is first.
	at = "document.querySelector('.task.at .title')?.textContent"
	b.keys("j")
	b.wait(at + `.startsWith("Checkout fails") && document.querySelectorAll(".task.inside").length === 0`)
	b.keys("l", "j")
	b.wait(at + `.startsWith("Now the invoice") && document.querySelectorAll(".task.inside").length === 2`)
	b.keys("j", "h")
	b.wait(`document.querySelector(".task.at.session") && document.querySelectorAll(".task.inside").length === 0`)
	b.keys("e")
	b.wait(at + `.startsWith("Upgrade the map")`)
	b.keys("k")
	b.wait(at + `.startsWith("Checkout fails")`)
	b.keys("e", "e", "E")
	b.wait(at + `.startsWith("Upgrade the map")`)
	b.keys("\r")
	b.wait(`location.pathname === "/t/` + tasks[2].ID() + `"`)
	dark := eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
	b.keys("t")
	b.wait(fmt.Sprintf(`getComputedStyle(document.documentElement).backgroundColor !== %q`, dark))
	b.keys("?")
	b.shows("Keys are on")
	b.click(`document.querySelector('dialog input')`)
	b.keys("\x1b")
	b.wait(`!document.querySelector("dialog")`)
	b.keys("g", "s")
	if got := eval[string](b, "location.pathname"); got == "/" {
		t.Error("a key works after the keys were switched off")
	}
	b.faultless(s)
}

func TestBackAndReloadKeepWhatIsShown(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 320))
	b.shows("39 tasks")
	b.wait(`document.querySelector('select[aria-label="Agent"]')`)
	b.run(chromedp.SetValue(`select[aria-label="Agent"]`, "cline"))
	b.shows("10 tasks")
	b.run(chromedp.Evaluate(`scrollTo(0, 300)`, nil))
	b.wait(`history.state?.y === 300`)
	// The driver's click would scroll first.
	b.click(`[...document.querySelectorAll(".title")].find((e) => e.textContent.startsWith("Upgrade the map tiles"))`)
	b.shows("8 rows")
	b.failures()
	b.keys("e", "2")
	b.wait(`location.search.includes("span=") && location.search.includes("tab=conversation")`)
	b.shows("TS2345")
	b.run(chromedp.Reload())
	b.wait(`document.querySelector(".did.selected")?.innerText.includes("TS2345")`)
	b.run(chromedp.NavigateBack())
	b.shows("10 tasks")
	b.wait(`scrollY === 300 && location.search === "?agent=cline"`)
	b.run(chromedp.NavigateBack())
	b.shows("39 tasks")
	b.faultless(s)
}

// TestEachViewIsInItsAddress loads each view again, and goes back to it from the next.
func TestEachViewIsInItsAddress(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	first := "/t/" + tasks[0].ID()
	paths := []string{
		"/?project=" + url.QueryEscape(tasks[0].Project) + "&failed=1", "/?when=30d&text=npm", "/?from=2020-01-01&to=2030-01-01&cost=0.1", first + "?zoom=1000000-9000000", first + "?tab=conversation&find=total",
		first + "?tab=changes", "/s/" + tasks[0].Session, "/search?text=discount&agent=claude-code", "/cost?agent=cline", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[2].ID(),
		"/hooks?tool=Bash&show=fits", "/status",
	}
	left := regexp.MustCompile(`, \S+ left`)
	// What a view shows once its data is there and nothing changes any more.
	shown := func() (text string) {
		b.wait(`document.querySelector(".live.on") && document.querySelector("main").innerText.length > 40 && !document.querySelector(".wait")`)
		const settled = `new Promise((done) => { let last = "", same = 0; const step = () => { const now = document.querySelector("main").innerText; same = now === last ? same + 1 : 0; last = now; if (same > 4) done(now); else setTimeout(step, 20); }; step(); })`
		for range 100 { // an answer may have been given up without a word
			before := b.answered()
			if text = eval[string](b, settled); before && b.answered() {
				break
			}
		}
		return left.ReplaceAllString(text, "") // changes with the time
	}
	var texts []string
	for _, path := range paths {
		b.goTo(s, path)
		texts = append(texts, shown())
		b.run(chromedp.Reload())
		if got := shown(); got != texts[len(texts)-1] {
			t.Errorf("%s shows after it was loaded again\n%s\nbefore\n%s", path, got, texts[len(texts)-1])
		}
	}
	for i := len(paths) - 2; i >= 0; i-- {
		b.run(chromedp.NavigateBack())
		b.wait(`document.querySelector("main")`)
		// A view may have added what it selected.
		if at := eval[string](b, `location.pathname + location.search`); !strings.HasPrefix(at, paths[i]) {
			t.Fatalf("back from %s is %s, want %s", paths[i+1], at, paths[i])
		}
		if got := shown(); got != texts[i] {
			t.Errorf("%s shows after Back\n%s\nbefore\n%s", paths[i], got, texts[i])
		}
	}
	b.faultless(s)
}

// TestRangeOfDays types the days of the tasks to show.
func TestRangeOfDays(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).Format(time.DateOnly) }
	for _, view := range []string{"/", "/cost"} {
		b.goTo(s, view)
		b.shows("39 tasks")
		b.run(chromedp.SetValue(`select[aria-label="Any time"]`, "dates"))
		b.wait(`document.querySelectorAll("input[type=date]").length === 2`)
		set := func(label, value string) {
			b.run(chromedp.Evaluate(fmt.Sprintf(`{ const e = document.querySelector('input[aria-label=%q]'); e.value = %q; e.dispatchEvent(new Event("change", { bubbles: true })); }`, label, value), nil))
		}
		set("From", day(5))
		set("To", day(3))
		b.wait(fmt.Sprintf(`location.search === "?when=dates&from=%s&to=%s"`, day(5), day(3)))
		b.wait(`document.querySelector(".sum") && !document.querySelector(".sum").innerText.startsWith("39 tasks")`)
		begin, _ := time.ParseInLocation(time.DateOnly, day(5), time.Local)
		want, err := s.store.Count(t.Context(), store.Filter{Since: begin, Until: begin.AddDate(0, 0, 3)})
		if err != nil || want == 0 {
			t.Fatal(want, err)
		}
		b.shows(fmt.Sprintf("%d tasks", want))
		b.run(chromedp.Reload())
		b.shows(fmt.Sprintf("%d tasks", want))
		set("From", day(1))
		b.shows("The first day is after the last.")
		b.shows("No task matches")
		b.run(chromedp.NavigateBack())
		b.shows("39 tasks")
		b.wait(`!document.querySelector("input[type=date]")`)
	}
	b.goTo(s, "/cost")
	b.shows("39 tasks")
	last := eval[string](b, `document.querySelector(".column:last-child").ariaLabel.slice(0, 10)`) // after midnight it is yesterday
	b.click(`document.querySelector(".column:last-child")`)
	b.wait(fmt.Sprintf(`location.search === "?when=dates&from=%s&to=%[1]s"`, last))
	b.faultless(s)
}

func TestNewTraceAppearsByItself(t *testing.T) {
	s, b := serve(t, nil), open(t)
	b.enter(s)
	b.shows("No traces yet")
	b.shows("Run hookspan install")
	b.wait(`document.querySelector(".live.on")`)
	var worst time.Duration
	for i := range 3 {
		task := sample.Task{Host: "cline", Session: fmt.Sprint(i), Prompt: fmt.Sprintf("New task %d", i), Outcome: otelmap.OutcomeCompleted, Ago: time.Minute}
		start := time.Now()
		s.upload(t, task)
		b.shows(task.Prompt)
		worst = max(worst, time.Since(start))
	}
	t.Logf("stored to visible: at most %v of 3, polling every 20 ms included", worst)
	b.faultless(s)
}

// TestManyRowsStaySmall opens a trace of 100,000 spans.
func TestManyRowsStaySmall(t *testing.T) {
	task := sample.Big(100_000)
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	timed := func(name string, f func()) {
		start := time.Now()
		f()
		t.Logf("%s: %v", name, time.Since(start).Round(time.Millisecond))
	}
	for _, name := range []string{"the trace's rows, first time", "again"} {
		timed(name, func() {
			b.goTo(s, "/t/"+task.ID())
			b.shows("100,002 rows")
			b.shows("go test ./pkg/p3")
		})
	}
	few := func() {
		t.Helper()
		if n := eval[int](b, `document.querySelectorAll("[role=treeitem]").length`); n == 0 || n > 100 {
			t.Errorf("%d rows in the document, want 1 to 100", n)
		}
	}
	few()
	b.failures()
	timed("next failure", func() { b.keys("e"); b.wait(`document.querySelector(".row.selected.failed")`) })
	timed("20 failures on", func() {
		for range 20 {
			b.keys("e")
		}
		b.shows("pkg/p19953 fails")
	})
	few()
	b.keys("h", "h")
	timed("fold", func() { b.wait(`document.querySelectorAll("[role=treeitem]").length === 1`) })
	b.keys("l")
	b.wait(`document.querySelectorAll("[role=treeitem]").length > 20`)
	few()
	b.faultless(s)
}

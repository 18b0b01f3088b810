package ui

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// growing is a running task to which calls are added, also before others.
type growing struct {
	file  string
	trace atomic.Pointer[store.Trace]
	calls int
}

// add adds a call that began before all others, as a call of a subagent that reports late.
func (g *growing) add(t *testing.T) {
	t.Helper()
	g.calls++
	task := sample.Task{Ago: 2 * time.Minute, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/code/shop", Session: "running", Prompt: "Speed up the search", Outcome: otelmap.OutcomeRunning}
	for i := range 6 + g.calls {
		task.Steps = append(task.Steps, sample.Step{Tool: "Bash", Args: map[string]any{"command": fmt.Sprintf("step %d", i)}, Took: time.Second})
	}
	spans := task.Spans(time.Now().Truncate(time.Hour))
	all := spans[0].ScopeSpans[0].Spans
	for _, late := range all[len(all)-g.calls:] {
		late.StartTimeUnixNano, late.EndTimeUnixNano = all[0].StartTimeUnixNano, all[0].StartTimeUnixNano+1e6
	}
	g.trace.Store(store.NewTrace(spans))
	if err := os.WriteFile(g.file, fmt.Append(nil, strings.Repeat("x", g.calls)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSelectionStaysWhereItWas selects a row and a task while others arrive before them.
func TestSelectionStaysWhereItWas(t *testing.T) {
	g := &growing{file: filepath.Join(t.TempDir(), "events")}
	g.add(t)
	s := serveWith(t, sample.Tasks(), nil, func(o *ui.Options) {
		o.Watch = append(o.Watch, g.file)
		o.Running = func(context.Context) ([]*store.Trace, error) { return []*store.Trace{g.trace.Load()}, nil }
	})
	b := open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	b.goTo(s, "/t/"+g.trace.Load().TraceID)
	b.shows("step 5")
	b.wait(`document.querySelector(".live.on")`)
	rows := func(n int) { b.wait(fmt.Sprintf(`document.querySelectorAll("[role=treeitem]").length === %d`, n)) }
	rows(9)
	b.click(`[...document.querySelectorAll(".row")].find((r) => r.innerText.includes("step 3"))`)
	here := `document.querySelector(".row.selected .text")?.textContent === "step 3" && document.querySelector(".details").innerText.includes("step 3") && location.search.includes("span=")`
	b.wait(here)
	at := eval[string](b, "location.search")
	for i := range 2 {
		g.add(t)
		rows(10 + i)
		b.wait(here)
		if now := eval[string](b, "location.search"); now != at {
			t.Errorf("the address selects %s, before %s", now, at)
		}
	}
	b.keys("j")
	b.wait(`document.querySelector(".row.selected .text")?.textContent === "step 4"`)
	b.keys("2")
	b.wait(`document.querySelector(".did.selected")?.innerText.includes("step 4")`)
	g.add(t)
	b.wait(`[...document.querySelectorAll(".did")].length >= 10 && document.querySelector(".did.selected")?.innerText.includes("step 4")`)
	b.keys("1")
	b.wait(`document.querySelector(".row.selected .text")?.textContent === "step 4"`)

	b.goTo(s, "/")
	b.shows("39 tasks")
	b.keys("j", "j", "l", "j", "j")
	b.wait(`document.querySelector(".task.inside.at .title")?.textContent.startsWith("Checkout fails")`)
	for i := range 2 {
		task := sample.Task{Host: "cline", Session: fmt.Sprint("new", i), Prompt: fmt.Sprintf("New task %d", i), Outcome: otelmap.OutcomeCompleted, Ago: time.Minute}
		s.upload(t, task)
		b.shows(task.Prompt)
		b.wait(`document.querySelector(".task.at .title")?.textContent.startsWith("Checkout fails")`)
	}
	b.keys("\r")
	b.wait(`location.pathname === "/t/` + sample.Tasks()[0].ID() + `"`)
	b.shows("applyDiscount")
	b.faultless(s)
}

// TestLongListDrawsWhatIsSeen shows as many tasks as a list has.
func TestLongListDrawsWhatIsSeen(t *testing.T) {
	s, b := serve(t, nil), open(t)
	spans := (&sample.Task{Host: "cline", Session: "0", Prompt: "Task 0", Outcome: otelmap.OutcomeCompleted, Ago: time.Hour}).Spans(time.Now())
	for i := 1; i < 5200; i++ {
		task := sample.Task{Host: "cline", Session: fmt.Sprint(i / 3), Prompt: fmt.Sprintf("Task %d", i), Outcome: otelmap.OutcomeCompleted, Ago: time.Hour + time.Duration(i)*7*time.Minute}
		spans = append(spans, task.Spans(time.Now())...)
	}
	if err := s.store.UploadTraces(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	b.goTo(s, "/?open=all&limit=9999&cost=-1&from=2026-99-99&when=never")
	b.shows("5,200 tasks")
	b.shows("Task 3")
	few := func() {
		t.Helper()
		if n := eval[int](b, `document.querySelectorAll(".task").length`); n == 0 || n > 200 {
			t.Errorf("%d tasks are drawn, want 1 to 200", n)
		}
	}
	few()
	for range 120 {
		b.keys("j")
	}
	b.wait(`(() => { const r = document.querySelector(".task.at")?.getBoundingClientRect(); return r && r.top >= 0 && r.bottom <= innerHeight + 2 && document.querySelector(".task.at .title").textContent === "Task 89"; })()`)
	few()
	b.run(chromedp.Evaluate(`scrollTo(0, document.documentElement.scrollHeight)`, nil))
	b.shows("5,000 of 5,200 tasks. Filters reach the others.")
	b.wait(`[...document.querySelectorAll(".task .title")].some((e) => e.textContent === "Task 4999")`)
	few()
	b.faultless(s)
}

// TestAddressesThatMeanNothing opens addresses as people mistype and cut them.
func TestAddressesThatMeanNothing(t *testing.T) {
	tasks := sample.Tasks()
	soft := sample.Task{Host: "cline", Session: "soft", Prompt: "Die Seite übersetzen", Project: "/home/ada/so\u00adft", Model: "m\u00adodel", Outcome: otelmap.OutcomeCompleted, Ago: time.Hour}
	s, b := serve(t, append(tasks, soft)), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	for path, texts := range map[string][]string{
		"/t/%FF": {"There is no such page", "All sessions"}, "/s/%FF": {"There is no such page"}, "/?cost=abc": {"40 tasks"}, "/?cost=-1&limit=x": {"40 tasks"}, "/?limit=0": {"40 tasks"}, "/?text=--": {"40 tasks", "The text needs a letter or digit."}, "/?model=%3Dclaude-opus-4-7&tool=%3D": {"0 tasks"}, "/compare?a=%25zz&b=cost%3Dx": {"Two sets of tasks"}, "/calls?slower=x&limit=x&file=none.go": {"No call matches", "Clear"}, "/calls?file=%5B": {"That did not work", "want a [ to have its ]"}, "/?text=" + strings.Repeat("a+", 65): {"That did not work", "All sessions"},
		"/?when=dates&from=yesterday": {"40 tasks"}, "/cost?cost=NaN": {"Models"}, "/search?text=discount&cost=abc": {"steps in"}, "/search?text=--": {"The text needs a letter or digit."}, "/hooks?call=x.y": {"configured in"},
		"/hooks?tool=Bash&input=x": {"configured in"}, "/t/" + tasks[0].ID() + "?tab=none&zoom=9-1&span=zz": {"Checkout fails"}, "/search?text=ubersetzen": {"übersetzen"},
		"/?project=" + url.QueryEscape("/home/ada/so\u00adft"): {"1 task took"},
	} {
		b.goTo(s, path)
		for _, text := range texts {
			b.shows(text)
		}
		if strings.Contains(path, "ubersetzen") {
			b.wait(`document.querySelector("mark")?.textContent === "übersetzen"`)
		}
	}
	// A value of a filter is sent back as it is, and shown as it can be seen.
	b.goTo(s, "/")
	b.wait(`[...document.querySelectorAll("option")].some((o) => o.text === "so⟨U+00AD⟩ft")`)
	b.run(chromedp.SetValue(`select[aria-label="Project"]`, "/home/ada/so\u00adft"))
	b.shows("1 task took")
	b.goTo(s, "/cost?project="+url.QueryEscape("/home/ada/so\u00adft"))
	b.wait(`[...document.querySelectorAll("button.name")].some((e) => e.innerText === "m⟨U+00AD⟩odel")`)
	b.click(`[...document.querySelectorAll("button.name")].find((e) => e.innerText === "m⟨U+00AD⟩odel")`)
	b.wait(`location.search.includes("m%C2%ADodel")`)
	b.shows("1 task took")
	// Back changes the field, too.
	b.goTo(s, "/")
	b.shows("40 tasks")
	b.run(chromedp.Focus(`.filters input[type=search]`), chromedp.SendKeys(`.filters input[type=search]`, "rotate"))
	b.wait(`location.search === "?text=rotate"`)
	b.visit("/?text=checkout")
	b.wait(`document.querySelector(".filters input[type=search]").value === "checkout"`)
	b.run(chromedp.NavigateBack())
	b.wait(`document.querySelector(".filters input[type=search]").value === "rotate"`)
}

// TestDaysAreTheBrowsers looks at a task of an evening from another zone than the server's.
func TestDaysAreTheBrowsers(t *testing.T) {
	day := time.Now().UTC().AddDate(0, 0, -2).Truncate(24 * time.Hour)
	task := sample.Task{Host: "cline", Session: "evening", Model: "claude-opus-4-7", Prompt: "Late", Outcome: otelmap.OutcomeCompleted, Steps: []sample.Step{{Say: "x", Took: time.Second, Context: 9000}}}
	task.Ago = time.Since(day.Add(15 * time.Hour)) // 15:00 UTC is the next day in Auckland.
	s := serve(t, []sample.Task{task})
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+u.Port()+"/api/v1/usage?zone=Pacific/Auckland", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = u.Host
	req.Header.Set(ui.TokenHeader, s.address[strings.Index(s.address, "=")+1:])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if want := `"key":"` + day.AddDate(0, 0, 1).Format(time.DateOnly) + `"`; err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	tab := open(t)
	tab.run(chromedp.ActionFunc(func(ctx context.Context) error { return emulateZone(ctx, "Pacific/Auckland") }))
	tab.enter(s)
	tab.goTo(s, "/cost")
	tab.shows("1 task took")
	tab.click(`document.querySelector('.column:last-child')`)
	tab.wait(`location.search.includes("from=` + day.AddDate(0, 0, 1).Format(time.DateOnly) + `")`)
	tab.shows("1 task took")
}

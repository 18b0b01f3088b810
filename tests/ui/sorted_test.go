package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestExportMenuByKeyboard goes through the menu as menus go: each key does what it does in any other.
func TestExportMenuByKeyboard(t *testing.T) {
	task := someTask("one", "Do it", bash("ls", "", ""), bash("ls -l", "", ""), bash("false", otelmap.ErrorToolFailure, "exit 1"))
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/t/"+task.ID())
	b.wait(`document.querySelector(".row") && ((e) => e && (e.focus(), true))(document.querySelector(".menu > button:not(:disabled)"))`)
	at := eval[string](b, `location.search`)
	on := func(name string) { t.Helper(); b.wait(`document.activeElement.innerText === ` + quoted(name)) }
	for _, step := range []struct{ key, name string }{
		{kb.ArrowUp, "JSON"},
		{kb.ArrowDown, "Markdown"},
		{kb.End, "JSON"},
		{kb.Home, "Markdown"},
		{"h", "HTML"},
		{"j", "JSON"},
		{"e", "JSON"},
		{kb.ArrowDown, "Markdown"},
		{kb.Escape, "Export"},
		{kb.Enter, "Markdown"},
		{kb.ArrowUp, "JSON"},
		{kb.Escape, "Export"},
		{" ", "Markdown"},
	} {
		b.keys(step.key)
		on(step.name)
	}
	if now := eval[string](b, `location.search`); now != at {
		t.Errorf("the keys of the menu have selected a row behind it: %q, before %q", now, at)
	}
	// A click on the button closes the menu, and the focus is where it was.
	b.click(`document.querySelector(".menu > button")`)
	b.wait(`!document.querySelector("[role=menu]")`)
	on("Export")
	// At the edge of a phone and in a low window all of it can be seen.
	for _, size := range [][2]int64{{390, 844}, {320, 640}, {720, 450}} {
		b.screen("light", size[0], size[1])
		b.goTo(s, "/t/"+task.ID())
		b.wait(`document.querySelector(".row") && document.querySelector(".menu > button:not(:disabled)")`)
		b.click(`document.querySelector(".menu > button")`)
		b.wait(`document.querySelector("[role=menu]")`)
		if out := eval[string](b, `(() => { return [...document.querySelectorAll("[role=menuitem]")].filter((e) => { const r = e.getBoundingClientRect(), x = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2); return x !== e || r.left < 0 || r.right > innerWidth; }).map((e) => e.innerText).join(); })()`); out != "" {
			t.Errorf("at %v %s cannot be seen", size, out)
		}
		b.keys(kb.Escape)
		b.wait(`!document.querySelector("[role=menu]")`)
		on("Export")
	}
	b.faultless(s)
}

// TestSortedListIsKept pages through the dearest tasks, with one at work, and loads the page again.
func TestSortedListIsKept(t *testing.T) {
	var tasks []sample.Task
	for i := range 130 {
		task := someTask(fmt.Sprint("s", i/2), fmt.Sprint("Task ", i), sample.Step{Say: "a", Context: int64(1000 * (i + 1)), Took: time.Second})
		task.Ago = time.Duration(i)*time.Minute + 50*time.Hour
		tasks = append(tasks, task)
	}
	running := someTask("running", "At work", sample.Step{Say: "a", Context: 10, Took: time.Second})
	running.Outcome, running.Ago = otelmap.OutcomeRunning, time.Minute
	trace := store.NewTrace(running.Spans(time.Now()))
	script := axe(t)
	s, b := serveWith(t, tasks, nil, func(o *ui.Options) {
		o.Running = func(context.Context) ([]*store.Trace, error) { return []*store.Trace{trace}, nil }
	}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/")
	b.click(`[...document.querySelectorAll(".heads button")].find((e) => e.innerText === "cost")`)
	b.shows("100 of 130 tasks")
	b.click(`[...document.querySelectorAll(".note button")].find((e) => e.innerText === "Show more")`)
	sorted := `location.search === "?sort=cost&limit=400" && document.querySelector(".heads button[aria-pressed=true]")?.innerText === "cost" && [...document.querySelectorAll(".day")].map((e) => e.innerText).join() === "Running now,Dearest first"
		&& [...document.querySelectorAll(".task .title")].slice(0, 3).map((e) => e.innerText).join() === "At work,Task 129,Task 128"`
	b.wait(sorted)
	b.run(chromedp.Reload())
	b.wait(sorted)
	b.wait(`[...document.querySelectorAll(".task .title")].pop().innerText === "Task 0"`)
	// Among other days' tasks the time alone says nothing.
	day := time.Now().Add(-52 * time.Hour).Format("2 Jan")
	if got := eval[string](b, `document.querySelectorAll(".task .clock")[1].innerText`); got != day {
		t.Errorf("a task of %s is at %q", day, got)
	}
	// The orders are a group of buttons, which a screen reader names.
	b.wait(`document.querySelector(".heads [role=group][aria-label='Order'], .heads[role=group][aria-label='Order']")`)
	b.looks("dearest tasks", script)
	b.faultless(s)
}

// TestSortedDayHasItsSessions draws a day's sessions as lanes in time, whatever the list is ordered by.
func TestSortedDayHasItsSessions(t *testing.T) {
	var tasks []sample.Task
	for i := range 4 {
		task := someTask(fmt.Sprint("s", i%2), fmt.Sprint("Task ", i), sample.Step{Say: "a", Context: int64(1000 * (i + 1)), Took: time.Millisecond})
		task.Ago = time.Duration(i) * time.Second
		tasks = append(tasks, task)
	}
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	for _, query := range []string{"?when=today", "?when=today&sort=cost"} {
		b.goTo(s, "/"+query)
		b.wait(`document.querySelector(".day-lanes")`)
		if n := eval[int](b, `document.querySelectorAll(".day-lanes .lane:not(.hours)").length`); n != 2 {
			t.Errorf("%s: %d lanes of two sessions", query, n)
		}
	}
	b.faultless(s)
}

// TestSessionOfDifferentOutcomes has a session of which an earlier task failed.
func TestSessionOfDifferentOutcomes(t *testing.T) {
	task := func(session, prompt, outcome string, ago time.Duration) sample.Task {
		x := someTask(session, prompt, sample.Step{Say: "a", Context: 10, Took: time.Second})
		x.Outcome, x.Ago = outcome, ago
		return x
	}
	tasks := []sample.Task{task("a", "Last", otelmap.OutcomeCompleted, time.Minute), task("a", "Second", otelmap.OutcomeFailed, 2*time.Minute), task("a", "First", otelmap.OutcomeCompleted, 3*time.Minute), task("b", "Fine", otelmap.OutcomeCompleted, 8*time.Minute), task("b", "Good", otelmap.OutcomeCompleted, 9*time.Minute)}
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/")
	b.wait(`document.querySelectorAll(".task.session").length === 2`)
	got := eval[string](b, `[...document.querySelectorAll(".task.session")].map((e) => e.querySelector(".title").innerText + ": " + e.querySelector(".what .mark").getAttribute("aria-label") + ", " + e.querySelector(".count").innerText).join("; ")`)
	if want := "First: completed, 3 tasks, 1 failed; Good: completed, 2 tasks"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.keys("e")
	b.wait(`document.querySelector(".task.at .title")?.innerText === "First"`)
	b.looks("sessions of different outcomes", axe(t))
	b.faultless(s)
}

// TestDestinationsAreAsTheCommandSays has destinations of each level, in the words of hookspan status.
func TestDestinationsAreAsTheCommandSays(t *testing.T) {
	s, b := serveWith(t, nil, nil, func(o *ui.Options) {
		o.Status = func(context.Context) (any, error) {
			return map[string]any{"recording": "on", "destinations": []any{
				map[string]any{"name": "otlp", "level": "problem", "off": "OTEL_EXPORTER_OTLP_ENDPOINT: no host", "lines": []string{"off: OTEL_EXPORTER_OTLP_ENDPOINT: no host"}},
				map[string]any{"name": "file", "level": "ok", "off": "switched off", "lines": []string{"off: switched off"}},
				map[string]any{"name": "infinium", "level": "ok", "rejected": 2, "spans": 9, "lines": []string{"taken 2m ago at https://infinium; 9 spans, 2 rejected"}},
				map[string]any{"name": "store", "level": "problem", "lines": []string{"cannot be read: hookspan doctor"}},
				map[string]any{"name": "late", "level": "ok", "behind": 1, "lines": []string{"taken now"}},
			}}, nil
		}
	}), open(t)
	b.enter(s)
	b.goTo(s, "/status")
	b.shows("cannot be read")
	got := eval[string](b, `[...document.querySelectorAll(".sums")][0].innerText && [...document.querySelectorAll(".sums")[0].querySelectorAll(".finding")].map((f) => f.querySelector("b").innerText + " " + f.querySelector(".mark").getAttribute("aria-label")).join(", ")`)
	if want := "otlp failed, file off, infinium succeeded, store failed, late never finished"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.looks("destinations", axe(t))
	b.faultless(s)
}

// TestCostChartOfFewAndManyDays has one day, 90 days of which most are without a task, and days without a token.
func TestCostChartOfFewAndManyDays(t *testing.T) {
	script := axe(t)
	work := func(name string, ago time.Duration, context int64) sample.Task {
		task := someTask(name, "Work", sample.Step{Say: "a", Context: context, Took: time.Second})
		if task.Ago = ago; context == 0 {
			task.Steps = []sample.Step{bash("ls", "", "")}
		}
		return task
	}
	for name, tasks := range map[string][]sample.Task{
		"one day":        {work("a", time.Second, 200_000)},
		"90 days":        {work("a", time.Second, 200_000), work("b", 30*24*time.Hour, 20_000_000), work("c", 89*24*time.Hour, 100)},
		"without tokens": {work("a", time.Second, 0), work("b", 3*24*time.Hour, 0)},
	} {
		s, b := serve(t, tasks), open(t)
		b.enter(s)
		for _, query := range []string{"", "?scale=root", "?scale=root&when=7d"} {
			b.goTo(s, "/cost"+query)
			b.wait(`document.querySelector(".column") && document.querySelector(".legend .toggle")?.getAttribute("aria-pressed") === "` + fmt.Sprint(query != "") + `"`)
			got := eval[[]string](b, `[...document.querySelectorAll(".days .scale:not(.right) span")].map((e) => e.innerText)`)
			if len(got) != 3 || strings.ContainsAny(strings.Join(got, ""), "eN") || got[0] == got[2] {
				t.Errorf("%s%s: the scale is %q", name, query, got)
			}
			for _, h := range eval[[]string](b, `[...document.querySelectorAll(".pair-bars i")].map((e) => e.style.height).filter((h) => !/^\d/.test(h) || parseFloat(h) > 100.01)`) {
				t.Errorf("%s%s: a column is %q high", name, query, h)
			}
			b.looks("cost chart of "+name+strings.NewReplacer("?", " ", "&", " ", "=", " ").Replace(query), script)
		}
		b.faultless(s)
	}
}

// TestCompactionEndsTheChart has a session whose last point is a compaction, after which a subagent cost something.
func TestCompactionEndsTheChart(t *testing.T) {
	task := someTask("chart", "Work", sample.Step{Say: "a", Context: 1_000_000, Took: time.Second}, sample.Step{Say: "b", Context: 1_000_000, Took: time.Second}, sample.Step{Event: otelmap.EventCompaction, Say: "auto"},
		sample.Step{Agent: "explore", Say: "look", Took: time.Second, Steps: []sample.Step{{Say: "c", Context: 8_000_000, Took: time.Second}}})
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.goTo(s, "/s/chart")
	b.wait(`document.querySelector(".context path.spent")`)
	got := eval[string](b, `document.querySelector(".sum").innerText.match(/cost (\$[\d.]+)/)[1] + " " + document.querySelector(".context figcaption").innerText.match(/(\$[\d.]+) in all/)[1] + " " + document.querySelector(".context .scale.right span").innerText`)
	if v := strings.Fields(got); len(v) != 3 || v[0] != v[1] || v[1] != v[2] {
		t.Errorf("the sum, the chart and its scale say %s", got)
	}
	b.faultless(s)
}

// TestCutChangeThatHasNoMore asks for the whole of a change that the agent's files do not have.
func TestCutChangeThatHasNoMore(t *testing.T) {
	s, b := serveWith(t, nil, nil, func(o *ui.Options) {
		o.Whole = func(_ context.Context, _ *store.Trace, _ ...*view.Row) ([]view.CallText, error) {
			return []view.CallText{{Arguments: `{"file_path":"/home/ada/shop/a.go"}`}}, nil
		}
	}), open(t)
	if err := s.store.UploadTraces(t.Context(), cutTask()); err != nil {
		t.Fatal(err)
	}
	b.enter(s)
	b.goTo(s, "/changes")
	b.click(`[...document.querySelectorAll(".call-list button")].find((e) => e.innerText.includes("show the whole change"))`)
	b.shows("The agent's files have no more of it.")
	b.shows("second l…")
	b.faultless(s)
}

package ui

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestViewsWithoutData opens each view over an empty store: each says what is missing and
// what to do.
func TestViewsWithoutData(t *testing.T) {
	script := axe(t)
	s, b := serve(t, nil), open(t)
	b.enter(s)
	for _, view := range []struct {
		name, path string
		texts      []string
	}{
		{"no sessions", "/", []string{"No traces yet", "as soon as one has worked with hookspan's hooks", "Run hookspan install"}},
		{"no cost", "/cost", []string{"No costs yet", "Run hookspan install"}},
		{"no calls", "/calls", []string{"No calls yet", "Run hookspan install"}},
		{"no changes", "/changes", []string{"No changes yet", "Run hookspan install"}},
		{"nothing to search", "/search?text=x", []string{"Nothing found", "The store is empty", "run hookspan install"}},
		{"no session", "/s/gone", []string{"There is no such session", "It may have been deleted, or it is in another store", "All sessions"}},
		{"no comparison", "/compare?a=0123456789abcdef0123456789abcdef&b=0123456789abcdef0123456789abcde0", []string{"There is no such trace", "All sessions"}},
	} {
		b.goTo(s, view.path)
		for _, text := range view.texts {
			b.shows(text)
		}
		b.wait(`document.querySelector(".live.on")`)
		b.looks(view.name, script)
		b.faultless(s, notFound)
	}
}

// TestDeletedMeanwhile deletes a trace that the page shows.
func TestDeletedMeanwhile(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	for _, path := range []string{"/t/" + tasks[0].ID(), "/t/" + tasks[1].ID() + "?tab=conversation"} {
		b.goTo(s, path)
		b.wait(`document.querySelector(".live.on") && document.querySelector(".tabs")`)
	}
	if n, err := s.store.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != len(tasks) {
		t.Fatal(n, err)
	}
	b.shows("There is no such trace.")
	b.shows("It may have been deleted, or it is in another store.")
	b.click(`document.querySelector('.empty a')`)
	b.shows("No traces yet")
	if n, err := s.store.Count(t.Context(), store.Filter{}); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// TestServerGone ends the server under an open page: what is there stays, what is asked for
// says that nothing answers and how to start it again.
func TestServerGone(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 390, 844)
	b.shows("39 tasks")
	b.wait(`document.querySelector(".live.on")`)
	s.stop()
	b.wait(`document.querySelector(".live:not(.on)")?.innerText === "offline"`)
	b.shows("39 tasks")
	for _, path := range []string{"/search?text=discount", "/cost", "/hooks", "/status", "/t/" + tasks[0].ID(), "/s/" + url.PathEscape(tasks[0].Session), "/compare?a=" + tasks[0].ID() + "&b=" + tasks[1].ID()} {
		b.visit(path)
		b.shows("No connection")
		b.shows("Hookspan ui does not answer.")
		b.shows("Start it again: hookspan ui.")
	}
}

// TestServerGoneUnderATask ends the server under an open task: the task stays, a tab that
// was not opened before says that nothing answers.
func TestServerGoneUnderATask(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/t/"+tasks[0].ID())
	b.shows("applyDiscount")
	b.wait(`document.querySelector(".live.on")`)
	s.stop()
	b.wait(`document.querySelector(".live:not(.on)")?.innerText === "offline"`)
	b.shows("applyDiscount")
	b.keys("2")
	b.shows("No connection")
	b.keys("1")
	b.shows("applyDiscount")
	b.shows("Checkout fails")
}

// TestRunningTask looks at a task that has not ended.
func TestRunningTask(t *testing.T) {
	script := axe(t)
	task := sample.Task{
		Ago: 2 * time.Minute, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/code/shop", Session: "running", Prompt: "Speed up the search", Outcome: otelmap.OutcomeRunning,
		Steps: []sample.Step{{Say: "I measure first.", Took: 5 * time.Second, Context: 12_000}, {Tool: "Bash", Args: map[string]any{"command": "npm run bench"}, Took: time.Minute}},
	}
	running := store.NewTrace(task.Spans(time.Now()))
	running.Waiting = true
	s := serveWith(t, sample.Tasks(), nil, func(o *ui.Options) {
		o.Running = func(context.Context) ([]*store.Trace, error) { return []*store.Trace{running}, nil }
	})
	b := open(t)
	b.enter(s)
	for _, view := range []struct {
		name, path string
		texts      []string
	}{
		{"running sessions", "/", []string{"Running now", "Speed up the search", "39 tasks in 32 sessions", "waits for you"}},
		{"running task", "/t/" + running.TraceID, []string{"waits for you", "npm run bench", "The task still runs"}},
	} {
		b.goTo(s, view.path)
		for _, text := range view.texts {
			b.shows(text)
		}
		b.wait(`document.querySelector(".live.on")`)
		b.wait(`document.title.startsWith("(waits for you) ")`)
		b.looks(view.name, script)
		b.faultless(s)
	}
}

// TestRefusedTextLeavesThePage types more words than a search takes: what was shown stays, with
// the fields in which they can be changed.
func TestRefusedTextLeavesThePage(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	for _, path := range []string{"/", "/cost", "/calls"} {
		b.goTo(s, path)
		b.wait(`document.querySelector(".task, .days, .call")`)
		b.run(chromedp.Evaluate(`{ const e = document.querySelector(".filters input"); e.value = "`+strings.Repeat("w ", 65)+`"; e.dispatchEvent(new Event("input", { bubbles: true })); }`, nil))
		b.wait(`document.querySelector("[role=alert]")?.innerText.includes("64")`)
		b.wait(`document.querySelector(".task, .days, .call") && document.querySelector(".filters input").value.length > 100`)
		b.click(`[...document.querySelectorAll(".filters button")].find((e) => e.textContent === "Clear")`)
		b.wait(`!document.querySelector("[role=alert]") && location.search === ""`)
	}
	b.faultless(s, "400 (Bad Request)")
}

// TestDayOfManyTasksSaysSo opens a day with more tasks than the list has.
func TestDayOfManyTasksSaysSo(t *testing.T) {
	day := time.Now().UTC().AddDate(0, 0, -3).Truncate(24 * time.Hour)
	var tasks []sample.Task
	for i := range 120 {
		tasks = append(tasks, sample.Task{Host: "cline", Session: fmt.Sprint(i / 3), Prompt: fmt.Sprint("Task ", i), Outcome: otelmap.OutcomeCompleted, Ago: time.Since(day.Add(10*time.Hour + time.Duration(i)*time.Minute))})
	}
	s, b := serve(t, tasks), open(t)
	b.run(chromedp.ActionFunc(func(ctx context.Context) error { return emulateZone(ctx, "UTC") }))
	b.enter(s)
	on := day.Format(time.DateOnly)
	b.goTo(s, "/?when=dates&from="+on+"&to="+on)
	b.shows("the newest 100 of 120 tasks")
	b.goTo(s, "/?when=dates&limit=400&from="+on+"&to="+on)
	b.wait(`document.querySelectorAll(".lane button").length === 120`)
	b.faultless(s)
}

// TestTodayIsComparedWithTheSameHours looks at what the view of the costs asks for before today.
func TestTodayIsComparedWithTheSameHours(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.goTo(s, "/cost?when=today")
	b.shows("Yesterday up to this hour")
	b.mu.Lock()
	defer b.mu.Unlock()
	checked := false
	for _, asked := range b.asked {
		u, err := url.Parse(asked)
		if err != nil || u.Query().Get("until") == "" {
			continue
		}
		until, err := time.Parse(time.RFC3339, u.Query().Get("until"))
		// A day may have 23 or 25 hours.
		if ago := time.Since(until); err != nil || ago < 21*time.Hour || ago > 50*time.Hour {
			t.Errorf("%s: until %v ago", asked, ago)
		}
		checked = true
	}
	if !checked {
		t.Errorf("no period before was asked for: %q", b.asked)
	}
}

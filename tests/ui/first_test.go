package ui

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestCallsShowTheirFirstRowsBeforeTheSums holds the whole answers back: the rows of the first
// ones are drawn at once, also after a change of the filter.
func TestCallsShowTheirFirstRowsBeforeTheSums(t *testing.T) {
	task := someTask("one", "Do it", bash("ls", "", ""), bash("go vet", otelmap.ErrorToolFailure, "exit 1"))
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.goTo(s, "/")
	b.shows("1 task took")
	b.run(chromedp.Evaluate(`{ const real = fetch; window.held = []; window.fetch = (path, o) => /\/calls\?/.test(path) && !/&first$/.test(path) && window.held ? new Promise((r) => held.push(() => r(real(path, o)))) : real(path, o); }`, nil))
	release := func() {
		t.Helper()
		b.wait(`held.length > 0`)
		b.run(chromedp.Evaluate(`held.splice(0).forEach((f) => f()), 0`, nil))
	}
	page, rows := `document.querySelector(".page.tasks:not(.stale)")`, `document.querySelectorAll(".call-list .call").length`
	b.click(`document.querySelector("nav a[href='/calls']")`)
	b.wait(page + `?.getAttribute("aria-busy") === "true" && ` + rows + ` === 2 && document.querySelector(".sum").innerText === "Counting…"`)
	b.wait(`!document.querySelector(".kinds") && !document.querySelector(".note")`)
	first := `[...document.querySelectorAll(".call-list .call")].map((e) => e.textContent).join()`
	before := eval[string](b, first)
	release()
	b.wait(`document.querySelector(".sum").innerText.startsWith("2 tool calls took") && document.querySelector(".kinds") && ` + page + `?.getAttribute("aria-busy") !== "true"`)
	if after := eval[string](b, first); after != before {
		t.Errorf("the rows are %q, the first ones were %q", after, before)
	}
	b.click(`[...document.querySelectorAll(".filters .toggle")].find((e) => e.innerText === "Failed")`)
	b.wait(page + ` && ` + rows + ` === 1 && document.querySelector(".sum").innerText === "Counting…"`)
	release()
	b.wait(`document.querySelector(".sum").innerText.startsWith("1 tool call took")`)
	b.faultless(s)
}

// TestNoCallsAtAll has a task without calls: its first rows, of which there are none, are no answer to a filter.
func TestNoCallsAtAll(t *testing.T) {
	s, b := serve(t, []sample.Task{someTask("one", "Say it", sample.Step{Say: "It.", Context: 10})}), open(t)
	b.enter(s)
	b.goTo(s, "/calls")
	b.shows("No calls yet")
	b.goTo(s, "/calls?failed=1")
	b.shows("No call matches")
	b.faultless(s)
}

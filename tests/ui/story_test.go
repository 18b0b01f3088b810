package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestWhatWasShownMoreStays reads to the end of a task while its agent works: what was asked for stays, and a new step follows.
func TestWhatWasShownMoreStays(t *testing.T) {
	task := sample.Task{Ago: time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/p", Session: "grows", Prompt: "Rename the logger", Outcome: otelmap.OutcomeCompleted}
	call := func(i int) sample.Step {
		return sample.Step{Tool: "Edit", Took: time.Millisecond, Result: "ok", Args: map[string]any{"file_path": fmt.Sprintf("/p/f%d.go", i), "old_string": "a", "new_string": "b"}}
	}
	for i := range 900 {
		task.Steps = append(task.Steps, call(i))
	}
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	more := func() {
		b.click(`[...document.querySelectorAll(".more")].find((e) => e.innerText === "Show more")`)
	}
	b.goTo(s, "/t/"+task.ID()+"?tab=conversation")
	b.wait(`document.querySelector(".live.on") && document.querySelectorAll(".did").length > 300 && document.querySelectorAll(".did").length < 500`)
	more()
	b.wait(`document.querySelectorAll(".did").length > 700 && document.querySelectorAll(".did").length < 900`)
	more()
	b.wait(`document.querySelectorAll(".did").length === 900`)
	b.run(chromedp.Evaluate(`window.least = Infinity; new MutationObserver(() => { window.least = Math.min(window.least, document.querySelectorAll(".did").length); }).observe(document.querySelector("#panel"), { childList: true, subtree: true })`, nil))
	task.Steps = append(task.Steps, call(900))
	s.upload(t, task)
	b.wait(`document.querySelectorAll(".did").length === 901`)
	if n := eval[int](b, `window.least`); n < 900 {
		t.Errorf("meanwhile %d steps were shown, want those that were asked for", n)
	}
	b.keys("3")
	b.shows("500 files")
	more()
	b.shows("901 files")
	b.faultless(s)
}

// TestSessionChart has two tasks of many requests, of which one was compacted.
func TestSessionChart(t *testing.T) {
	script := axe(t)
	steps := func(n int, compact int) (out []sample.Step) {
		for i := range n {
			if i == compact {
				out = append(out, sample.Step{Event: otelmap.EventCompaction, Say: "auto"})
			}
			out = append(out, sample.Step{Say: "Next.", Took: time.Second, Context: int64(1000 + 10*i)})
		}
		return out
	}
	task := func(ago time.Duration, prompt string, steps []sample.Step) sample.Task {
		return sample.Task{Ago: ago, Host: "claude-code", Model: "claude-opus-4-7", Project: "/p", Session: "chart", Prompt: prompt, Answer: "Done.", Outcome: otelmap.OutcomeCompleted, Steps: steps}
	}
	tasks := []sample.Task{task(3*time.Hour, "First", steps(1500, -1)), task(2*time.Hour, "Without a request", nil), task(time.Hour, "Last", steps(600, 300))}
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.goTo(s, "/s/chart")
	b.wait(`document.querySelector(".context")`)
	got := eval[string](b, `[document.querySelector("figcaption").innerText.split(";")[0], [...document.querySelectorAll(".begins span")].map((e) => e.innerText), document.querySelectorAll(".border:not(i)").length, document.querySelectorAll("line.compact").length,
		[...document.querySelectorAll(".scale:not(.right) span")].map((e) => e.innerText)].map(String).join(" | ")`)
	if want := "Context up to 16.0k tokens over 2,100 requests | 1,3 | 1 | 1 | 16.0k,8.0k,0"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if n := eval[int](b, `document.querySelectorAll(".context rect.bar").length`); n < 600 || n > 810 {
		t.Errorf("%d bars of 2,100 requests", n)
	}
	b.looks("a session's chart", script)
	// The keyboard goes through it as well.
	b.run(chromedp.Focus(".context svg", chromedp.ByQuery))
	b.keys(kb.ArrowRight, kb.ArrowRight)
	b.wait(`document.querySelector(".context .bar.at") === document.querySelectorAll(".context .bar")[1] && document.querySelector("figcaption").innerText.includes("tokens, $")`)
	b.keys(kb.Enter)
	b.wait(`location.pathname === "/t/` + tasks[0].ID() + `" && location.search.includes("span=")`)
	b.run(chromedp.NavigateBack())
	// The mouse is above a bar before it is pressed.
	b.wait(`((svg) => { if (svg) { const r = svg.getBoundingClientRect(), at = { bubbles: true, clientX: r.right - 2, clientY: r.top + 50 }, chosen = svg.querySelector(".at"); svg.dispatchEvent(new MouseEvent(chosen ? "click" : "mousemove", at)); } return !svg; })(document.querySelector(".context svg"))`)
	b.wait(`location.pathname === "/t/` + tasks[2].ID() + `" && document.querySelector(".row.selected .label")?.textContent === "chat"`)
	b.faultless(s)
}

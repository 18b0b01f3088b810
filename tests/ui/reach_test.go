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

// TestDaysAreReachedByKey goes to the chart of the days by Tab, through it by arrows, and opens a
// day by Enter. The chart is one stop of many columns.
func TestDaysAreReachedByKey(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/cost")
	b.shows("39 tasks")
	b.run(chromedp.Focus(`.filters button:last-of-type`, chromedp.ByQuery))
	b.keys(kb.Tab)
	b.wait(`document.activeElement.matches(".column:last-child")`)
	b.keys(kb.ArrowRight, kb.ArrowLeft, kb.ArrowLeft)
	b.wait(`document.activeElement.matches(".column:nth-last-child(3)") && document.querySelector(".days figcaption").innerText.includes("tokens")`)
	b.keys(kb.Tab)
	b.wait(`!document.activeElement.closest(".columns")`)
	b.run(chromedp.Focus(`.column:nth-last-child(3)`, chromedp.ByQuery))
	day := eval[string](b, `document.activeElement.ariaLabel.slice(0, 10)`)
	b.keys(kb.Enter)
	b.wait(`location.search === "?when=dates&from=` + day + `&to=` + day + `"`)
	b.faultless(s)
}

// TestAddressesTypedWrong opens addresses that lead nowhere, and days that no calendar of the
// API has: those select nothing.
func TestAddressesTypedWrong(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	for _, path := range []string{"/t", "/s", "/cost/2026", "/search/x", "/nothing"} {
		b.goTo(s, path)
		b.shows("There is no such page")
	}
	for _, path := range []string{"/?from=0000-01-01", "/?to=9999-12-31", "/?from=2026-13-45", "/cost?from=0000-01-01&to=9999-12-31"} {
		b.goTo(s, path)
		b.shows("39 tasks")
	}
	b.faultless(s, notFound)
}

// TestNumbersOfTasksAreBelowTheirBars looks at the chart of a session with few requests: its
// scales and numbers are at its bars.
func TestNumbersOfTasksAreBelowTheirBars(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.goTo(s, "/s/"+tasks[0].Session)
	for _, width := range []int64{390, 1440, 1920} {
		b.screen("light", width, 1000)
		b.wait(`(() => {
			const at = (e) => e.getBoundingClientRect(), near = (a, b) => Math.abs(a - b) < 14, chart = document.querySelector(".context .chart");
			if (!chart) return false;
			const lines = [...chart.querySelectorAll("line.border")], numbers = [...chart.querySelectorAll(".begins span")].slice(1);
			return lines.length === 1 && numbers.length === 1 && near(at(lines[0]).left, at(numbers[0]).left) && near(at(chart.querySelector("svg")).right, at(chart.querySelector(".right")).left);
		})()`)
	}
	b.faultless(s)
}

// TestComparedNumbersAreWritten compares agents, and tasks with more than a thousand calls.
func TestComparedNumbersAreWritten(t *testing.T) {
	tasks := append(sample.Tasks(), sample.Big(1500))
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	for path, text := range map[string]string{
		"/compare?a=agent%3Dcodex&b=agent%3Dclaude-code": "agent Codex", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[len(tasks)-1].ID(): "tool calls",
	} {
		b.goTo(s, path)
		b.shows(text)
		b.wait(`document.querySelector(".versus td") && /\t\d,\d{3}\b/.test(document.querySelector(".versus").innerText) && !/\t\d{4,}\b/.test(document.querySelector(".versus").innerText)`)
	}
	b.faultless(s)
}

// TestNothingScrollsByAPixel looks for what is a pixel too high. The last rows of a task failed,
// their mark beside the scroll bar made the whole page scroll; and Firefox stops with Tab at
// whatever scrolls, so at the row of the views before the first of them.
func TestNothingScrollsByAPixel(t *testing.T) {
	task := sample.Task{Ago: 3 * time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/shop", Session: "pixel", Prompt: "Run every test", Outcome: otelmap.OutcomeCompleted}
	for i := range 400 {
		step := sample.Step{Tool: "Bash", Took: time.Second, Args: map[string]any{"command": fmt.Sprintf("go test ./p%d", i)}, Result: "ok"}
		if i > 395 {
			step.Result, step.Error = "", "it fails"
		}
		task.Steps = append(task.Steps, step)
	}
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	for _, width := range []int64{1440, 390} {
		b.run(chromedp.EmulateViewport(width, 740))
		b.goTo(s, "/t/"+task.ID())
		b.wait(`document.querySelector(".ruler i.failed")`)
		for _, element := range []string{"html", ".top nav"} {
			b.wait(fmt.Sprintf(`((e) => e.scrollHeight === e.clientHeight)(document.querySelector(%q))`, element))
		}
	}
	b.faultless(s)
}

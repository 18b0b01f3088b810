package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestLargeTaskKeepsItsSelection selects a call far down: the conversation and the
// changes open there, reload and Back keep it, its wait for approval is hatched and the
// pause after it is folded.
func TestLargeTaskKeepsItsSelection(t *testing.T) {
	task := sample.Task{Ago: 9 * time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/monorepo", Session: "large", Prompt: "Rename the logger", Answer: "Done.", Outcome: otelmap.OutcomeCompleted}
	edit := func(n int) sample.Step {
		return sample.Step{Tool: "Edit", Took: 30 * time.Millisecond, Result: "ok", Args: map[string]any{"file_path": fmt.Sprintf("/home/ada/monorepo/f%d.go", n), "old_string": "log.Old", "new_string": "log.New"}}
	}
	for i := range 3000 {
		step := edit(i)
		if i%3 > 0 {
			step = sample.Step{Tool: "Bash", Took: 30 * time.Millisecond, Args: map[string]any{"command": fmt.Sprintf("go vet ./p%d", i)}, Result: "ok"}
		}
		if i == 2400 {
			step.Asked = 90 * time.Second
		}
		task.Steps = append(task.Steps, step)
		if i == 2400 {
			task.Steps = append(task.Steps, sample.Step{Idle: 7 * time.Hour})
		}
	}
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	seen := func(selector, text string) {
		t.Helper()
		b.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => {
			const r = e.getBoundingClientRect();
			return e.innerText.includes(%q) && r.height > 0 && r.top >= 0 && r.bottom < innerHeight + 1;
		})`, selector, text))
	}

	b.goTo(s, "/t/"+task.ID()+"?find=f2400.go")
	seen(".row.selected.match", "f2400.go")
	b.wait(`document.querySelector(".row.selected .waiting")?.getBoundingClientRect().width > 20`)
	b.wait(`document.querySelector(".axis .idle")?.title === "7h00m idle"`)
	b.shows("waited 1m29s for approval")
	b.wait(`location.search.includes("span=")`)
	at := eval[string](b, `new URLSearchParams(location.search).get("span")`)
	b.keys("2")
	seen(".did.selected", "f2400.go")
	b.shows("Show earlier")
	b.keys("3")
	seen(".change.selected", "log.New")
	b.run(chromedp.Reload())
	seen(".change.selected", "log.New")
	b.keys("2")
	seen(".did.selected", "f2400.go")
	b.run(chromedp.Reload())
	seen(".did.selected", "f2400.go")
	b.keys("1")
	seen(".row.selected", "f2400.go")
	if got := eval[string](b, `new URLSearchParams(location.search).get("span")`); got != at {
		t.Errorf("the address selects %s, want %s", got, at)
	}
	b.goes("s", "/")
	b.shows("Rename the logger")
	b.run(chromedp.NavigateBack())
	seen(".row.selected", "f2400.go")
	// Many rows in a row: the last one counts.
	for range 60 {
		b.keys("j")
	}
	seen(".row.selected", "go vet ./p2459")
	b.wait(`document.querySelector(".details").innerText.includes("go vet ./p2459")`)
	if n := eval[int](b, `document.querySelectorAll("[role=treeitem]").length`); n == 0 || n > 100 {
		t.Errorf("%d rows in the document, want 1 to 100", n)
	}
	b.faultless(s)
}

package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestPartsOfALargeTask filters and sorts the rows of a task of 900 calls, and zooms with the strip above them.
func TestPartsOfALargeTask(t *testing.T) {
	task := sample.Task{Ago: 9 * time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/monorepo", Session: "large", Prompt: "Rename the logger", Answer: "Done.", Outcome: otelmap.OutcomeCompleted}
	for i := range 900 {
		step := sample.Step{Tool: "Edit", Took: 2 * time.Second, Result: "ok", Args: map[string]any{"file_path": fmt.Sprintf("/home/ada/monorepo/f%d.go", i), "old_string": "a", "new_string": "b"}}
		if i%3 > 0 {
			step = sample.Step{Tool: "Bash", Took: 2 * time.Second, Args: map[string]any{"command": fmt.Sprintf("go vet ./p%d", i)}, Result: "ok"}
		}
		if i == 400 {
			step.Took, step.Result, step.Error = 30*time.Second, "", "p400 fails"
		}
		task.Steps = append(task.Steps, step)
	}
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	rows := func(query, text, first string) {
		t.Helper()
		b.goTo(s, "/t/"+task.ID()+"?"+query)
		b.wait(fmt.Sprintf(`document.querySelector(".axis-tree")?.textContent.startsWith(%q) && document.querySelector(".row .text")?.textContent === %q`, text, first))
	}
	rows("kind=shell", "600 of 902 rows", "go vet ./p1")
	rows("kind=edits", "300 of 902 rows", "f0.go")
	rows("kind=shell&sort=time", "600 of 902 rows", "go vet ./p400")
	rows("fails=1", "1 of 902 rows", "go vet ./p400")
	rows("slower=10", "1 of 902 rows", "go vet ./p400")
	b.keys("j")
	b.wait(`document.querySelector(".row.selected .text")?.textContent === "go vet ./p400"`)
	b.click(`document.querySelector('.row-filters .plain')`)
	b.wait(`document.querySelector(".axis-tree").textContent === "902 rows" && document.querySelector(".row.selected")`)
	// A row that a filter hides is shown when it is asked for.
	b.goTo(s, "/t/"+task.ID()+"?kind=edits&find=p500")
	b.wait(`document.querySelector(".row.selected .text")?.textContent === "go vet ./p500" && document.querySelector(".axis-tree").textContent === "902 rows" && !location.search.includes("kind")`)

	// The middle of the strip, with the mouse.
	b.goTo(s, "/t/"+task.ID())
	b.wait(`document.querySelector(".row .text") && document.querySelector("h1.prompt")`) // which is above the strip
	box := eval[map[string]float64](b, `(() => { const r = document.querySelector(".overview-strip").getBoundingClientRect(); return { x: r.x, y: r.y + 20, w: r.width }; })()`)
	at := func(part float64) float64 { return box["x"] + part*box["w"] }
	mouse := func(kind input.MouseType, x float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, box["y"]).WithButton(input.Left).WithButtons(1).WithClickCount(1)
	}
	b.run(mouse(input.MousePressed, at(.5)), mouse(input.MouseMoved, at(.55)), mouse(input.MouseMoved, at(.6)), mouse(input.MouseReleased, at(.6)))
	b.wait(`/zoom=\d+-\d+/.test(location.search) && / of 902 rows/.test(document.querySelector(".axis-tree").textContent)`)
	few := eval[int](b, `parseInt(document.querySelector(".axis-tree").textContent)`)
	if few < 60 || few > 120 {
		t.Errorf("a tenth of the time shows %d rows of 902", few)
	}
	b.run(input.DispatchMouseEvent(input.MouseWheel, at(.55), box["y"]).WithDeltaX(0).WithDeltaY(-300))
	b.wait(fmt.Sprintf(`parseInt(document.querySelector(".axis-tree").textContent) < %d`, few))
	b.keys("0")
	b.wait(`document.querySelector(".axis-tree").textContent === "902 rows" && !location.search.includes("zoom")`)
	b.faultless(s)
}

// TestBackClosesTheSheetFirst opens a row's details on a phone.
func TestBackClosesTheSheetFirst(t *testing.T) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(390, 844))
	b.goTo(s, "/t/"+tasks[0].ID())
	b.wait(`document.querySelectorAll(".row .text").length > 5`)
	b.click(`document.querySelectorAll(".row")[3]`)
	b.wait(`document.querySelector(".with-sheet") && location.search.includes("span=")`)
	b.run(chromedp.Evaluate(`history.back()`, nil))
	b.wait(`!document.querySelector(".with-sheet") && location.pathname === "/t/` + tasks[0].ID() + `" && location.search === ""`)
	b.faultless(s)
}

// TestDayHasALaneForEachSession shows today's sessions in time.
func TestDayHasALaneForEachSession(t *testing.T) {
	script := axe(t)
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	day := time.Now().Add(-tasks[0].Ago).Format(time.DateOnly)
	b.goTo(s, "/?when=dates&from="+day+"&to="+day+"&open=all")
	b.wait(`document.querySelectorAll(".task:not(.session)").length > 0`)
	if eval[int](b, `document.querySelectorAll(".task:not(.session)").length`) > 1 {
		b.wait(`document.querySelectorAll(".lane button").length === document.querySelectorAll(".task:not(.session)").length`)
	}
	b.looks("a day", script)
	b.click(`document.querySelector(".lane button, .task .title")`)
	b.wait(`location.pathname.startsWith("/t/")`)
	b.faultless(s)
}

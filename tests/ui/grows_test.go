package ui

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/tests/internal/built"
)

// play has the hook program report the events of a recorded Cline task whose numbers are from
// one to another.
func (m *machine) play(from, to string) {
	m.t.Helper()
	files, err := filepath.Glob("../../internal/demo/session/*.json")
	if err != nil || len(files) == 0 {
		m.t.Fatal(files, err)
	}
	for _, file := range files {
		number, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		if number < from || number > to {
			continue
		}
		payload, err := os.ReadFile(file)
		if err != nil {
			m.t.Fatal(err)
		}
		cmd := exec.CommandContext(m.t.Context(), built.Program(m.home, "cline-hook"), event)
		cmd.Dir, cmd.Env, cmd.Stdin = m.home, m.command().Env, bytes.NewReader(payload)
		if out, err := cmd.CombinedOutput(); err != nil {
			m.t.Fatalf("%s: %v %s", file, err, out)
		}
	}
}

// TestTaskGrowsInTwoTabs reports the events of a task while one tab shows the list and another
// the task: both show what it does, that it waits, and how it ends, with the figures of the
// command, and what was selected stays.
func TestTaskGrowsInTwoTabs(t *testing.T) {
	m := emptyMachine(t, "cmd/cline-hook")
	s, list, task := m.page(), open(t), open(t)
	list.enter(s)
	list.screen("light", 1440, 900)
	list.shows("No traces yet")
	m.play("001", "007")
	list.shows("Fix the login validation bug")
	list.shows("Running now")
	list.wait(`document.querySelector(".waits")?.innerText === "waits for you" && document.title === "(waits for you) hookspan"`)
	id := m.tasks()[0].TraceID

	task.enter(s)
	task.screen("light", 1440, 900)
	task.goTo(s, "/t/"+id)
	task.shows("waits for you")
	task.wait(`/live|no hooks/.test(document.querySelector(".live")?.innerText) && document.querySelectorAll(".row").length > 2`)
	before := eval[int](task, `document.querySelectorAll(".row").length`)
	task.click(`[...document.querySelectorAll(".row.k-tool")][0]`)
	task.wait(`document.querySelector(".row-details") && location.search.includes("span=")`)
	selected := eval[string](task, `location.search`)
	m.play("008", "015")
	task.wait(fmt.Sprintf(`document.querySelectorAll(".row").length > %d`, before))
	list.wait(`!document.querySelector(".waits") && document.title === "hookspan"`)
	m.play("016", "021")
	for _, b := range []*browser{list, task} {
		b.wait(`document.querySelector(".outcome.ok, .task.ok")`)
	}
	if now := eval[string](task, `location.search`); now != selected {
		t.Errorf("the address selects %s, before %s", now, selected)
	}
	all := m.tasks()
	if len(all) != 1 || all[0].TraceID != id || all[0].Outcome != "completed" {
		t.Fatal(all)
	}
	list.wait(`(` + rowsShown + `).join() === ` + quoted(all[0].row()))
	took := view.Duration(time.Duration(all[0].DurationMs) * time.Millisecond)
	task.wait(`document.querySelector(".head .facts b").innerText === ` + quoted(took))
	task.run(chromedp.Reload())
	task.wait(`document.querySelector(".row.selected") && document.querySelector(".head .facts b").innerText === ` + quoted(took))
	for _, b := range []*browser{list, task} {
		b.faultless(s)
	}
}

package ui

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestPaletteGoesToWhatIsTyped opens the palette by its key and its button.
func TestPaletteGoesToWhatIsTyped(t *testing.T) {
	script := axe(t)
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	b.shows("39 tasks")
	b.wait(`document.querySelector(".live.on")`)
	typed := func(text, first, path string) {
		t.Helper()
		b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
		b.wait(`document.activeElement.closest("dialog.palette") !== null`)
		b.run(chromedp.SendKeys(".palette input", text, chromedp.ByQuery))
		b.wait(`[...document.querySelectorAll(".palette li")].some((e) => e.innerText.replace(/\s+/g, " ").startsWith(` + quoted(first) + `))`)
		// What the machine finds arrives while keys are pressed, so the way to go is looked at before each.
		const way = `((all) => Math.sign(all.findIndex((e) => e.innerText.replace(/\s+/g, " ").startsWith(FIRST)) - all.findIndex((e) => e.ariaSelected === "true")))([...document.querySelectorAll(".palette li")])`
		b.keys(kb.ArrowDown) // what is only the first may be another one as soon as more is found
		b.until(func() bool {
			n := eval[int](b, strings.Replace(way, "FIRST", quoted(first), 1))
			if n != 0 {
				b.keys(map[int]string{1: kb.ArrowDown, -1: kb.ArrowUp}[n])
			}
			return n == 0
		}, first+" is chosen")
		b.keys(kb.Enter)
		b.wait(`location.pathname + location.search === ` + quoted(path) + ` && !document.querySelector("dialog")`)
	}
	typed("checkout fails", "task Checkout fails", "/t/"+tasks[0].ID())
	typed("cost", "view Cost", "/cost")
	typed("line.ts", "file Changes in line.ts", "/changes?file=line.ts")
	b.click(`document.querySelector('button[aria-label="Go to"]')`)
	b.shows("Light or dark")
	b.looks("palette", script)
	b.keys(kb.Escape)
	b.wait(`!document.querySelector("dialog")`)
	b.faultless(s)
}

// TestPaletteKeepsTheChoice lets tasks arrive after an entry below them was chosen.
func TestPaletteKeepsTheChoice(t *testing.T) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.shows("39 tasks")
	b.run(chromedp.Evaluate(`{
		const fetched = fetch, held = new Promise((free) => window.free = free);
		window.fetch = async (to, ...how) => { if (String(to).includes("limit=300")) await held; return fetched(to, ...how); };
	}`, nil))
	b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
	b.wait(`document.activeElement.closest("dialog.palette") !== null`)
	b.run(chromedp.SendKeys(".palette input", "checkout fails", chromedp.ByQuery))
	const chosen = `document.querySelector(".palette li[aria-selected=true]")?.innerText`
	b.wait(chosen + `.startsWith("file")`)
	b.keys(kb.ArrowDown)
	b.wait(chosen + `.startsWith("calls")`)
	b.run(chromedp.Evaluate(`free()`, nil))
	b.wait(`document.querySelector(".palette li").innerText.startsWith("task")`)
	b.wait(chosen + `.startsWith("calls")`)
	b.keys(kb.Enter)
	b.wait(`location.pathname + location.search === "/calls?command=checkout%20fails" && !document.querySelector("dialog")`)
	b.faultless(s)
}

// TestTaskSaysWhereItsMoneyWent opens the sentence above a task and goes to a row, and copies the command that continues the session.
func TestTaskSaysWhereItsMoneyWent(t *testing.T) {
	script := axe(t)
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900), chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, nil))
	b.visit("/t/" + tasks[0].ID())
	b.wait(`document.querySelector(".money summary")?.textContent.startsWith("$")`)
	b.click(`document.querySelector('.money summary')`)
	b.wait(`document.querySelector(".money button.name")`)
	b.looks("where the money went", script)
	// A sum leads to the rows that it is of, the dearest first, and a row to itself.
	b.click(`document.querySelector('.money button.name')`)
	b.wait(`location.search === "?kind=requests&sort=cost" && [...document.querySelectorAll(".row .label")].every((e) => e.textContent === "chat")`)
	b.click(`[...document.querySelectorAll(".money button.name")].at(-1)`)
	b.wait(`document.querySelector(".row.selected") && location.search.includes("span=")`)
	b.click(`[...document.querySelectorAll(".acts button")].find((e) => e.textContent === "Copy resume command")`)
	b.wait(`window.copied === ` + quoted(tasks[0].Host+" --resume "+tasks[0].Session))
	b.faultless(s)
}

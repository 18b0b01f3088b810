package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hookspan/hookspan/tests/ui/sample"
)

const pickFailed = `{ const e = document.querySelector("dialog select[aria-label=Outcome]"); e.value = "failed"; e.dispatchEvent(new Event("change", { bubbles: true })); }`

// TestBackClosesWhatIsAboveThePage opens what lies above the page and goes back: the sheet closes,
// what was chosen in it stays, and the next step undoes that.
func TestBackClosesWhatIsAboveThePage(t *testing.T) {
	script := axe(t)
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.screen("light", 390, 844)
	b.shows("39 tasks")
	b.click(`document.querySelector('.filters > [aria-haspopup="dialog"]')`)
	b.wait(`document.querySelector("dialog.bottom[open]")`)
	b.looks("filters on a phone", script)
	b.screen("light", 390, 844)
	b.wait(`document.querySelector("dialog.bottom[open]")`)
	b.run(chromedp.Evaluate(pickFailed, nil))
	b.wait(`location.search === "?outcome=failed" && document.querySelector("dialog.bottom[open]")`)
	b.run(chromedp.Reload())
	b.wait(`document.querySelector("dialog.bottom[open]")`)
	b.run(chromedp.NavigateBack())
	b.wait(`location.search === "?outcome=failed" && !document.querySelector("dialog")`)
	b.shows("Filters (1)")
	b.run(chromedp.NavigateBack())
	b.wait(`location.search === "" && !document.querySelector("dialog")`)
	b.shows("39 tasks")
	// The button closes it as Back does.
	b.click(`document.querySelector('.filters > [aria-haspopup="dialog"]')`)
	b.click(`document.querySelector('dialog .button')`)
	b.wait(`!document.querySelector("dialog") && !history.state?.sheet`)
	for _, button := range []string{".others", `button[aria-label="Go to"]`} {
		b.click(`document.querySelector(` + quoted(button) + `)`)
		b.wait(`document.querySelector("dialog.palette[open]")`)
		b.run(chromedp.NavigateBack())
		b.wait(`location.pathname === "/" && !document.querySelector("dialog")`)
	}
	b.screen("light", 1440, 900)
	b.goTo(s, "/cost")
	b.shows("Models")
	b.keys("?")
	b.wait(`document.querySelector("dialog.keys[open]")`)
	b.keys(kb.Escape)
	b.wait(`!document.querySelector("dialog") && location.pathname === "/cost"`)
	// A view that the palette opens takes its place: Back goes to where it was opened.
	b.click(`document.querySelector('button[aria-label="Go to"]')`)
	b.wait(`document.activeElement.closest("dialog.palette")`)
	b.run(chromedp.SendKeys(".palette input", "hooks", chromedp.ByQuery))
	b.keys(kb.Enter)
	b.wait(`location.pathname === "/hooks" && !document.querySelector("dialog")`)
	b.run(chromedp.NavigateBack())
	b.wait(`location.pathname === "/cost" && !document.querySelector("dialog")`)
	b.faultless(s)
}

// TestExportIsThatOfTheCommand downloads a task in each form.
func TestExportIsThatOfTheCommand(t *testing.T) {
	m := newMachine(t)
	s, b, dir := m.page(), open(t), t.TempDir()
	b.run(cdpbrowser.SetDownloadBehavior(cdpbrowser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir))
	b.enter(s)
	b.screen("light", 390, 844)
	const id = "2d8b5ea5ce50f1f57d654ab503c57379"
	b.goTo(s, "/t/"+id)
	for n, form := range [][3]string{{"md", "md", "Markdown"}, {"html", "html", "HTML"}, {"otlp", "json", "JSON"}} {
		format, ending, name := form[0], form[1], form[2]
		// The menu opens with a key, which downloads nothing, and an item is chosen by another.
		b.wait(`((e) => e && (e.focus(), true))(document.querySelector(".menu > button:not(:disabled)"))`)
		b.wait(`document.activeElement.innerText === "Export"`)
		b.keys(kb.ArrowDown)
		b.wait(`document.activeElement.innerText === "Markdown"`)
		b.keys(kb.ArrowUp)
		b.wait(`document.activeElement.innerText === "JSON"`)
		b.keys(kb.Escape)
		b.wait(`document.activeElement.innerText === "Export" && !document.querySelector("[role=menu]")`)
		b.keys(kb.ArrowDown)
		for eval[string](b, `document.activeElement.innerText`) != name {
			b.keys(kb.ArrowDown)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != n {
			t.Fatalf("%d files before %s is chosen, want %d: %v", len(files), name, n, err)
		}
		b.keys(kb.Enter)
		file := filepath.Join(dir, "hookspan-"+id[:8]+"."+ending)
		want, err := m.command("export", id, "--format", format).Output()
		if err != nil || len(want) < 1000 {
			t.Fatal(len(want), err)
		}
		b.until(func() bool { got, err := os.ReadFile(file); return err == nil && bytes.Equal(got, want) }, file)
	}
	b.faultless(s)
}

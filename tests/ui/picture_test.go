package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/tests/ui/sample"
)

var pictures = flag.String("pictures", "", "folder to write the pictures of the documentation into")

// TestPictures writes the pictures of the documentation.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("make page-pictures writes the pictures")
	}
	tasks := sample.Tasks()
	e := newEditing()
	s, b := serveEdit(t, tasks, e), open(t)
	b.enter(s)
	first := "/t/" + tasks[0].ID()
	for _, p := range []struct {
		name, path, theme, text string
		width, height           int64
		keys                    []string
	}{
		{"sessions", "/", "light", "Today", 1280, 800, nil},
		{"trace", first, "light", "npm test -- cart", 1440, 900, []string{"e", "e"}},
		{"trace-dark", first, "dark", "npm test -- cart", 1440, 900, []string{"e", "e"}},
		{"conversation", first + "?tab=conversation", "light", "applyDiscount", 1440, 900, []string{"e", "e"}},
		{"changes", first + "?tab=changes", "dark", "2 files", 1280, 700, nil},
		{"session", "/s/" + tasks[0].Session, "light", "2 turns", 1280, 560, nil},
		{"search", "/search?text=npm+test", "light", "steps in", 1280, 560, nil},
		{"cost", "/cost", "dark", "Models", 1280, 860, nil},
		{"compare", "/compare?a=" + tasks[0].ID() + "&b=" + tasks[2].ID(), "light", "side by side", 1280, 860, nil},
		{"hooks", "/hooks?tool=Bash", "light", "PreToolUse", 1280, 1120, nil},
		{"hooks-edit", "/hooks", "dark", "PreToolUse", 1280, 900, nil},
		{"phone", first, "light", "npm test -- cart", 390, 844, nil},
	} {
		b.run(chromedp.EmulateViewport(p.width, p.height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.theme}}))
		b.goTo(s, p.path)
		b.shows(p.text)
		b.wait(`document.querySelector(".live.on")`)
		for _, k := range p.keys {
			b.keys(k)
			b.wait(`document.querySelector(".row-details[aria-busy=false]")`)
		}
		if p.keys != nil {
			b.wait(`document.querySelector(".details").innerText.includes("Expected: 2700")`)
		}
		if p.name == "hooks-edit" {
			b.press(e.home.Dir+"/.cline/hooks.json", "Add a hook")
			b.fill("Matcher", "Bash")
			b.fill("Command", "~/hooks/no-secrets.sh")
			b.fill("Time limit", "5")
			b.press("Add a hook", "Show the difference")
			b.shows("Code from the terminal")
		}
		// The home folder of the test is one of a person.
		b.run(chromedp.Evaluate(fmt.Sprintf(`{ const w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); while (w.nextNode()) w.currentNode.data = w.currentNode.data.replaceAll(%q, "/home/ada"); }`, e.home.Dir), nil))
		var png []byte
		b.run(chromedp.CaptureScreenshot(&png))
		if err := os.WriteFile(filepath.Join(*pictures, "ui-"+p.name+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

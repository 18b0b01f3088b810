package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

var pictures = flag.String("pictures", "", "folder to write the pictures of the documentation into")

// TestPictures writes the pictures of the documentation.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		skip.Elsewhere(t, "make screenshots writes the pictures")
	}
	e := newEditing()
	// The verdicts of hooks are of invented tasks, all other pictures of recorded sessions.
	invented, recorded, b := serveEdit(t, sample.Tasks(), e), serve(t, nil), open(t)
	if err := sample.FillRecorded(t.Context(), recorded.store); err != nil {
		t.Fatal(err)
	}
	const first = "/t/2d8b5ea5ce50f1f57d654ab503c57379"
	list, err := recorded.store.List(t.Context(), store.Filter{Trace: "1c29f818", Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	other, session := list[0].TraceID, list[0].Session
	for _, p := range []struct {
		name, path, theme, text string
		width, height           int64
		keys                    []string
	}{
		{"sessions", "/", "light", "tasks in", 1280, 800, nil},
		{"trace", first, "light", "go test", 1440, 900, []string{"e"}},
		{"trace-dark", "/t/" + other, "dark", "login", 1440, 900, []string{"e"}},
		{"conversation", first + "?tab=conversation", "light", "auth.go", 1440, 900, []string{"e"}},
		{"changes", "/t/" + other + "?tab=changes", "dark", "file", 1280, 700, nil},
		{"session", "/s/" + session, "light", "tasks", 1280, 620, nil},
		{"search", "/search?text=login", "light", "steps in", 1280, 560, nil},
		{"cost", "/cost", "dark", "Models", 1280, 860, nil},
		{"compare", "/compare?a=" + first[3:] + "&b=" + other, "light", "side by side", 1280, 860, nil},
		{"hooks", "/hooks?tool=Bash", "light", "PreToolUse", 1280, 1120, nil},
		{"hooks-edit", "/hooks", "dark", "PreToolUse", 1280, 900, nil},
		{"phone", first, "light", "login", 390, 844, nil},
	} {
		b.run(chromedp.EmulateViewport(p.width, p.height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.theme}}))
		s := recorded
		if strings.HasPrefix(p.path, "/hooks") {
			s = invented
		}
		b.enter(s)
		b.goTo(s, p.path)
		b.shows(p.text)
		b.wait(`document.querySelector(".live.on")`)
		for _, k := range p.keys {
			if strings.HasPrefix(p.path, "/t/") {
				b.failures()
			}
			b.keys(k)
			b.wait(`document.querySelector(".row-details[aria-busy=false]")`)
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

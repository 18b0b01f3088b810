package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/tests/internal/proof"
)

// faults returns what a person sees wrong: a page wider than the screen, and texts that are
// cut without an ellipsis or have to be scrolled sideways.
const faults = `(() => {
	const out = [], over = Math.max(document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll("dialog > div")].map((d) => d.scrollWidth - d.clientWidth));
	if (over > 0) out.push(over + " pixels too wide");
	const styles = new Map(), style = (e) => styles.get(e) ?? (styles.set(e, getComputedStyle(e)), styles.get(e));
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || e.closest(".hidden, .skip, .said-note, select, noscript, pre, .shut")) continue;
		const texts = [...e.childNodes].filter((n) => n.nodeType === 3 && n.data.trim());
		if (!texts.length) continue;
		const range = document.createRange();
		range.setStart(texts[0], 0);
		range.setEndAfter(texts[texts.length - 1]);
		const r = range.getBoundingClientRect();
		for (let a = e; a && a !== document.body; a = a.parentElement) {
			const s = style(a);
			if (s.position === "fixed" || a.tagName === "DIALOG") break;
			if (s.textOverflow === "ellipsis" || s.webkitLineClamp !== "none") break;
			const box = a.getBoundingClientRect();
			const wide = s.overflowX !== "visible" && (r.right > box.right + 1 || r.left < box.left - 1);
			const high = s.overflowY === "hidden" && r.bottom > box.bottom + 3;
			if (wide || high) { out.push((wide ? "cut at the side: " : "cut below: ") + JSON.stringify(e.textContent.slice(0, 60)) + " in " + a.tagName + "." + a.className); break; }
			if (s.overflowY === "auto" || s.overflowY === "scroll") break; // What is further down is scrolled to.
		}
	}
	return out;
})()`

// looked is how a page is looked at. The sizes do not depend on the theme, nor the colours
// on the size, so the short form leaves out the dark theme on small screens and, of axe's rules,
// what has been found out on another screen.
func looked() []screen {
	if proof.Soak() || *looksDir != "" {
		return []screen{{"light", 1440, 900, all}, {"light", 390, 844, all}, {"light", 320, 700, all}, {"dark", 1440, 900, all}, {"dark", 390, 844, all}, {"dark", 320, 700, all}}
	}
	return []screen{{"light", 1440, 900, all}, {"light", 390, 844, but}, {"light", 320, 700, ""}, {"dark", 1440, 900, colours}}
}

// The options of axe with which it looks at all rules, the colours, and all others.
const (
	all     = `{}`
	colours = `{ runOnly: ["color-contrast"] }`
	but     = `{ rules: { "color-contrast": { enabled: false } } }`
)

// screen is a theme, a width and height in pixels, and the options of axe, if it looks as well.
type screen struct {
	theme         string
	width, height int64
	rules         string
}

// screen sets the size and the theme.
func (b *browser) screen(theme string, width, height int64) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
}

// looks fails the test for what is wrong with what the page shows now, as looked lists: by eye, by axe, and in the browser's log. script is axe. With -looks it
// writes a picture of each.
func (b *browser) looks(name, script string) {
	b.t.Helper()
	if !eval[bool](b, `!!window.axe`) {
		b.run(chromedp.Evaluate(script+`; 0`, nil))
	}
	for _, on := range looked() {
		b.screen(on.theme, on.width, on.height)
		where := fmt.Sprintf("%s, %s, %d wide", name, on.theme, on.width)
		// The measured sizes, as of the waterfall, are known two frames later.
		b.run(chromedp.Evaluate(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r))))`, nil, awaited))
		for _, v := range eval[[]string](b, faults) {
			b.t.Errorf("%s: %s", where, v)
		}
		if on.rules == "" {
			continue
		}
		for _, v := range eval[[]string](b, `axe.run({ resultTypes: ["violations"], ...`+on.rules+` }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary)))`) {
			b.t.Errorf("%s: %s", where, v)
		}
		if *looksDir != "" {
			var png []byte
			b.run(chromedp.CaptureScreenshot(&png))
			if err := os.WriteFile(filepath.Join(*looksDir, fmt.Sprintf("%s-%s-%d.png", strings.ReplaceAll(name, " ", "-"), on.theme, on.width)), png, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.screen("light", 1440, 900)
}

package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestAnswersAreDrawnAsMarkdown looks at what an agent wrote in the conversation, the answer and a row's details.
func TestAnswersAreDrawnAsMarkdown(t *testing.T) {
	script := axe(t)
	text := "# Fixed\n\nThe total is **right** again:\n\n1. `lineTotal` multiplies\n2. a test\n   - [x] passes\n\n```go title=cart.go\nreturn price * count\n```\n\n```diff\n-a\n+b\n```\n\n" +
		"| file | lines |\n|---|---|\n| cart.go | 3 |\n\n> as you said\n\nSee [the docs](https://docs.example.test/cart?x=1) and [line.ts](src/line.ts:3), <b>not</b> [this](javascript:alert(1)).\n\n![plan](https://img.example.test/a.png)\n\nhttps://example.test/plain"
	task := sample.Task{
		Ago: time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/shop", Session: "md", Prompt: "Fix the *total*\nplease", Answer: text, Outcome: otelmap.OutcomeCompleted,
		Steps: []sample.Step{
			{Say: text, Took: time.Second, Context: 10},
			{Tool: "Edit", Took: time.Second, Result: "ok", Args: map[string]any{"file_path": "/home/ada/shop/cart.go", "old_string": "a := price * count + rest\nx", "new_string": "a := line.price * line.count + rest\nx\ny"}},
			{Say: "Done.", Took: time.Second, Context: 10},
		},
	}
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/t/"+task.ID()+"?tab=conversation")
	const drawn = `(() => { const e = document.querySelector(SELECTOR), q = (s) => [...e.querySelectorAll(s)].map((x) => x.innerText.trim()); return [
		q("h2.level1"), q("strong"), q("ol > li").length, q(".code-block .cap")[0].split("\n"), q("pre")[0], q(".diff .plus"), q("th"), q("td"), q("blockquote"),
		[...e.querySelectorAll("a")].map((a) => [a.innerText, a.href, a.rel, a.target].join(" ")), q("img, b, script").length, e.innerText.includes("<b>not</b>"), e.innerText.includes("☑ passes"), q(".target"),
	].map(String).join("\n"); })()`
	want := strings.Join([]string{
		"Fixed", "right", "2", "go title=cart.go,Copy", "return price * count", "+b", "file,lines", "cart.go,3", "as you said",
		"the docs https://docs.example.test/cart?x=1 noreferrer noopener _blank,plan https://img.example.test/a.png noreferrer noopener _blank,https://example.test/plain https://example.test/plain noreferrer noopener _blank",
		"0", "true", "true", "https://docs.example.test/cart?x=1,https://img.example.test/a.png",
	}, "\n")
	for _, where := range []struct{ name, key, selector string }{{"an answer as Markdown", "", ".said.agent .md"}, {"the answer of a task", "1", ".overview .md"}, {"the answer in a row", "j", ".row-details .md:has(h2)"}} {
		if where.key != "" {
			b.keys(where.key)
		}
		if where.key == "j" {
			b.wait(`document.querySelector(".row.selected")`)
			b.keys("j", "j")
		}
		b.wait(`document.querySelector("` + where.selector + ` h2")`)
		if got := eval[string](b, strings.Replace(drawn, "SELECTOR", quoted(where.selector), 1)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", where.name, got, want)
		}
		b.looks(where.name, script)
	}
	// The source of an answer and of a block are copied, and the row below is not selected.
	b.run(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, nil))
	b.keys("2")
	b.wait(`document.querySelector(".said.agent .md pre")`)
	for selector, want := range map[string]string{".said.agent .who .copy": text, ".said.agent .code-block .copy": "return price * count"} {
		b.click(`document.querySelector("` + selector + `")`)
		b.wait(`window.copied === ` + quoted(want))
	}
	// Words that differ, and only these, are marked.
	b.keys("3")
	b.wait(`[...document.querySelectorAll(".diff i")].map((e) => e.innerText).join() === "line.,line."`)
	b.faultless(s)
}

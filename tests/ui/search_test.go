package ui

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// TestSearchShowsWhatWasSaid searches tasks of which one has more steps with the word than a page, and filters the list by it.
func TestSearchShowsWhatWasSaid(t *testing.T) {
	script := axe(t)
	task := func(ago time.Duration, name string, steps ...sample.Step) sample.Task {
		return sample.Task{Ago: ago, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/shop", Session: name, Prompt: name, Answer: "Ready.", Outcome: otelmap.OutcomeCompleted, Steps: steps}
	}
	bash := func(command, result string) sample.Step {
		return sample.Step{Tool: "Bash", Took: time.Second, Args: map[string]any{"command": command, "description": "Runs it"}, Result: result}
	}
	var many []sample.Step
	for i := range 150 {
		many = append(many, bash(fmt.Sprintf("make basket-%d", i), "ok"))
	}
	tasks := []sample.Task{
		task(3*time.Hour, "Rename the cart", many...),
		task(2*time.Hour, "Find the slow query", sample.Step{Say: "The baskets table has no index.", Took: time.Second, Context: 10}, bash(`psql -c "select * from baskets"`, "3 rows")),
		task(time.Hour, "Something else", bash("ls", "README.md")),
	}
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/search?text=basket")
	b.shows("2 tasks took")
	b.shows("The newest 100 steps in 2 tasks")
	hits := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll(".hit")].map((e) => e.innerText.replace(/\s+/g, " "))`)
	}
	for i, want := range []string{`Bash command: psql -c "select * from baskets", description: Runs it`, "request The baskets table has no index."} {
		if got := hits()[i]; !regexp.MustCompile("^" + regexp.QuoteMeta(want) + ` \d\d:\d\d$`).MatchString(got) {
			t.Errorf("hit %d is %q, want %q and a time", i, got, want)
		}
	}
	b.wait(`[...document.querySelectorAll(".hits h2 .dim")].every((e) => e.innerText.startsWith("shop, "))`)
	b.looks("search of many steps", script)
	b.click(`[...document.querySelectorAll("button")].find((e) => e.innerText === "Show more")`)
	b.shows("152 steps in 2 tasks")
	// The list shows where it matched, and leads there.
	b.goTo(s, "/?text=psql")
	b.wait(`document.querySelector(".task .match mark")?.innerText === "psql" && document.querySelectorAll(".task").length === 1`)
	b.looks("the list with where it matched", script)
	b.click(`document.querySelector(".task .match")`)
	b.wait(`document.querySelector(".row.selected .text")?.textContent.startsWith("psql -c")`)
	// What is far into the text is there, too.
	b.goTo(s, "/?text=index")
	b.wait(`document.querySelector(".task .match")?.innerText === "…able has no index."`)
	b.faultless(s)
}

package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// someTask is a completed task.
func someTask(session, prompt string, steps ...sample.Step) sample.Task {
	return sample.Task{Ago: time.Hour, Host: "claude-code", Model: "claude-opus-4-7", Project: "/home/ada/shop", Session: session, Prompt: prompt, Answer: "Done.", Outcome: otelmap.OutcomeCompleted, Steps: steps}
}

// bash is a call with an error, if that is not empty.
func bash(command, kind, message string) sample.Step {
	return sample.Step{Tool: "Bash", Args: map[string]any{"command": command}, Took: time.Second, Kind: kind, Error: message}
}

// TestWhatIsBadIsTheSameEverywhere has a task with calls that failed, were denied and never
// ended: the head, the filter, the strip, the marks beside the rows and the arrows count them all.
func TestWhatIsBadIsTheSameEverywhere(t *testing.T) {
	task := someTask("bad", "Run all", bash("ls", "", ""), bash("go vet", otelmap.ErrorToolFailure, "exit 1"), bash("rm -rf /", otelmap.ErrorToolDenied, "no"), bash("sleep 9", otelmap.ErrorToolUnfinished, "never ended"), bash("go test", "", ""))
	last := someTask("unfinished", "Wait", bash("sleep 8", otelmap.ErrorToolUnfinished, "never ended"))
	s, b := serve(t, []sample.Task{task, last}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/t/"+task.ID()+"?fails=1")
	b.wait(`document.querySelector(".axis-tree")?.textContent === "3 of 7 rows" && document.querySelector(".callout .nth").textContent === "3 problems"`)
	for _, row := range []string{"go vet", "rm -rf /", "sleep 9", "go vet"} {
		b.keys("e")
		b.wait(`document.querySelector(".row.selected .text")?.textContent === ` + quoted(row))
	}
	b.goTo(s, "/t/"+last.ID())
	b.wait(`document.querySelector(".overview-strip .warn")?.getAttribute("d") && document.querySelector(".ruler i")`)
	b.faultless(s)
}

// TestStatusSaysWhatWasRejected has a destination that rejected spans and keeps a trace, and a note.
func TestStatusSaysWhatWasRejected(t *testing.T) {
	s, b := serveWith(t, nil, nil, func(o *ui.Options) {
		o.Status = func(context.Context) (any, error) {
			return map[string]any{"recording": "on", "destinations": []any{
				map[string]any{"name": "otlp", "level": "problem", "lines": []string{"taken 2m ago; 3 spans rejected", "rejected 1m ago: 401 Unauthorized"}}, map[string]any{"name": "file", "level": "ok", "lines": []string{"taken now"}},
			}}, nil
		}
		o.Findings = func(context.Context) (any, error) {
			return []any{map[string]any{"level": "ok", "text": "all is well"}, map[string]any{"level": "note", "text": "a newer version is there"}}, nil
		}
	}), open(t)
	b.enter(s)
	b.goTo(s, "/status")
	b.shows("3 spans rejected")
	got := eval[string](b, `[...document.querySelectorAll(".finding")].map((f) => f.querySelector(".mark").getAttribute("aria-label") + f.querySelector(".mark").textContent + " " + f.innerText.replace(/\s+/g, " ")).join("\n")`)
	for i, want := range []string{"failed✗", "succeeded✓", "notei", "ok✓"} {
		if l := strings.Split(got, "\n"); len(l) != 4 || !strings.HasPrefix(l[i], want) {
			t.Errorf("%q is not %q", got, want)
		}
	}
	if !strings.Contains(got, "otlp taken 2m ago; 3 spans rejected rejected 1m ago: 401 Unauthorized") {
		t.Errorf("%q is not what the command says", got)
	}
	b.faultless(s)
}

// TestListIsOrderedByItsColumns has a large task, a dear one and a slow one, and a session of two.
func TestListIsOrderedByItsColumns(t *testing.T) {
	script := axe(t)
	const asked = "Move the tax rules out of the cart into their own package"
	large := someTask("large", asked)
	for i := range 3356 {
		step := bash(fmt.Sprint("go vet ./p", i), "", "")
		if i < 261 {
			step = bash(fmt.Sprint("go vet ./p", i), otelmap.ErrorToolFailure, "a long reason for which the command failed in this package, with its place")
		}
		large.Steps = append(large.Steps, step)
	}
	large.Steps = append(large.Steps, bash("rm", otelmap.ErrorToolDenied, "no"), sample.Step{Say: "a", Context: 273_000_000})
	again := someTask("large", "Now the invoice", sample.Step{Say: "b", Context: 10, Took: time.Second})
	again.Ago = time.Minute
	slow := someTask("slow", "Wait", sample.Step{Say: "c", Context: 20, Took: 3 * time.Hour})
	slow.Ago = 4 * time.Hour
	s, b := serve(t, []sample.Task{large, again, slow}), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/")
	b.shows("2 tasks")
	line := `document.querySelector(".task.session")`
	b.wait(line)
	// The texts of no two columns touch, the title is whole and the outcome is marked.
	for _, v := range eval[[]string](b, `(() => { const out = [], e = `+line+`, box = (x) => { const r = document.createRange(); r.selectNodeContents(x); return r.getBoundingClientRect(); };
		const cells = [...e.querySelectorAll(".num")].map(box);
		cells.forEach((c, i) => i && c.left < cells[i - 1].right + 6 && out.push("column " + i + " begins " + (c.left - cells[i - 1].right) + " pixels behind the one before"));
		const title = e.querySelector(".title");
		if (title.scrollWidth > title.clientWidth) out.push("the title is cut: " + title.clientWidth + " of " + title.scrollWidth);
		if (e.querySelector(".what .mark")?.getAttribute("aria-label") !== "completed") out.push("no mark of the outcome");
		return out; })()`) {
		t.Error(v)
	}
	order := func(button, query string, titles ...string) {
		t.Helper()
		b.click(`[...document.querySelectorAll(".heads button")].find((e) => e.innerText === ` + quoted(button) + `)`)
		b.wait(`location.search === ` + quoted(query) + ` && [...document.querySelectorAll(".task .title")].map((e) => e.innerText).join("|") === ` + quoted(strings.Join(titles, "|")))
	}
	order("took", "?sort=time", "Wait", asked, "Now the invoice")
	b.shows("Slowest first")
	order("cost", "?sort=cost", asked, "Wait", "Now the invoice")
	order("tool calls", "?sort=failures", asked, "Now the invoice", "Wait")
	b.looks("sorted sessions", script)
	order("at", "", asked, "Wait")
	b.faultless(s)
}

// TestExportIsAMenu presses an arrow on the closed button, which downloads nothing.
func TestExportIsAMenu(t *testing.T) {
	script := axe(t)
	task := someTask("one", "Do it", bash("ls", "", ""))
	s, b := serve(t, []sample.Task{task}), open(t)
	b.enter(s)
	b.goTo(s, "/t/"+task.ID())
	b.wait(`((e) => e && (e.focus(), true))(document.querySelector(".menu > button:not(:disabled)"))`)
	b.keys(kb.ArrowDown)
	b.wait(`document.activeElement.getAttribute("role") === "menuitem"`)
	b.looks("export menu", script)
	b.keys(kb.Tab)
	b.wait(`!document.querySelector("[role=menu]")`)
	b.faultless(s)
}

// TestLiveNeedsHooks opens the page where no agent has hooks, and where one has.
func TestLiveNeedsHooks(t *testing.T) {
	for _, hooked := range [][]string{nil, {"Claude Code"}} {
		s, b := serveWith(t, sample.Tasks(), nil, func(o *ui.Options) { o.Hooked = func(context.Context) []string { return hooked } }), open(t)
		b.enter(s)
		if hooked == nil {
			b.wait(`document.querySelector(".live:not(.on)")?.innerText === "no hooks"`)
			b.looks("no hooks", axe(t))
		} else {
			b.wait(`document.querySelector(".live.on")?.innerText === "live"`)
		}
		b.faultless(s)
	}
}

// TestCostChart has seven days, of which one is far dearer than the others.
func TestCostChart(t *testing.T) {
	script := axe(t)
	var tasks []sample.Task
	for i := range 7 {
		task := someTask(fmt.Sprint("day", i), "Work", sample.Step{Say: "a", Context: 200_000, Took: time.Second})
		if task.Ago = time.Duration(i)*24*time.Hour + time.Minute; i == 3 {
			task.Steps[0].Context = 40_000_000
		}
		tasks = append(tasks, task)
	}
	s, b := serve(t, tasks), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/cost")
	b.wait(`document.querySelectorAll(".column").length >= 7`)
	const middle = `Number(document.querySelectorAll(".days .scale:not(.right) span")[1].innerText.slice(1)) / Number(document.querySelectorAll(".days .scale:not(.right) span")[0].innerText.slice(1))`
	if got := eval[float64](b, middle); got != .5 {
		t.Errorf("the middle of the scale is %v of its top, want a half", got)
	}
	if got := eval[float64](b, `document.querySelector(".columns").offsetWidth / document.querySelector(".days").offsetWidth`); got < .9 {
		t.Errorf("seven days fill %v of the width", got)
	}
	b.looks("cost of seven days", script)
	b.click(`[...document.querySelectorAll(".days .toggle")].find((e) => e.innerText === "Square root")`)
	b.wait(middle + ` === .25 && location.search === "?scale=root"`)
	b.faultless(s)
}

// cutTask is a task with a change of which the beginning is stored.
func cutTask() []*tracepb.ResourceSpans {
	task := someTask("cut", "Write it", sample.Step{Tool: "Write", Args: map[string]any{"file_path": "/home/ada/shop/a.go"}, Result: "ok", Took: time.Second})
	spans := task.Spans(time.Now())
	for _, a := range spans[0].ScopeSpans[0].Spans[1].Attributes {
		if a.Key == otelmap.KeyToolArguments {
			a.Value = otlp.String("", `{"file_path":"/home/ada/shop/a.go","content":"first line\nsecond l…"}`).Value
		}
	}
	return spans
}

// TestCutChangeOpensWhereItIs has a change of which the beginning is stored.
func TestCutChangeOpensWhereItIs(t *testing.T) {
	task := cutTask()
	content := "first line\nsecond line"
	for i := 3; i <= 120; i++ {
		content += fmt.Sprintf("\nline %d", i)
	}
	s, b := serveWith(t, nil, nil, func(o *ui.Options) {
		o.Whole = func(_ context.Context, _ *store.Trace, _ ...*view.Row) ([]view.CallText, error) {
			return []view.CallText{{Arguments: `{"file_path":"/home/ada/shop/a.go","content":` + quoted(content) + `}`, Source: "from the agent's files"}}, nil
		}
	}), open(t)
	if err := s.store.UploadTraces(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	b.enter(s)
	b.screen("light", 1440, 900)
	b.goTo(s, "/changes")
	b.shows("second l…")
	b.click(`[...document.querySelectorAll(".call-list button")].find((e) => e.innerText.includes("show the whole change"))`)
	b.shows("from the agent's files")
	b.click(`[...document.querySelectorAll(".call-list button")].find((e) => e.innerText === "Show all 120 lines")`)
	b.wait(`document.body.innerText.includes("line 120") && !document.body.innerText.includes("second l…")`)
	if got := eval[string](b, `location.pathname + getComputedStyle([...document.querySelectorAll(".diff span")].pop(), "::before").content`); got != `/changescounter(line)` {
		t.Errorf("%q: want the view and line numbers", got)
	}
	b.looks("cut change", axe(t))
	b.faultless(s)
}

// TestSmallWindows opens a task on a phone, where a failed request keeps its error, and at a zoom of 200 %.
func TestSmallWindows(t *testing.T) {
	tasks := sample.Tasks()
	failed := sample.Task{}
	for _, task := range tasks {
		if strings.Contains(task.Answer, "529") {
			failed = task
		}
	}
	spans := failed.Spans(time.Now())
	for _, span := range spans[0].ScopeSpans[0].Spans {
		if strings.HasPrefix(span.Name, "chat ") {
			span.Status = spans[0].ScopeSpans[0].Spans[0].Status
		}
	}
	s, b := serve(t, tasks), open(t)
	if err := s.store.UploadTraces(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	b.enter(s)
	b.screen("light", 390, 844)
	b.goTo(s, "/t/"+failed.ID())
	b.wait(`[...document.querySelectorAll(".row.k-chat.failed .note")].some((e) => e.offsetWidth > 40 && e.innerText.includes("529"))`)
	b.run(chromedp.EmulateViewport(720, 450))
	b.goTo(s, "/t/"+tasks[0].ID())
	b.wait(`document.querySelectorAll(".row .text").length > 5 && document.querySelector(".money")`)
	// At 200 % rows are in view.
	b.wait(`(() => { const box = document.querySelector(".rows").getBoundingClientRect(); return [...document.querySelectorAll(".row")].filter((e) => { const r = e.getBoundingClientRect(); return r.top >= box.top && r.bottom <= Math.min(box.bottom, innerHeight); }).length >= 3; })()`)
	b.faultless(s)
}

// TestEmptyStoreSaysWhatAnImportFinds has agents with past sessions, and a view of no hooks.
func TestEmptyStoreSaysWhatAnImportFinds(t *testing.T) {
	s, b := serveWith(t, nil, nil, func(o *ui.Options) {
		o.Past = func(context.Context) []string { return []string{"41 sessions of Claude Code", "11 sessions of Codex"} }
		o.Hooked = func(context.Context) []string { return []string{"Claude Code"} }
		for _, dir := range []string{".cline", ".claude", "code", "Documents"} {
			_ = os.RemoveAll(filepath.Join(o.Hooks.Process.Home, dir))
		}
	}), open(t)
	b.enter(s)
	b.shows("An import would find 41 sessions of Claude Code, 11 sessions of Codex.")
	b.shows("Claude Code has the hooks")
	copies := func(command string) {
		t.Helper()
		b.wait(`[...document.querySelectorAll(".command")].some((e) => e.querySelector("code").innerText === ` + quoted(command) + ` && e.querySelector("button").innerText === "Copy")`)
	}
	copies("hookspan import")
	b.looks("an empty store with past sessions", axe(t))
	b.goTo(s, "/hooks")
	b.shows("No hook of yours is configured")
	copies("hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh")
	b.looks("no hooks of a person", axe(t))
	b.faultless(s)
}

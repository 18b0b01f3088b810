// Command measure opens the page of hookspan ui in Chromium, with tasks of 100,000 spans,
// and writes what it took as JSON: measure FOLDER, where the folder has the programs
// hookspan and claude-hook.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// figures are what was measured. Times are milliseconds, sizes MiB unless the name says
// otherwise.
type figures struct {
	Spans int `json:"spans"`
	// Paint is from the navigation to the first text, Rows until rows with their texts
	// are painted, of a task that the server has to read; Warm of one that it has; Small
	// of one with a few dozen rows, which takes what the browser takes anyway.
	Paint []float64 `json:"paint"`
	Rows  []float64 `json:"rows"`
	Warm  []float64 `json:"warm"`
	Small []float64 `json:"small"`
	// Fold, Unfold and Next are from the key until it is painted.
	Fold   []float64 `json:"fold"`
	Unfold []float64 `json:"unfold"`
	Next   []float64 `json:"next"`
	// Live is from the end of a hook's process until its row is painted.
	Live     []float64 `json:"live"`
	MostRows int       `json:"mostRows"`
	// Idle is the server's memory before the first page, Open with a large task open,
	// Peak the most it ever had, After some time after the page was closed.
	Idle  float64 `json:"idle"`
	Open  float64 `json:"open"`
	Peak  float64 `json:"peak"`
	After float64 `json:"after"`
	// CPU is the server's processor time in 10 s without a page.
	CPU    float64 `json:"cpu"`
	Assets int     `json:"assetBytes"`
	Gzip   int     `json:"assetGzipBytes"`
	// Work is what an open page costs at 100,000 traces.
	Work work `json:"work"`
}

// spans is the size of a large task, rounds how often something is measured.
const spans, rounds = 100_000, 20

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && args[1] != "work" {
		return errors.New("want the folder with the programs hookspan and claude-hook, and work for nothing but what an open page costs")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("no chromium on this machine: tests/setup.sh installs Debian's")
	}
	dir, err := os.MkdirTemp("", "hookspan-measure")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := figures{Spans: spans}
	if f.Work, err = measureWork(ctx, args[0], filepath.Join(dir, "work"), chromium); err != nil || len(args) == 2 {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(f.Work))
	}
	ids, err := fill(ctx, dir)
	if err != nil {
		return err
	}
	s, err := start(ctx, args[0], dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if f.Idle, _, err = s.memory(); err != nil {
		return err
	}
	before, err := s.processor()
	if err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	after, err := s.processor()
	if err != nil {
		return err
	}
	f.CPU = after - before
	if f.Assets, f.Gzip, err = assets(ctx, s); err != nil {
		return err
	}

	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(filepath.Join(dir, "chromium")),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute),
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	browser, closeBrowser := chromedp.NewExecAllocator(ctx, options...)
	defer closeBrowser()
	tab, closeTab := chromedp.NewContext(browser, chromedp.WithErrorf(func(string, ...any) {}))
	defer closeTab()
	p := &tabOf{tab, s}
	if err := p.measure(&f, ids); err != nil {
		return err
	}
	if err := chromedp.Cancel(tab); err != nil {
		return err
	}
	// The server lets go of a task 30 seconds after the last question about it.
	time.Sleep(40 * time.Second)
	if f.After, f.Peak, err = s.memory(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// fill stores two large tasks and small ones, and returns the ids of three.
func fill(ctx context.Context, dir string) ([]string, error) {
	path := filepath.Join(dir, "state", "hookspan", "traces.db")
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	tasks := []sample.Task{sample.Big(spans), sample.Big(spans)}
	tasks[1].Session = "big, too"
	few := sample.Tasks()
	err = sample.Fill(ctx, s, time.Now(), append(tasks, few...))
	return []string{tasks[0].ID(), tasks[1].ID(), few[0].ID()}, errors.Join(err, s.Close())
}

// assets returns the size of the page's files, and compressed.
func assets(ctx context.Context, s *server) (plain, packed int, err error) {
	shell, err := s.get(ctx, "/")
	if err != nil {
		return 0, 0, err
	}
	for _, path := range append([]string{"/"}, regexp.MustCompile(`/assets/[0-9a-f]+/[a-z.]+`).FindAllString(string(shell), -1)...) {
		body, err := s.get(ctx, path)
		if err != nil {
			return 0, 0, err
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, err = w.Write(body)
		if err := errors.Join(err, w.Close()); err != nil {
			return 0, 0, err
		}
		plain, packed = plain+len(body), packed+b.Len()
	}
	return plain, packed, nil
}

// tabOf is a tab with the page.
type tabOf struct {
	ctx context.Context
	s   *server
}

// rowsShown is when enough rows with their texts are there. Some rows have none.
const rowsShown = `[...document.querySelectorAll(".row .text")].filter((e) => e.textContent).length >= 15`

// watch keeps the time from the navigation until rows are painted.
const watch = `(() => { const f = () => (` + rowsShown + `) ? requestAnimationFrame(() => { window.rowsAt = performance.now(); }) : requestAnimationFrame(f); requestAnimationFrame(f); })()`

func (p *tabOf) eval(expression string, to any) error { return evaluate(p.ctx, expression, to) }

// wait waits until an expression is true.
func (p *tabOf) wait(expression string) error {
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(5*time.Millisecond))); err != nil {
		text := ""
		_ = p.eval(`location.href + "\n" + document.body.innerText.slice(0, 2000)`, &text)
		return fmt.Errorf("never true: %s: %w: %s", expression, err, text)
	}
	return nil
}

// key presses a key and returns how long it took until the expression was true and
// painted. The expression may use was, which is evaluated before.
func (p *tabOf) key(key, was, until string) (ms float64, err error) {
	return ms, p.eval(fmt.Sprintf(`new Promise((done) => {
		const was = %s, begin = performance.now(), check = () => (%s) ? requestAnimationFrame(() => done(performance.now() - begin)) : setTimeout(check, 1);
		document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true }));
		check();
		setTimeout(() => done(-1), 20000);
	})`, was, until, key), &ms)
}

func (p *tabOf) measure(f *figures, ids []string) error {
	if err := prepare(p.ctx, watch); err != nil {
		return err
	}
	if err := chromedp.Run(p.ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(p.s.address)); err != nil {
		return err
	}
	if err := p.wait(`document.body.innerText.includes("Migrate every package")`); err != nil {
		return err
	}
	open := func(id string) (paint, rows float64, err error) {
		if err := chromedp.Run(p.ctx, chromedp.Navigate(p.s.base+"/t/"+id)); err != nil {
			return 0, 0, err
		}
		if err := p.wait("window.rowsAt"); err != nil {
			return 0, 0, err
		}
		var got [2]float64
		err = p.eval(`[performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1, window.rowsAt]`, &got)
		return got[0], got[1], err
	}
	// The server keeps one task of this size.
	for i := range rounds {
		for _, v := range []struct {
			to *[]float64
			id string
		}{{&f.Small, ids[2]}, {&f.Rows, ids[i%2]}, {&f.Warm, ids[i%2]}} {
			paint, rows, err := open(v.id)
			if err != nil {
				return err
			}
			*v.to, f.Paint = append(*v.to, rows), append(f.Paint, paint)
		}
	}
	var err error
	if f.Open, _, err = p.s.memory(); err != nil {
		return err
	}
	count := func() error {
		n := 0
		err := p.eval(`document.querySelectorAll("[role=treeitem]").length`, &n)
		f.MostRows = max(f.MostRows, n)
		return err
	}
	for range rounds {
		ms, err := p.key("e", `document.querySelector(".row.selected")?.id`,
			`(() => { const r = document.querySelector(".row.selected.failed"); return r && r.id !== was && r.querySelector(".text").textContent; })()`)
		if err := errors.Join(err, count()); err != nil {
			return err
		}
		f.Next = append(f.Next, ms)
	}
	if _, err := p.key("h", "0", `document.querySelector(".row.selected")?.id === "row0"`); err != nil {
		return err
	}
	for range rounds {
		ms, err := p.key("h", "0", `document.querySelectorAll("[role=treeitem]").length === 1`)
		if err != nil {
			return err
		}
		f.Fold = append(f.Fold, ms)
		if ms, err = p.key("l", "0", `document.querySelectorAll("[role=treeitem]").length > 20`); err != nil {
			return err
		}
		f.Unfold = append(f.Unfold, ms)
		if err := count(); err != nil {
			return err
		}
	}
	return p.live(f)
}

// live has an agent's hooks report calls, and waits for each to be seen.
func (p *tabOf) live(f *figures) error {
	event := func(name, more string) error {
		return p.s.hook(p.ctx, fmt.Sprintf(`{"session_id":"live","transcript_path":"","cwd":"/work","hook_event_name":%q%s}`, name, more))
	}
	if err := event("UserPromptSubmit", `,"prompt":"Count to twenty"`); err != nil {
		return err
	}
	if err := chromedp.Run(p.ctx, chromedp.Navigate(p.s.base+"/")); err != nil {
		return err
	}
	if err := p.wait(`/live|no hooks/.test(document.querySelector(".live")?.innerText) && document.body.innerText.includes("Count to twenty")`); err != nil {
		return err
	}
	if err := p.eval(`[...document.querySelectorAll(".title")].find((e) => e.textContent.startsWith("Count to twenty")).click()`, nil); err != nil {
		return err
	}
	if err := p.wait(`document.querySelector(".row")`); err != nil {
		return err
	}
	for i := range rounds {
		if err := event("PreToolUse", fmt.Sprintf(`,"tool_name":"Bash","tool_input":{"command":"echo number %d"},"tool_use_id":"t%[1]d"`, i)); err != nil {
			return err
		}
		answered := time.Now()
		var seen float64
		err := p.eval(fmt.Sprintf(`new Promise((done) => {
			const check = () => [...document.querySelectorAll(".row .text")].some((e) => e.textContent === "echo number %d") ? requestAnimationFrame(() => done(Date.now())) : requestAnimationFrame(check);
			check();
			setTimeout(() => done(-1), 20000);
		})`, i), &seen)
		if err != nil {
			return err
		}
		f.Live = append(f.Live, seen-float64(answered.UnixMicro())/1e3)
		// The next event comes at any time of the server's look at the files.
		time.Sleep(time.Duration(300+37*i) * time.Millisecond)
	}
	return nil
}

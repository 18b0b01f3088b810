package findings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// drawn is a session that is drawn by a seed, among whose work things are planted.
type drawn struct {
	*task
	*rand.Rand
}

func one[T any](d *drawn, of ...T) T { return of[d.IntN(len(of))] }

func (d *drawn) file() string {
	return fmt.Sprintf("/w/shop/%s/%s%d.go", one(d, "auth", "cart", "db"), one(d, "user", "price", "query"), d.IntN(40))
}

// looks makes calls that change nothing.
func (d *drawn) looks() {
	for range d.IntN(4) {
		switch d.IntN(4) {
		case 0:
			d.bash(one(d, "git status --short", "ls -la", "rg -n Login", "git diff | head -40", "cd auth && wc -l *.go"), "some")
		case 1:
			d.call("Grep", map[string]string{"pattern": "Login"}, "a.go:3")
		case 2:
			d.read(d.file()+"x", fmt.Sprint("package x // ", d.Int()))
		case 3:
			d.call("TodoWrite", map[string]any{"todos": []string{"fix"}}, "ok")
		}
	}
}

// plants are how a finding of each kind is drawn. Up to one in three has something that leaves
// a doubt, as real sessions have: such are not found.
var plants = []func(d *drawn){
	failedAgain: func(d *drawn) {
		command := one(d, "go test ./...", "npm test", "pytest -q tests", "make lint", "cargo build", "npx tsc --noEmit", "./gradlew test", "python -m shop.load x.csv", "git commit -m x", "npm run e2e")
		why := one(d, failure, "!Exit code 2\nerror: cannot find symbol Price", "!E   AssertionError: 3 != 4\n1 failed in 0.31s", "!panic: index out of range", "!Error: no such module", "!Error: request timed out", "!Exit code 1")
		for range 2 + d.IntN(2) {
			d.bash(command, why)
			d.looks()
			if d.IntN(12) == 0 {
				d.bash("go vet ./...", "ok")
			}
		}
	},
	readAgain: func(d *drawn) {
		file, content := one(d, d.file(), d.file(), d.file(), d.file(), d.file(), "/w/shop/go.mod", "/w/shop/go.mod", "/w/shop/server.log"), fmt.Sprint("package shop // ", d.Int(), one(d, "", "", "", "", "", "…"))
		d.read(file, content)
		d.looks()
		if d.IntN(3) == 0 {
			d.bash(one(d, "go test ./...", "go build ./...", "git stash", "gofmt -l ."), "ok")
		}
		if d.IntN(4) == 0 {
			d.mark(otelmap.EventPrompt, otlp.String(otelmap.KeyText, "and now the next one"))
		}
		d.read(file, one(d, content, content, content, "File unchanged since last read."))
	},
	afterCompaction: func(d *drawn) {
		file, content := d.file(), fmt.Sprint("package shop // ", d.Int(), one(d, "", "…"))
		d.request(claude, 150_000, 140_000, 9_000)
		d.read(file, content)
		d.looks()
		if d.IntN(8) == 0 {
			d.bash("go mod tidy", "")
		}
		d.mark(otelmap.EventCompaction)
		d.request(claude, one[int64](d, 30_000, 60_000, 20_000), 0, 20_000)
		d.looks()
		d.read(file, content)
	},
	cacheExpired: func(d *drawn) {
		model := one(d, claude, claude, "claude-opus-4-1", "anthropic/claude-haiku-4.5", "gpt-5")
		hour, pause := d.IntN(2) == 0, 6*time.Minute
		before := d.request(model, 40_000, 30_000, 9_000)
		if hour {
			before.Attributes, pause = append(before.Attributes, otlp.Int(otelmap.KeyCacheWriteHourTokens, 9_000)), 61*time.Minute
		}
		d.now = d.now.Add(pause + time.Duration(d.IntN(600))*time.Minute)
		d.request(model, 41_000+int64(d.IntN(9_000)), one[int64](d, 0, 0, 12_000), 30_000)
	},
	notChecked: func(d *drawn) {
		d.looks()
		for range 1 + d.IntN(3) {
			d.edit(d.file())
			d.looks()
		}
		if d.IntN(5) == 0 {
			d.bash(one(d, "go build ./...", "git commit -am x", "gofmt -l ."), "ok")
		}
	},
}

// TestPlantedFindings prints how many of 100 planted cases of each kind are found.
func TestPlantedFindings(t *testing.T) {
	var others []Edited
	for i := range 6 {
		e := newTask(i, day.Add(time.Duration(-1-i)*time.Hour))
		e.edit("b.go")
		e.bash("go test ./...", "ok")
		others = append(others, EditedBy(e.work()))
	}
	for kind, plant := range plants {
		found := 0
		for seed := range uint64(100) {
			d := &drawn{newTask(99, day), rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test
			d.looks()
			plant(d)
			w := d.work()
			all := newSession(works(d.task)).found()
			if e := EditedBy(w); len(e.Last) > 0 {
				if f, ok := e.Unchecked(others); ok {
					all = append(all, f)
				}
			}
			for _, f := range all {
				if f.Kind == Kinds[kind].Name {
					found++
				} else if f.Kind != Kinds[readAgain].Name {
					t.Errorf("%s, seed %d: found %s: %s", Kinds[kind].Name, seed, f.Kind, f.What)
				}
			}
		}
		t.Logf("%-22s %3d of 100 planted cases are found", Kinds[kind].Name, found)
		if found < 50 {
			t.Errorf("%s: %d of 100 planted cases are found: want at least half", Kinds[kind].Name, found)
		}
	}
}

// TestFindingsOfASessionSpanItsTasks has findings in the task of the second read and request, of which the first span is.
func TestFindingsOfASessionSpanItsTasks(t *testing.T) {
	first, second := newTask(0, day), newTask(1, day.Add(time.Hour))
	first.read("a.go", text)
	first.request(claude, 30_000, 25_000, 5_000)
	second.request(claude, 31_000, 0, 31_000)
	second.read("a.go", text)
	found := newSession(works(first, second)).found()
	if len(found) != 2 {
		t.Fatalf("got %+v", found)
	}
	for i, kind := range []string{"read-again", "cache-expired"} {
		if f := found[i]; f.Kind != kind || f.Trace != second.TraceID || len(f.Spans) != 2 || !slices.ContainsFunc(second.spans, func(sp *tracepb.Span) bool { return otlp.SpanID(sp) == f.Spans[0] }) {
			t.Errorf("got %+v", f)
		}
	}
}

// TestFilesAreNamedOnce has more files than are named, one of which is read in two parts.
func TestFilesAreNamedOnce(t *testing.T) {
	task := newTask(0, day)
	for range 2 {
		task.read("a.go", text)
		for i := range 7 {
			task.call("Read", map[string]any{"file_path": fmt.Sprintf("b%d.go", i/2), "offset": i}, text)
		}
		task.read("c.go", text)
		task.mark(otelmap.EventCompaction)
	}
	found := newSession(works(task)).found()
	const want = "6 files read again after a compaction: a.go, b0.go, b1.go, b2.go, b3.go and 1 more"
	if len(found) != 1 || found[0].What != want || found[0].Subject != "" || len(found[0].Spans) != 9 {
		t.Errorf("got %+v, want %s", found, want)
	}
}

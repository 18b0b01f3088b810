package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/tests/bench/way"
)

// importSessions is how many sessions are imported, of one turn with so many tools:
// a root, a request before each tool and one after them.
const importSessions, importTools = 10_000, 3

// importSpans is what a session of these comes to.
const importSpans = 1 + importTools + importTools + 1

// imports measures `hookspan import claude` into an empty local store, and again
// when all of it is there, beside a program that reads the same files and only checks
// that each line is JSON.
func imports(ctx context.Context, f *field, _ options) (report, error) {
	dir := filepath.Join(f.home, ".claude", "projects", "-p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return report{}, err
	}
	size, err := writeSessions(dir, importSessions)
	if err != nil {
		return report{}, err
	}
	least, leastCPU, err := readSessions(dir)
	if err != nil {
		return report{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions of Claude Code in %.0f MB, %d spans\n\n| what | s | CPU s | spans per CPU s | peak MiB |\n|---|--:|--:|--:|--:|\n",
		importSessions, float64(size)/1e6, importSessions*importSpans)
	fmt.Fprintf(&b, "| every line checked as JSON, on all cores | %.2f | %.2f | - | - |\n", least.Seconds(), leastCPU.Seconds())
	var lines []line
	for i, name := range []string{"the import", "the same again"} {
		c := &contestant{name: name, dir: f.root, argv: []string{f.program("hookspan"), "import", "claude", "--to", "store", "--json"}}
		c.env = append(f.environ(f.home), "XDG_STATE_HOME="+filepath.Join(f.root, "state"), "XDG_DATA_HOME="+filepath.Join(f.root, "data"),
			"HOOKSPAN_RETENTION=0")
		u, err := f.measured(ctx, c, nil, 10*longest)
		if err != nil {
			return report{}, err
		}
		var said struct{ Spans int }
		if err := json.Unmarshal(u.said, &said); err != nil {
			return report{}, fmt.Errorf("%s: said %.200q: %w", name, u.said, err)
		}
		want := importSessions * importSpans
		if i > 0 {
			want = 0
		}
		if said.Spans != want {
			return report{}, fmt.Errorf("%s: %d spans, want %d", name, said.Spans, want)
		}
		rate := "-"
		if i == 0 && u.cpu > 0 {
			rate = rounded(float64(want) / u.cpu.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %s | %s |\n", name, u.took.Seconds(), u.cpu.Seconds(), rate, mebi(u.peak))
		lines = append(lines, line{
			what: fmt.Sprintf("import of %d sessions: %s", importSessions, name), unit: "s", ours: u.took.Seconds(),
			least: "every line checked as JSON", limit: least.Seconds(), aim: []string{"5 s", "0.5 s"}[i],
		})
	}
	return report{text: b.String(), lines: lines}, nil
}

// writeSessions writes sessions of one turn each, a minute apart, and returns their
// size in bytes.
func writeSessions(dir string, sessions int) (size int64, err error) {
	s := &turnBench{now: time.Now().Add(-time.Duration(sessions+60) * time.Minute)}
	text := strings.Repeat("a line of the file\n", 100)
	for n := range sessions {
		at := s.now.Add(time.Minute)
		id := fmt.Sprintf("7c1f0e52-9a4d-4b63-8f21-%012d", n)
		var file bytes.Buffer
		w := bufio.NewWriter(&file)
		t := &turnWriter{s: s, transcript: w, session: id, prompt: "prompt-" + id, tools: importTools, text: text}
		t.write()
		path := filepath.Join(dir, id+".jsonl")
		// An import reads a file again that changed just before the last one.
		err := errors.Join(t.err, w.Flush(), os.WriteFile(path, file.Bytes(), 0o600), os.Chtimes(path, at, at))
		if err != nil {
			return 0, err
		}
		size += int64(file.Len())
		s.now = at
	}
	return size, nil
}

// readSessions reads every file on all cores and checks each of its lines.
func readSessions(dir string) (took, cpu time.Duration, err error) {
	begin, used := time.Now(), way.CPUTime()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	cores := runtime.NumCPU()
	failed := make(chan error, cores)
	for core := range cores {
		go func() {
			var errs error
			for i := core; i < len(entries) && errs == nil; i += cores {
				errs = checkLines(filepath.Join(dir, entries[i].Name()))
			}
			failed <- errs
		}()
	}
	for range cores {
		err = errors.Join(err, <-failed)
	}
	return time.Since(begin), way.CPUTime() - used, err
}

func checkLines(path string) error {
	text, err := os.ReadFile(path)
	for row := range bytes.Lines(text) {
		if err == nil {
			err = rawjson.Check(row)
		}
	}
	return err
}

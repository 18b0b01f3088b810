package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// transcriptSize is the least size of the transcript, in bytes: a little below the
// limit for one reading.
const transcriptSize = 1<<30 - 1<<20

// transcripts measures how Claude Code's own file of a long session is read: what
// is new since the last turn, and the whole of it.
func transcripts(ctx context.Context, f *field, _ options) (report, error) {
	path := filepath.Join(f.root, turnSession+".jsonl")
	prompts, last, err := writeTranscript(path, transcriptSize)
	if err != nil {
		return report{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A transcript of %.2f GB, %d turns with eleven requests each\n\n", float64(transcriptSize)/1e9, prompts)
	b.WriteString("| what is read | s | MB/s | peak MiB |\n|---|--:|--:|--:|\n")
	for _, row := range []struct {
		name  string
		args  []string
		calls int
		size  int64
	}{
		{"the last turn", []string{last.Format(time.RFC3339Nano)}, 11, 0},
		{"all of it", nil, 11 * prompts, transcriptSize},
	} {
		c := &contestant{name: "transcript, " + row.name, dir: f.root, env: f.environ(f.home)}
		c.argv = append([]string{f.program("transcript"), path, turnSession}, row.args...)
		u, err := f.measured(ctx, c, nil, 0)
		if err != nil {
			return report{}, err
		}
		var calls int
		var seconds float64
		if _, err := fmt.Sscan(string(u.said), &calls, &seconds); err != nil {
			return report{}, fmt.Errorf("%s: said %q, want two numbers: %w", c.name, u.said, err)
		}
		if calls != row.calls {
			return report{}, fmt.Errorf("%s: %d requests were found, want %d", c.name, calls, row.calls)
		}
		rate := "-"
		if row.size > 0 {
			rate = rounded(float64(row.size) / 1e6 / seconds)
		}
		fmt.Fprintf(&b, "| %s | %.3f | %s | %s |\n", row.name, seconds, rate, mebi(u.peak))
	}
	return report{text: b.String()}, nil
}

// writeTranscript writes turns until the file has that size, 210 KB each, and
// returns how many there are and when the last began.
func writeTranscript(path string, size int64) (turns int, last time.Time, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, last, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	s := &turnBench{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), transcript: path}
	for done := int64(0); done < size && err == nil; turns++ {
		last = s.now.Add(eventTime) // That of its first row.
		t := &turnWriter{s: s, transcript: w, session: turnSession, tools: turnTools, prompt: fmt.Sprintf("prompt-%d", turns), text: strings.Repeat("a line of the file\n", 1000)}
		t.write()
		done, err = done+t.wrote, t.err
	}
	return turns, last, errors.Join(err, w.Flush(), f.Close())
}

package cline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

func addFiles(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no files match %q: %v", pattern, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	for _, s := range []string{``, `[]`, `{}`, `[null]`, `[{}]`, `{"messages":[]}`, `[`, `{"messages":`, "\x00"} {
		f.Add([]byte(s))
	}
}

// checkCalls holds for every transcript, whatever the files said.
func checkCalls(t *testing.T, tr *hook.Transcript) {
	t.Helper()
	ids := make(map[string]bool)
	for i, c := range tr.Calls {
		if i > 0 && c.Start.Before(tr.Calls[i-1].Start) {
			t.Errorf("call %d starts before the one in front of it", i)
		}
		if !c.End.IsZero() && c.End.Before(c.Start) {
			t.Errorf("call %q ends at %v before it starts at %v", c.ID, c.End, c.Start)
		}
		if c.ID == "" {
			t.Errorf("call %d has no id", i)
		}
		ids[c.ID] = true
		if u := c.Usage; u != nil {
			if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.TotalInput() < u.CacheRead {
				t.Errorf("call %q has usage %+v", c.ID, *u)
			}
		}
		if y := c.Start.Year(); y > 9999 {
			t.Errorf("call %q starts in the year %d", c.ID, y)
		}
	}
}

func FuzzClassic(f *testing.F) {
	addFiles(f, "../testdata/c*/*/*_*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		// The same bytes as both files: replies then are found, or not, in any
		// state of the history.
		read := func() *hook.Transcript {
			var ui uiLog
			var api apiHistory
			var meta taskMetadata
			uiErr := ui.decode(t.Context(), bytes.NewReader(data))
			if err := api.decode(t.Context(), bytes.NewReader(data)); (err == nil) != (uiErr == nil) {
				t.Errorf("one reader fails, the other does not: %v, %v", uiErr, err)
			}
			if list := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")); list && json.Valid(data) && uiErr != nil {
				t.Errorf("a whole list is refused: %v", uiErr)
			}
			var tr hook.Transcript
			buildClassic(&tr, &ui, &api, &meta)
			return &tr
		}
		tr := read()
		checkCalls(t, tr)
		seen := make(map[string]bool)
		for _, c := range tr.Calls {
			if seen[c.ID] {
				t.Errorf("two calls have the id %q", c.ID)
			}
			seen[c.ID] = true
		}
		if diff := cmp.Diff(tr, read()); diff != "" {
			t.Errorf("a second reading differs:\n%s", diff)
		}
	})
}

func FuzzSDK(f *testing.F) {
	addFiles(f, "../testdata/sdk/*/*/*.messages.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() *hook.Transcript {
			log := messageLog{last: time.UnixMilli(1).UTC(), tools: make(map[string]hook.ToolResult)}
			_ = log.decode(t.Context(), bytes.NewReader(data)) // what was read before an error counts
			var tr hook.Transcript
			tr.Calls, tr.ToolResults, tr.Prompts = log.calls, log.results, log.prompts
			for i := 1; i < len(tr.Calls); i++ {
				if tr.Calls[i].Start.Before(tr.Calls[i-1].Start) {
					tr.Calls = tr.Calls[:i] // sorted later, over all agents
					break
				}
			}
			return &tr
		}
		tr := read()
		checkCalls(t, tr)
		for _, r := range tr.ToolResults {
			if r.Input != "" && r.Input != rawjson.Canonical([]byte(r.Input)) {
				t.Errorf("input %q is not in its canonical form", r.Input)
			}
		}
		if diff := cmp.Diff(tr, read()); diff != "" {
			t.Errorf("a second reading differs:\n%s", diff)
		}
	})
}

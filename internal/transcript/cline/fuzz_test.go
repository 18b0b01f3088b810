package cline

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

func FuzzClassic(f *testing.F) {
	addFiles(f, "../testdata/cli2/*/*_*.json")
	addFiles(f, "../../demo/task/*.json")
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
		for _, c := range tr.Requests {
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
			tr.Requests, tr.ToolResults, tr.Prompts = log.calls, log.results, log.prompts
			for i := 1; i < len(tr.Requests); i++ {
				if tr.Requests[i].Start.Before(tr.Requests[i-1].Start) {
					tr.Requests = tr.Requests[:i] // sorted later, over all agents
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

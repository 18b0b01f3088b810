package golden_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/transcript"
)

// TestRowsThatAreWrittenAgain reads the files of each recorded session with each row written
// twice: a request is one request, and a call one call. What opencode and its forks keep has a key in a database, so that no row
// is there twice.
func TestRowsThatAreWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, s := range recorded.Sessions() {
		if agent, _ := agents.All().Named(s.Agent); s.Files == "" || agent.Plugin != "" {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			events, err := s.Events()
			if err != nil {
				t.Fatal(err)
			}
			for _, full := range []bool{false, true} {
				once := counted(t, s, events[0].Session, full, func(string) error { return nil })
				for way, again := range map[string]func(path string, rows [][]byte) [][]byte{
					"at once": func(_ string, rows [][]byte) (out [][]byte) {
						for _, row := range rows {
							out = append(out, row, row)
						}
						return out
					},
					"behind them all": func(_ string, rows [][]byte) [][]byte { return append(rows, rows...) },
				} {
					got := counted(t, s, events[0].Session, full, rewrite(again))
					if !slices.Equal(got, once) {
						t.Errorf("all of it %v, again %s: got\n%s\nwant\n%s", full, way, strings.Join(got, "\n"), strings.Join(once, "\n"))
					}
				}
			}
		})
	}
}

// counted are the requests, the calls and the prompts of a session.
func counted(t *testing.T, s recorded.Session, id string, full bool, change func(home string) error) (out []string) {
	t.Helper()
	tr, err := s.Changed(t.Context(), id, change, transcript.Query{Full: full})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range tr.Requests {
		u := *cmp.Or(r.Usage, &hook.Usage{})
		u.CostUSD = nil
		out = append(out, fmt.Sprintf("%q %q %s %+v", r.Agent, r.ID, r.End.Format(time.RFC3339Nano), u))
	}
	// The calls of classic Cline may have no ids, and it writes its files anew as a whole.
	if s.Agent != "cline" || strings.HasPrefix(s.Files, "sdk/") {
		for _, r := range tr.ToolResults {
			out = append(out, fmt.Sprintf("%q %q %s %s %v", r.Agent, r.ID, r.At.Format(time.RFC3339Nano), r.Name, r.Status))
		}
	}
	switch s.Agent {
	case "copilot", "qwen", "gemini": // whose rows have ids
		for _, p := range tr.Prompts {
			out = append(out, fmt.Sprintf("%s %q", p.At.Format(time.RFC3339Nano), p.Text))
		}
	}
	slices.Sort(out)
	return out
}

// rewrite changes the rows of all files below a folder: lines, or the elements of the file's
// list.
func rewrite(change func(path string, rows [][]byte) [][]byte) func(home string) error {
	return func(home string) error {
		return filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // A copy of testdata.
			if err != nil {
				return err
			}
			var list []json.RawMessage
			var file map[string]json.RawMessage
			switch {
			case strings.HasSuffix(path, ".jsonl"):
				rows := change(path, bytes.Split(bytes.TrimSpace(text), []byte("\n")))
				text = append(bytes.Join(rows, []byte("\n")), '\n')
			case json.Unmarshal(text, &list) == nil && len(list) > 0:
				text = listOf(change(path, raw(list)))
			case json.Unmarshal(text, &file) == nil && json.Unmarshal(file["messages"], &list) == nil:
				file["messages"] = listOf(change(path, raw(list)))
				text, err = json.Marshal(file)
			}
			return cmp.Or(err, os.WriteFile(path, text, 0o600)) //nolint:gosec // A copy of testdata.
		})
	}
}

func raw(list []json.RawMessage) (rows [][]byte) {
	for _, row := range list {
		rows = append(rows, row)
	}
	return rows
}

func listOf(rows [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(rows, []byte(",")), []byte("]"))
}

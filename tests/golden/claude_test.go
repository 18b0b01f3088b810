package golden_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
)

const claudePayloads = "../../hook/claude/testdata"

// claudeEvents decodes a session of Claude Code. Its payloads have no time of
// their own: the recordings keep when each arrived.
func (s session) claudeEvents(t testing.TB) []hook.Event {
	t.Helper()
	var out []hook.Event
	add := func(payload []byte, at time.Time) {
		evs, err := claude.Decode(claude.Raw{Payload: payload, StoredAt: at.UTC(), Offset: int64(len(out)), Cwd: "/"})
		if err != nil {
			t.Fatalf("%s: %v", s.dir, err)
		}
		out = append(out, evs...)
	}
	if strings.HasSuffix(s.dir, ".ndjson") {
		f, err := os.Open(filepath.Join(claudePayloads, s.dir))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line struct {
				At      time.Time       `json:"ts"`
				Payload json.RawMessage `json:"payload"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			add(line.Payload, line.At)
		}
		return out
	}
	arrival, err := os.ReadFile(filepath.Join("testdata", "arrival", s.name()+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(claudePayloads, s.dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	times := strings.Split(strings.TrimSpace(string(arrival)), "\n")
	if len(times) != len(files) {
		t.Fatalf("%s: %d payloads, %d times of arrival", s.dir, len(files), len(times))
	}
	for i, f := range files {
		payload, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		ns, _, _ := strings.Cut(times[i], " ")
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", s.dir, err)
		}
		add(payload, time.Unix(0, n))
	}
	return out
}

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newStore(t *testing.T) *FileStore {
	t.Helper()
	return &FileStore{Dir: filepath.Join(t.TempDir(), "hook-events"), Agent: Cline, Now: fixed}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readArray(t *testing.T, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(readText(t, path)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFileFormat(t *testing.T) {
	s := newStore(t)
	events := [][]byte{
		[]byte(`{"session_id":"s","n":1.50,"list":[1,{}],"text":"a & <b> é"}`),
		[]byte("no \"JSON\"\n"),
		[]byte(`{}`),
		[]byte(`[1]`),
	}
	for _, e := range events {
		if err := s.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	const want = `[
  {
    "session_id": "s",
    "n": 1.50,
    "list": [
      1,
      {}
    ],
    "text": "a & <b> é",
    "__hook_timestamp": "2026-11-20T11:59:17.341Z",
    "__hook_received": 1795175957341
  },
  {
    "__hook_raw": "no \"JSON\"\n",
    "__hook_timestamp": "2026-11-20T11:59:17.341Z",
    "__hook_received": 1795175957341
  },
  {
    "__hook_timestamp": "2026-11-20T11:59:17.341Z",
    "__hook_received": 1795175957341
  },
  {
    "__hook_raw": "[1]",
    "__hook_timestamp": "2026-11-20T11:59:17.341Z",
    "__hook_received": 1795175957341
  }
]`
	if d := cmp.Diff(want, readText(t, s.EventsPath())); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	errs := readArray(t, s.ErrorsPath())
	if len(errs) != 2 {
		t.Fatalf("%d errors, want 2", len(errs))
	}
	wantErr := map[string]any{
		"timestamp": "2026-11-20T11:59:17.341Z", "context": "json_parse_error", "__hook_error_logged": 1795175957341.0,
		"error":          map[string]any{"message": "the event is not a JSON object", "name": "Error", "code": ""},
		"additionalData": map[string]any{"rawDataPreview": "[1]"},
	}
	if d := cmp.Diff(wantErr, errs[1]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, path := range []string{s.EventsPath(), s.ErrorsPath()} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestAppendKeepsEarlierEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		want   int // events afterwards
		aside  bool
	}{
		"nothing":              {"", 1, false},
		"an empty array":       {"[]", 1, false},
		"their form":           {"[\n  {\n    \"a\": \"],[\\\"\"\n  },\n  {}\n]", 3, false},
		"one line":             {`[{"a":[1,2]},{"b":"\\"}]` + "\n", 3, false},
		"a single event":       {`{"a":1}`, 2, false},
		"a byte order mark":    {"\ufeff[{}]", 2, false},
		"cut short":            {"[\n  {\"a\": 1},\n  {\"b\"", 1, true},
		"no JSON":              {"\x00\x00\x00", 1, true},
		"two arrays":           {"[][]", 1, true},
		"a comma too many":     {"[{},]", 1, true},
		"values of other kind": {`[null, "x]", 1e3]`, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.EventsPath(), []byte(tc.before), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), []byte(anEvent)); err != nil {
				t.Fatal(err)
			}
			var got []json.RawMessage
			if err := json.Unmarshal([]byte(readText(t, s.EventsPath())), &got); err != nil || len(got) != tc.want {
				t.Errorf("%d events, %v, want %d", len(got), err, tc.want)
			}
			aside, err := filepath.Glob(s.EventsPath() + ".unreadable-*")
			if err != nil || (len(aside) == 1) != tc.aside {
				t.Fatalf("moved aside: %q, %v", aside, err)
			}
			if !tc.aside {
				return
			}
			if d := cmp.Diff(tc.before, readText(t, aside[0])); d != "" {
				t.Errorf("moved aside (-want +got):\n%s", d)
			}
			if errs := readArray(t, s.ErrorsPath()); len(errs) != 1 || errs[0]["context"] != "fallback_file_read_error" {
				t.Errorf("errors %v", errs)
			}
		})
	}
}

func TestParallelWritersLoseNothing(t *testing.T) {
	s := newStore(t)
	const writers = 20
	errs := make(chan error, writers)
	for i := range writers {
		go func() {
			own := &FileStore{Dir: s.Dir, Agent: s.Agent, Now: s.Now}
			errs <- own.Append(context.Background(), fmt.Appendf(nil, `{"session_id":"s","n":%d}`, i))
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := make(map[any]bool)
	for _, e := range readArray(t, s.EventsPath()) {
		seen[e["n"]] = true
	}
	if len(seen) != writers {
		t.Errorf("%d of %d events", len(seen), writers)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) > 2 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

func TestAppendSeesWhatAnotherWriterBreaks(t *testing.T) {
	for name, change := range map[string]func(path string, whole []byte) error{
		"cut": func(path string, whole []byte) error { return os.WriteFile(path, whole[:len(whole)-4], 0o600) },
		"replaced by as many bytes": func(path string, whole []byte) error {
			return errors.Join(os.WriteFile(path+".new", bytes.Replace(whole, []byte(":"), []byte(";"), 1), 0o600), os.Rename(path+".new", path))
		},
		"changed in place": func(path string, whole []byte) error {
			later := time.Now().Add(time.Second)
			return errors.Join(os.WriteFile(path, bytes.Replace(whole, []byte(":"), []byte(";"), 1), 0o600), os.Chtimes(path, later, later))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			for range 2 {
				if err := s.Append(t.Context(), []byte(anEvent)); err != nil {
					t.Fatal(err)
				}
			}
			if err := change(s.EventsPath(), []byte(readText(t, s.EventsPath()))); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), []byte(anEvent)); err != nil {
				t.Fatal(err)
			}
			aside, err := filepath.Glob(s.EventsPath() + ".unreadable-*")
			if events := readArray(t, s.EventsPath()); len(events) != 1 || err != nil || len(aside) != 1 {
				t.Errorf("%d events, set aside %q (%v); want the new event and the broken file set aside", len(events), aside, err)
			}
		})
	}
}

func TestFullFileDropsOldestEvents(t *testing.T) {
	for name, s := range map[string]*FileStore{
		"by number": {MaxEvents: 20},
		"by size":   {MaxBytes: 20 * 120},
	} {
		t.Run(name, func(t *testing.T) {
			s.Dir, s.Agent, s.Now = t.TempDir(), Cline, fixed
			const total = 33
			for i := range total {
				if err := s.Append(t.Context(), fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
					t.Fatal(err)
				}
			}
			events := readArray(t, s.EventsPath())
			dropped := 0.0
			for _, e := range readArray(t, s.ErrorsPath()) {
				dropped += e["additionalData"].(map[string]any)["dropped"].(float64)
			}
			if last := events[len(events)-1]["n"]; last != total-1.0 {
				t.Errorf("the last is %v", last)
			}
			if len(events)+int(dropped) != total || dropped == 0 {
				t.Errorf("%d events and %v dropped of %d", len(events), dropped, total)
			}
		})
	}
}

func TestOversizedEventIsNoted(t *testing.T) {
	s := newStore(t)
	s.MaxBytes = 1000
	big := []byte(`{"x":"` + strings.Repeat("é", 500) + `"}`)
	if err := s.Append(t.Context(), []byte(anEvent), big); err != nil {
		t.Fatal(err)
	}
	if n := len(readArray(t, s.EventsPath())); n != 1 {
		t.Errorf("%d events", n)
	}
	if errs := readArray(t, s.ErrorsPath()); len(errs) != 1 || errs[0]["context"] != "event_too_large" {
		t.Errorf("errors %v", errs)
	}
}

func TestDeepEventIsNotIndented(t *testing.T) {
	for name, value := range map[string]string{
		"lists":         strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"objects":       strings.Repeat(`{"\\\"[":`, 9000) + "1" + strings.Repeat("}", 9000),
		"30 levels":     strings.Repeat("[", 30) + "1" + strings.Repeat(",1", 100_000) + strings.Repeat("]", 30),
		"many elements": strings.Repeat("[", 90) + "1" + strings.Repeat(",1", 100_000) + strings.Repeat("]", 90),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			event := `{"x":` + value + `}`
			if err := s.Append(t.Context(), []byte(anEvent), []byte(event)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(s.EventsPath())
			if err != nil || info.Size() > int64(len(event)+maxSpace) {
				t.Errorf("%d bytes for an event of %d (%v)", info.Size(), len(event), err)
			}
			if n := len(readArray(t, s.EventsPath())); n != 2 {
				t.Errorf("%d events", n)
			}
		})
	}
}

func TestAppendRemovesStaleTemporaryFile(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(s.Dir, ".hookspan-"+filepath.Base(s.EventsPath())+"-"+rand.Text()+".tmp")
	if err := os.WriteFile(stale, []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), []byte(anEvent)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestAppendFailsWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"none": "", "below a file": filepath.Join(file, "x")} {
		if err := (&FileStore{Dir: dir, Agent: Cline}).Append(t.Context(), []byte(anEvent)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAppendWaitsForLockUntilContextEnds(t *testing.T) {
	s := newStore(t)
	unlock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, []byte(anEvent)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	unlock()
	if err := s.Append(t.Context(), []byte(anEvent)); err != nil {
		t.Error(err)
	}
}

// BenchmarkAppend is the cost of one more event in a full file.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{0, 1_000, 9_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := &FileStore{Dir: b.TempDir(), Agent: Cline, MaxEvents: 1 << 30, MaxBytes: 1 << 40}
			event := []byte(`{"session_id":"s","hook_event_name":"PostToolUse","x":"` + strings.Repeat("x", 4_000) + `"}`)
			many := make([][]byte, n+1)
			for i := range many {
				many[i] = event
			}
			if err := s.Append(b.Context(), many...); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := s.Append(b.Context(), event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

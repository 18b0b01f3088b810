package deliver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
)

// childFile names the file that a copy of the test binary appends to.
const (
	childFile = "HOOKSPAN_TEST_CHILD_FILE"
	childSeed = "HOOKSPAN_TEST_CHILD_SEED"
	// perChild is how many lines each process appends.
	perChild = 40
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(child(path, os.Getenv(childSeed)))
	}
	os.Exit(m.Run())
}

// child appends spans whose ids tell the process and the line.
func child(path, seed string) int {
	e, err := NewFile(path)
	if err != nil {
		return 3
	}
	n, err := strconv.Atoi(seed)
	if err != nil {
		return 3
	}
	for i := range perChild {
		s := sample()
		s.SpanId = []byte{byte(n), byte(i), 1, 7: 0}
		s.Name = string(bytes.Repeat([]byte("n"), 4096))
		if err := e.UploadTraces(context.Background(), message(s)); err != nil {
			return 4
		}
	}
	return 0
}

// fileSpans reads the file as a consumer would: each line is one request. bad
// are the lines that are none.
func fileSpans(t testing.TB, path string) (ids []otlptest.ID, bad []string) {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		req, err := otlptest.DecodeJSON(lines.Bytes())
		if err != nil {
			bad = append(bad, lines.Text())
			continue
		}
		for _, s := range otlptest.Flatten(req) {
			ids = append(ids, s.ID)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return ids, bad
}

func TestFileHoldsOneRequestPerLine(t *testing.T) {
	b, path := newBench(t), filepath.Join(t.TempDir(), "traces.jsonl")
	k := b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	e, err := NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := b.deliverer(Destination{Name: "file", Client: e})
	b.run(d, Pass{})
	ids, bad := fileSpans(t, path)
	if len(bad) != 0 {
		t.Errorf("lines that are no request: %q", bad)
	}
	m := &memory{}
	b.run(b.deliverer(Destination{Name: "memory", Client: m}), Pass{})
	if len(ids) != len(m.ids()) {
		t.Errorf("%d spans in the file, want %d", len(ids), len(m.ids()))
	}
	wantIDs(t, "memory", b.view(k, d.Map).ended(), m.ids())
	if runtime.GOOS == "windows" {
		return // Modes are not kept there.
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", fi.Mode(), err)
	}
}

func TestTornLineHarmsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	e, err := NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	export := func(id byte) {
		s := sample()
		s.SpanId = []byte{id, 7: 0}
		if err := e.UploadTraces(t.Context(), message(s)); err != nil {
			t.Fatal(err)
		}
	}
	export(1)
	export(2)
	whole, err := os.ReadFile(path) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut <= len(whole)/2; cut++ {
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		export(3)
		ids, bad := fileSpans(t, path)
		// Without its line's end alone the second line is whole again.
		want, torn := []string{"01", "03"}, 1
		if cut == 1 {
			want, torn = []string{"01", "02", "03"}, 0
		}
		if cut == len(whole)/2 {
			want, torn = []string{"01", "03"}, 0
		}
		if len(ids) != len(want) || len(bad) != torn {
			t.Fatalf("%d bytes lost: spans %v, %d torn lines; want %v and %d", cut, ids, len(bad), want, torn)
		}
		for i := range ids {
			if ids[i].Span[:2] != want[i] {
				t.Fatalf("%d bytes lost: spans %v, want %v", cut, ids, want)
			}
		}
	}
}

func TestTwoProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for i := range 3 {
		c := exec.CommandContext(t.Context(), exe) //nolint:gosec // This very test.
		c.Env = append(os.Environ(), childFile+"="+path, childSeed+"="+strconv.Itoa(i+1))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	}
	ids, bad := fileSpans(t, path)
	seen := make(map[otlptest.ID]bool)
	for _, id := range ids {
		seen[id] = true
	}
	if len(bad) != 0 || len(ids) != 3*perChild || len(seen) != 3*perChild {
		t.Errorf("%d spans, %d different, %d bad lines; want %d and none", len(ids), len(seen), len(bad), 3*perChild)
	}
}

func TestUnwritableFileIsRetried(t *testing.T) {
	for _, c := range []struct{ name, path string }{
		{"a folder that is missing", filepath.Join(t.TempDir(), "none", "traces.jsonl")},
		{"a folder in its place", t.TempDir()},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := NewFile(c.path)
			if err != nil {
				t.Fatal(err)
			}
			err = e.UploadTraces(t.Context(), message(sample()))
			if err == nil || !Retryable(err) {
				t.Errorf("error %v, want one that is retried", err)
			}
		})
	}
	if _, err := NewFile(""); err == nil {
		t.Error("an empty path was accepted")
	}
}

// TestFileThatHangsIsGivenUp has a file on a server that does not answer: a line is waited for as
// long as the call with its spans may take.
func TestFileThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for spans, most := range map[int]time.Duration{0: 30 * time.Second, 100_000: 130 * time.Second} {
			line := []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: make([]*tracepb.Span, spans)}}}}
			hangs, begun := make(chan struct{}), time.Now()
			err := within(callTime(line), func() error { <-hangs; return nil })
			if err == nil || time.Since(begun) != most {
				t.Errorf("%d spans after %s: %v", spans, time.Since(begun), err)
			}
			close(hangs)
			if err := within(callTime(line), func() error { return errTest }); !errors.Is(err, errTest) {
				t.Error(err)
			}
		}
	})
}

package backends

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/internal/built"
)

var (
	wanted   = flag.Bool("backends", false, "install and start the real backends")
	pictures = flag.String("pictures", "", "folder to write the pictures of the documentation into")
)

// asked skips a test that was not asked for.
func asked(t *testing.T) {
	t.Helper()
	if !*wanted {
		skip.Missing(t, "make test-backends starts the real backends")
	}
}

// sender is a user's machine whose store has the recorded traces.
type sender struct {
	home, program string
	spans         []*tracepb.Span
}

func newSender(t *testing.T) *sender {
	t.Helper()
	s := &sender{home: t.TempDir()}
	if err := built.Put(t.Context(), s.home, "cmd/hookspan"); err != nil {
		t.Fatal(err)
	}
	s.program = built.Program(s.home, "hookspan")
	state := filepath.Join(s.home, ".local", "state", "hookspan")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	traces, err := store.Open(t.Context(), filepath.Join(state, "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range recorded.Spans(t) {
		doc := []*tracepb.ResourceSpans{run}
		s.spans = slices.AppendSeq(s.spans, otlp.Spans(doc))
		if err := traces.UploadTraces(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// endpoint is where a backend takes OTLP.
type endpoint struct{ url, headers string }

// hookspan runs a command that sends to a backend.
func (s *sender) hookspan(t *testing.T, to endpoint, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, args...) //nolint:gosec // The program is ours.
	cmd.Dir = s.home
	cmd.Env = append(env, "HOME="+s.home, "USERPROFILE="+s.home, "HOOKSPAN_RETENTION=876000h",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+to.url, "OTEL_EXPORTER_OTLP_HEADERS="+to.headers)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("hookspan %v: %v\n%s%s", args, err, &out, &errs)
	}
	return out.String(), errs.String()
}

// export sends all stored traces.
func (s *sender) export(t *testing.T, to endpoint) {
	t.Helper()
	out, errs := s.hookspan(t, to, nil, "export", "--to", "otlp", "--all", "--yes")
	want := fmt.Sprintf(" %d spans sent\n", len(s.spans))
	// The one hint is about traces of the past.
	hint := regexp.MustCompile(`^hint: what is counted when it arrives [^\n]*\n$`)
	if !strings.HasSuffix(out, want) || !hint.MatchString(errs) {
		t.Errorf("hookspan export printed %q and %q, want %q at the end and %s", out, errs, want, hint)
	}
}

// test sends the test trace and returns its spans.
func (s *sender) test(t *testing.T, to endpoint) []*tracepb.Span {
	t.Helper()
	_, payload := s.hookspan(t, to, []string{"HOOKSPAN_EXPORTERS=otlp"}, "test", "--json", "-v")
	_, text, _ := strings.Cut(payload, "\n")
	doc, err := otlptest.Messages([]byte(text))
	if err != nil {
		t.Fatalf("hookspan test printed %q: %v", payload, err)
	}
	return slices.Collect(otlp.Spans(doc))
}

// roots are the first spans of traces, by start.
func roots(spans []*tracepb.Span) (all []*tracepb.Span) {
	for _, s := range spans {
		if len(s.ParentSpanId) == 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *tracepb.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return all
}

// sum adds up a number of spans.
func sum(spans []*tracepb.Span, keys ...string) (n int64) {
	for _, s := range spans {
		for _, k := range keys {
			n += otlp.Find(s.Attributes, k).GetIntValue()
		}
	}
	return n
}

// ask sends a request, with a body as JSON if there is one, and decodes the answer's JSON.
func ask(ctx context.Context, method, url string, body, answer any) error {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, text)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.500s", method, url, resp.Status, b)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return fmt.Errorf("%s %s: %w in %.500s", method, url, err, b)
	}
	return nil
}

// await asks again and again until the answer is what is wanted, at most for five minutes.
func await(t *testing.T, what string, arrived func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		err := arrived(ctx)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

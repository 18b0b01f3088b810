package infiniumexporter

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap/zapcore"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
)

func TestRefusedTraceIsLoggedAndNotSentAgain(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		for _, folder := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, folder %v", status, folder), func(t *testing.T) {
				s := &service{answer: func(_ int, m map[string]any) *http.Response {
					if steps(m) == 1 {
						return says(status, `{"error":"steps: too odd"}`)
					}
					return nil
				}}
				c := testConfig()
				c.Wait = 0
				if folder {
					c.ParkedDirectory = filepath.Join(t.TempDir(), "parked")
				}
				w := start(t, c, s, nil)
				bad := newRequest().root(1, 1).tool(1, 2, 1)
				if err := w.ConsumeTraces(t.Context(), bad.Traces); err != nil {
					t.Fatal(err)
				}
				if err := w.ConsumeTraces(t.Context(), newRequest().root(2, 1).Traces); err != nil {
					t.Fatal(err)
				}
				w.stop(t) // ends when both are answered
				if n := len(s.traces()); n != 2 {
					t.Errorf("%d requests, want one for each trace", n)
				}
				said := w.logs.FilterMessageSnippet("Infinium refuses this trace").All()
				if len(said) != 1 || said[0].Level != zapcore.ErrorLevel {
					t.Fatalf("logged %v, want one error", said)
				}
				m := said[0].ContextMap()
				for key, want := range map[string]any{"trace_id": traceOf(1).String(), "root_span_id": spanOf(1).String(), "spans": int64(2), "status": int64(status)} {
					if m[key] != want {
						t.Errorf("logged %s %v, want %v", key, m[key], want)
					}
				}
				if text := fmt.Sprint(m); !strings.Contains(text, "too odd") || strings.Contains(text, "INFINIUM_") || strings.Contains(text, infiniumtest.AgentSecret) {
					t.Errorf("logged %s", text)
				}
				outcome := "dropped"
				if folder {
					outcome = "parked"
				}
				if n := w.count(t, "otelcol_exporter_infinium_refused_spans", outcome); n != 2 {
					t.Errorf("counted %d %s spans, want 2", n, outcome)
				}
				if !folder {
					return
				}
				checkParked(t, c.ParkedDirectory, fmt.Sprint(m["file"]), bad.Traces)
			})
		}
	}
}

func checkParked(t *testing.T, dir, logged string, want ptrace.Traces) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 || files[0] != logged {
		t.Fatalf("files %v, logged %s (%v)", files, logged, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), "\n") != 1 || !strings.HasSuffix(string(b), "\n") {
		t.Errorf("want one line: %q", b)
	}
	var u ptrace.JSONUnmarshaler
	got, err := u.UnmarshalTraces(b)
	if err != nil {
		t.Fatal(err)
	}
	var m ptrace.JSONMarshaler
	a, _ := m.MarshalTraces(want)
	if b, _ := m.MarshalTraces(got); string(a) != string(b) {
		t.Errorf("parked %s\nwant %s", b, a)
	}
}

// TestTraceIsKeptIfParkingFails: a full or lost disk must not lose a trace.
func TestTraceIsKeptIfParkingFails(t *testing.T) {
	s := &service{answer: func(int, map[string]any) *http.Response { return says(400, "") }}
	c := testConfig()
	c.Wait, c.ParkedDirectory = 0, filepath.Join(t.TempDir(), "parked")
	w := start(t, c, s, nil)
	if err := os.RemoveAll(c.ParkedDirectory); err != nil {
		t.Fatal(err)
	}
	err := w.push(t.Context(), newRequest().root(1, 1).Traces)
	if err == nil || consumererror.IsPermanent(err) {
		t.Errorf("%v, want an error after which it comes again", err)
	}
	if err := os.Mkdir(c.ParkedDirectory, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.push(t.Context(), newRequest().root(1, 1).Traces); err != nil {
		t.Errorf("with the folder back: %v", err)
	}
	w.stop(t)
}

// TestParkedTraceCanBeSentByHand: a refusal is no delivery, so the same
// spans are not taken for a repetition.
func TestParkedTraceCanBeSentByHand(t *testing.T) {
	s := &service{answer: func(n int, _ map[string]any) *http.Response {
		if n == 1 {
			return says(422, "")
		}
		return nil
	}}
	c := testConfig()
	c.Wait, c.ParkedDirectory = 0, t.TempDir()
	w := start(t, c, s, nil)
	for range 3 {
		if err := w.push(t.Context(), newRequest().root(1, 1).tool(1, 2, 1).Traces); err != nil {
			t.Fatal(err)
		}
		if n := w.gatherer.waiting(); n != 0 {
			t.Errorf("%d traces are still held", n)
		}
	}
	w.stop(t)
	if n := len(s.traces()); n != 2 {
		t.Errorf("%d requests, want one that is refused and one that is not", n)
	}
	if n := w.count(t, "otelcol_exporter_infinium_repeated_spans", ""); n != 2 {
		t.Errorf("counted %d repeated spans, want the 2 of the third push", n)
	}
}

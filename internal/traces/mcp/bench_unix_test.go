//go:build unix

package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// BenchmarkQuestions asks a hundred questions about every folder, of stores with 10^4 and 10^5 tasks of six
// calls, and reports the CPU time of the 95th. HOOKSPAN_BENCH_STORE is a folder that keeps the stores.
func BenchmarkQuestions(b *testing.B) {
	for _, tasks := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			path := filepath.Join(cmp.Or(os.Getenv("HOOKSPAN_BENCH_STORE"), b.TempDir()), fmt.Sprint(tasks, ".db"))
			fillMany(b, path, tasks)
			s := &Server{Path: path, Redact: redact.New(nil), Known: func(string) bool { return true }, Now: func() time.Time { return now }, Version: "1"}
			session := connected(b, s)
			defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
			var took []time.Duration
			for b.Loop() {
				took = took[:0]
				for _, q := range questions() {
					before := cpu()
					got, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: q[0], Arguments: json.RawMessage(q[1])})
					if err != nil || got.IsError {
						b.Fatalf("%s: %+v, %v", q, got, err)
					}
					took = append(took, cpu()-before)
					if testing.Verbose() {
						fmt.Println(took[len(took)-1].Round(time.Millisecond), q) // A log is cut.
					}
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[94].Milliseconds()), "cpu-ms-p95")
		})
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(syscall.TimevalToNsec(u.Utime) + syscall.TimevalToNsec(u.Stime))
}

// word is one of 20,000, of which the first are in most texts.
func word(r *rand.Rand) string {
	return fmt.Sprintf("w%dx", int(float64(20_000)*r.Float64()*r.Float64()*r.Float64()*r.Float64()))
}

func words(r *rand.Rand, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = word(r)
	}
	return strings.Join(out, " ")
}

// fillMany makes a store, if there is none.
func fillMany(b *testing.B, path string, tasks int) {
	b.Helper()
	if exists(path) {
		return
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Not for secrets.
	st, err := store.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < tasks; {
		var batch []*tracepb.ResourceSpans
		for range 200 {
			n++
			one := task{
				n: n, folder: fmt.Sprintf("/home/dev/project%d", r.IntN(12)), branch: fmt.Sprintf("feat/%d", r.IntN(200)), prompt: words(r, 12), answer: words(r, 25),
				outcome: []string{"", "", "", otelmap.OutcomeFailed, otelmap.OutcomeInterrupted}[r.IntN(5)],
			}
			for range 6 {
				c := call{tool: "Bash", arguments: fmt.Sprintf(`{"command":"%s %s"}`, []string{"go test", "npm test", "git status", "make lint", "cargo build"}[r.IntN(5)], word(r)), result: words(r, 20)}
				if r.IntN(2) > 0 {
					c.tool, c.arguments = "Edit", fmt.Sprintf(`{"file_path":"/home/dev/src/%s.go","old_string":"a","new_string":"b"}`, word(r))
				}
				switch r.IntN(30) {
				case 0:
					c.kind, c.why = "ToolFailure", "--- FAIL: "+words(r, 6)
				case 1:
					c.kind, c.why = otelmap.ErrorToolDenied, "The user rejected it"
				}
				one.calls = append(one.calls, c)
			}
			batch = append(batch, spansOf(one))
		}
		if err := st.UploadTraces(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := st.Index(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}

// questions are as many of each kind as a working week has.
func questions() (out [][2]string) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // Not for secrets.
	add := func(tool, format string, args ...any) {
		out = append(out, [2]string{tool, fmt.Sprintf(format, args...)})
	}
	for i := range 10 {
		add("search", `{"query":"%s %s"}`, word(r), word(r))
		add("search", `{"query":"w%dx"}`, i)
		add("search", `{"query":"\"FAIL %s\"","branch":"feat/%d"}`, word(r), i)
		add("list", `{"file":"%s.go"}`, word(r))
		add("list", `{"failed":true,"project":"/home/dev/project%d"}`, i)
		add("list", `{"denied":true}`)
		add("list", `{"since":"%dd","outcome":"interrupted"}`, 1+i)
		add("stats", `{"by":"%s"}`, []string{"day", "week", "model", "tool", "command", "session", "project", "agent", "month", "hook"}[i])
		add("stats", `{"key":"%s"}`, []string{"go test", "npm test", "git", "make lint", "cargo build"}[i%5])
		add("stats", `{"branch":"feat/%d"}`, i)
	}
	return out
}

package claude

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// bigEnv asks for the test on a transcript of its size in megabytes.
const bigEnv = "HOOKSPAN_TEST_TRANSCRIPT_MB"

// writeBigClaude writes a transcript of at least size bytes and returns when
// its last turn began. The rows are those of the recorded sessions at the sizes
// of real work: per turn a prompt, ten requests with a tool each whose result
// is there twice, and what Claude Code notes of each request; about 240 KiB.
func writeBigClaude(t testing.TB, path string, size int64) time.Time {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	output := strings.Repeat("src/login.ts: if (\"a\" < b) {\n", 200)
	result := fmt.Sprintf(`"toolUseResult":{"stdout":%s,"interrupted":false}`, quoteJSON(output))
	shape := crow("api-request-shape", 0, `"shape":{"system":[{"type":"text","text":`+quoteJSON(strings.Repeat("You are an agent. ", 500))+`}]}`)
	var last time.Time
	for turn, n := 0, int64(0); n < size; turn++ {
		p, at := fmt.Sprintf("p%08d", turn), 100*turn
		last = sec(at)
		lines := []string{userRow(p, at, "Fix the login")}
		for call := range 10 {
			id := fmt.Sprintf("msg_%08d_%02d", turn, call)
			at++
			lines = append(lines, shape, crow("api-request", at, `"id":"q`+id+`"`, `"params":{"model":"claude-opus-5-5"}`),
				answerRow(id, at, "I look at it.", "tool_use", `"uuid":"a`+id+`"`), answerRow(id, at, "tool:toolu_"+id, "tool_use", `"uuid":"b`+id+`"`),
				resultRow(p, at+1, "toolu_"+id, output, false, result))
		}
		lines = append(lines, answerRow(fmt.Sprintf("msg_%08d_end", turn), at+2, "Done.", "end_turn"), summaryRow(at+3))
		for _, line := range lines {
			m, _ := w.WriteString(line)
			n += int64(m) + 1
			_ = w.WriteByte('\n') // Flush tells
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return last
}

// peakHeap runs read and returns the most memory the heap held meanwhile, above
// what it held before.
func peakHeap(read func()) uint64 {
	debug.FreeOSMemory()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse)
			select {
			case <-stop:
				done <- peak
				return
			case <-tick.C:
			}
		}
	}()
	read()
	close(stop)
	peak := <-done
	return peak - min(peak, before.HeapInuse)
}

// Memory must not follow the file: read whole, it follows the calls, which are a
// twentieth of it, over what the texts may take; since the last turn, nothing.
func TestClaudeLargeTranscript(t *testing.T) {
	megabytes := int64(48)
	if s := os.Getenv(bigEnv); s != "" {
		if _, err := fmt.Sscan(s, &megabytes); err != nil {
			t.Fatalf("%s is %q, want a number of megabytes", bigEnv, s)
		}
	} else {
		t.Logf("48 MB; set %s=1024 for a transcript of 1 GB", bigEnv)
	}
	f := newFinder(t)
	path := claudePath(f)
	last := writeBigClaude(t, path, megabytes<<20)
	for _, tt := range []struct {
		name  string
		since time.Time
		most  uint64
	}{
		{"since the last turn", last, 4 << 20},
		{"whole", time.Time{}, 32<<20 + uint64(megabytes)<<20/16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			var calls, results, prompts int
			peak := peakHeap(func() {
				tr := readClaude(t, f, transcript.Query{Session: claudeSession, Path: path, Since: tt.since})
				calls, results, prompts = len(tr.Requests), len(tr.ToolResults), len(tr.Prompts)
			})
			t.Logf("%d MB: %d calls in %v, heap %d KiB", megabytes, calls, time.Since(begin).Round(time.Millisecond), peak>>10)
			if calls != 11*prompts || results != 10*prompts || (prompts == 1) == tt.since.IsZero() {
				t.Errorf("%d prompts, %d calls, %d results; want 11 and 10 for each", prompts, calls, results)
			}
			if peak > tt.most {
				t.Errorf("the heap grew by %d bytes, want at most %d", peak, tt.most)
			}
		})
	}
}

// BenchmarkClaude reads a transcript of 64 MB, whole and since its last turn.
func BenchmarkClaude(b *testing.B) {
	f := newFinder(b)
	path := claudePath(f)
	const size = 64 << 20
	last := writeBigClaude(b, path, size)
	for name, since := range map[string]time.Time{"whole": {}, "since": last} {
		b.Run(name, func(b *testing.B) {
			if since.IsZero() {
				b.SetBytes(size)
			}
			b.ReportAllocs()
			for b.Loop() {
				tr, err := f.Read(b.Context(), Agent, transcript.Query{Session: claudeSession, Path: path, Since: since})
				if err != nil {
					b.Fatal(err)
				}
				if len(tr.Requests) == 0 {
					b.Fatal("no calls")
				}
			}
		})
	}
}

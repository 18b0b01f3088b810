package copilot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The file says what the hook of a failed request cannot: whether the turn goes on.
func TestEnd(t *testing.T) {
	const session = "731887c1-e732-4341-8b29-0b1cc44dba39"
	const prompt, failure = `"user.message","data":{"content":"go"}`, `"session.error","data":{"errorType":"query","message":"400"}`
	const call, answer = `"assistant.message","data":{"content":"x","toolRequests":[{"toolCallId":"c"}]}`, `"assistant.message","data":{"content":"x","toolRequests":[]}`
	for name, c := range map[string]struct {
		rows []string
		want hook.Kind
	}{
		"no answer yet":                 {[]string{prompt}, hook.KindUnknown},
		"a failure":                     {[]string{prompt, failure, `"assistant.turn_end","data":{}`}, hook.KindRunError},
		"a failure that is tried again": {[]string{prompt, failure, call}, hook.KindUnknown},
		"a failure, and a next prompt":  {[]string{prompt, failure, prompt}, hook.KindUnknown},
		"an answer":                     {[]string{prompt, answer}, hook.KindUnknown},
		"an interrupt":                  {[]string{prompt, call, `"abort","data":{"reason":"user_abort"}`}, hook.KindSessionEnd},
		"the failure of a subagent":     {[]string{prompt, call, strings.Replace(failure, `,"data"`, `,"agentId":"a","data"`, 1)}, hook.KindUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			home, begin := t.TempDir(), time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
			dir := filepath.Join(home, ".copilot", folder, session)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for i, row := range c.rows {
				fmt.Fprintf(&text, "{\"timestamp\":%q,\"type\":%s}\n", begin.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano), row)
			}
			if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			f := &transcript.Files{Home: home, GOOS: "linux"}
			kind, at, err := f.End(t.Context(), Agent, transcript.Query{Session: session})
			if err != nil || kind != c.want || (kind != hook.KindUnknown) == at.IsZero() {
				t.Errorf("ended %v at %v, %v; want %v", kind, at, err, c.want)
			}
		})
	}
	f := &transcript.Files{Home: t.TempDir(), GOOS: "linux"}
	if kind, _, err := f.End(t.Context(), Agent, transcript.Query{Session: session}); err != nil || kind != hook.KindUnknown {
		t.Errorf("without a file: %v, %v", kind, err)
	}
}

// BenchmarkSubagents reads a session in which each subagent has a few rows, and prints how
// its time grows: tenfold rows take ten times as long.
func BenchmarkSubagents(b *testing.B) {
	rows := func(n int) (out []row) {
		for i := range n / 4 {
			id := fmt.Sprintf(`"agentId":"a%d"`, i)
			for j, text := range []string{
				`"type":"subagent.started",` + id + `,"data":{"agentName":"explore","toolCallId":"c"}`, `"type":"user.message",` + id + `,"data":{"content":"look"}`,
				`"type":"assistant.message",` + id + `,"data":{"content":"seen"}`, `"type":"subagent.completed",` + id + `,"data":{}`,
			} {
				var r row
				r.Parse([]byte(fmt.Sprintf(`{"timestamp":%q,%s}`, time.UnixMilli(int64(4*i+j)).UTC().Format(time.RFC3339Nano), text)))
				out = append(out, r)
			}
		}
		return out
	}
	perRow := func(n int) float64 {
		all := rows(n)
		begun := time.Now()
		for range b.N {
			l := newLog(transcript.MaxText)
			for i := range all {
				l.add(&all[i])
			}
		}
		return float64(time.Since(begun).Nanoseconds()) / float64(b.N) / float64(n)
	}
	small := perRow(4_000)
	b.ReportMetric(perRow(40_000)/small, "growth")
}

package diagnose

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/pipeline"
)

// TestExamineLogGroupsManyDifferentLines writes as many different lines as a log
// holds. Comparing each with all others took minutes.
func TestExamineLogGroupsManyDifferentLines(t *testing.T) {
	m := &Machine{Setup: &pipeline.Setup{
		Config: &config.Config{StateDir: t.TempDir()},
		Now:    func() time.Time { return time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC) },
	}}
	letters := strings.NewReplacer("0", "g", "1", "h", "2", "i", "3", "j", "4", "k", "5", "l", "6", "m", "7", "n", "8", "o", "9", "p")
	var b strings.Builder
	const lines = 12_000
	for i := range lines {
		b.WriteString(letters.Replace(fmt.Sprintf("x%05d", i)) + "\n")
	}
	text := strings.ReplaceAll(b.String(), "x", "2026-03-04T09:00:00.000Z cline-hook: not stored: /tmp/")
	text += "2026-03-04T09:30:00.000Z cline-hook: not stored: /tmp/ggggg\n" // the first once more
	if err := os.WriteFile(m.Setup.Config.LogPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &exam{Machine: m, st: &Status{}}
	e.log()
	got := e.found
	if len(got) != shownLogLines+1 {
		t.Fatalf("got %d findings, want %d: %v", len(got), shownLogLines+1, got)
	}
	if last := got[shownLogLines-1].Text; !strings.HasPrefix(last, "log, 2 times since ") || !strings.HasSuffix(last, "last 30 minutes ago: cline-hook: not stored: /tmp/ggggg") {
		t.Errorf("the newest is %q", last)
	}
	if more, want := got[shownLogLines].Text, fmt.Sprintf("log: %d more kinds of lines from the last day in ", lines-shownLogLines); !strings.HasPrefix(more, want) {
		t.Errorf("got %q, want %q...", more, want)
	}
}

// TestALongLineOfTheLogHidesNoOther has one of 2 MiB before another.
func TestALongLineOfTheLogHidesNoOther(t *testing.T) {
	m := &Machine{Setup: &pipeline.Setup{Config: &config.Config{StateDir: t.TempDir()}, Now: func() time.Time { return testNow }}}
	stamp := before(time.Hour).Format(time.RFC3339)
	text := stamp + " cline-hook: " + strings.Repeat("語", 1<<20) + "\n" + stamp + " hookspan: the next one\n"
	if err := os.WriteFile(m.Setup.Config.LogPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &exam{Machine: m, st: &Status{}}
	e.log()
	if got := e.found; len(got) != 2 || len(got[0].Text) > 10_000 || !strings.HasSuffix(got[1].Text, "hookspan: the next one") {
		t.Errorf("%d findings", len(got))
	}
}

package claude

import (
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/transcript/transcripttest"
)

// TestGoldenTranscripts reads every recorded session.
func TestGoldenTranscripts(t *testing.T) {
	recordings, err := filepath.Glob("../testdata/claude/*/projects")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, dir := range recordings {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			f := transcripttest.Home(t, filepath.Dir(dir), ".claude")
			transcripttest.Golden(t, Agent, f, filepath.Join("testdata", "golden", name+".txt"))
		})
	}
}

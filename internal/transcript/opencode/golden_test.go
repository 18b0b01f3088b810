package opencode_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/opencode"
	"github.com/hookspan/hookspan/internal/transcript/opencode/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript/transcripttest"
)

// TestGoldenTranscripts reads every recorded session.
func TestGoldenTranscripts(t *testing.T) {
	recordings, err := os.ReadDir("../testdata/opencode")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, r := range recordings {
		t.Run(r.Name(), func(t *testing.T) {
			home := t.TempDir()
			opencodetest.Write(t, home, filepath.Join("../testdata/opencode", r.Name(), "opencode.sql"))
			f := &transcript.Files{Home: home, GOOS: "linux", Now: func() time.Time { return transcripttest.Now }}
			transcripttest.Golden(t, opencode.Agent, f, filepath.Join("testdata", "golden", r.Name()+".txt"))
		})
	}
}

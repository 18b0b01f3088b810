package qwen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/transcript/transcripttest"
)

// TestGoldenTranscripts reads every recorded session.
func TestGoldenTranscripts(t *testing.T) {
	recordings, err := os.ReadDir("../testdata/qwen")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, r := range recordings {
		t.Run(r.Name(), func(t *testing.T) {
			f := transcripttest.Home(t, filepath.Join("../testdata/qwen", r.Name()), ".qwen")
			transcripttest.Golden(t, Agent, f, filepath.Join("testdata", "golden", r.Name()+".txt"))
		})
	}
}

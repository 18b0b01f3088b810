package opencode_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// TestGoldenTranscripts reads every recorded session, and made ones of what none of them
// has.
func TestGoldenTranscripts(t *testing.T) {
	transcripttest.Each(t, func(t *testing.T, recording string) {
		home := t.TempDir()
		opencodetest.Write(t, home, filepath.Join(recording, "opencode.sql"))
		f := &transcript.Files{Home: home, GOOS: "linux", Now: func() time.Time { return transcripttest.Now }}
		transcripttest.Golden(t, reader, f, recording)
	}, "../testdata/opencode", "testdata/made")
}

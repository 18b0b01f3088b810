package claude

import (
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// TestGoldenTranscripts reads every recorded session, and made ones of what none of them
// has.
func TestGoldenTranscripts(t *testing.T) {
	transcripttest.Each(t, func(t *testing.T, recording string) {
		if filepath.Base(recording) != "edge" { // single rows
			transcripttest.Golden(t, Agent, transcripttest.Home(t, recording, ".claude"), recording)
		}
	}, "../testdata/claude", "testdata/made")
}

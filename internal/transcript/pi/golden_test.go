package pi

import (
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// TestGoldenTranscripts reads every recorded session, and made ones of what none of them
// has.
func TestGoldenTranscripts(t *testing.T) {
	transcripttest.Each(t, func(t *testing.T, recording string) {
		transcripttest.Golden(t, Agent, transcripttest.Home(t, recording, ".pi"), recording)
	}, "../testdata/pi")
}

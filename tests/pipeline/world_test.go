// Package pipeline_test plays recorded sessions through the real programs and
// looks at what came out at every destination.
package pipeline_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
)

const (
	payloads = "../../hook/cline/testdata"
	storage  = "../../internal/transcript/testdata"
	neutral  = lab.Neutral
)

func TestMain(m *testing.M) { lab.Main(m) }

// world is a user's machine with what these tests look at.
type world struct{ *lab.World }

func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	return &world{lab.New(t, settings...)}
}

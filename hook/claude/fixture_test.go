package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var storedAt = hooktest.StoredAt

// tested decodes what Claude Code writes: one event of each payload.
var tested = hooktest.Agent{Decode: Decode, Head: checkHead, Also: checkEvent}

// fixtures are payloads that were recorded from Claude Code, or made after its documentation
// where no recording is to be had, and those of a session with the times they came.
func fixtures(t testing.TB) []hooktest.File {
	t.Helper()
	all := hooktest.Files(t, "testdata")
	for i, r := range hooktest.Recorded(t, "testdata/session.ndjson") {
		r.Offset = 0
		all = append(all, hooktest.File{Folder: "session", Name: fmt.Sprintf("line %02d", i+1), Raw: r})
	}
	if len(all) < 150 {
		t.Fatalf("found %d payloads, want all of them (more than 150)", len(all))
	}
	return all
}

// load returns one payload.
func load(t testing.TB, name string) Raw {
	t.Helper()
	return hooktest.Named(t, fixtures(t), name)
}

func decodeOne(t testing.TB, payload, event string) hook.Event {
	t.Helper()
	return hooktest.One(t, Decode, payload, event)
}

// nested is an array in an array and so on, depth times.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

package cline

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var storedAt = hooktest.StoredAt

var tested = hooktest.Agent{Decode: Decode, LeadID: true, Head: checkHead, Also: func(t *testing.T, ev *hook.Event, err error) {
	t.Helper()
	if err != nil && ev.Kind != hook.KindUnknown {
		t.Fatalf("kind %v with error %v", ev.Kind, err)
	}
}}

// fixtures are payloads that were recorded from Cline, or from Cline's own hook code. The
// session of hookspan demo is the folder classic-session.
func fixtures(t testing.TB) []hooktest.File {
	t.Helper()
	demo := hooktest.Files(t, "../../internal/demo/session")
	for i := range demo {
		demo[i].Folder = "classic-session"
	}
	all := append(demo, hooktest.Files(t, "testdata")...)
	if len(all) < 130 {
		t.Fatalf("found %d recorded payloads, want all of them (more than 130)", len(all))
	}
	return all
}

// load returns one recorded payload.
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

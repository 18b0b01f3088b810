package deliver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestRepositoryIsReadOnceASession changes the branch between two turns of a session: its
// roots keep what was found first, whichever process delivers them.
func TestRepositoryIsReadOnceASession(t *testing.T) {
	b := newBench(t)
	c := &memory{}
	var asked []string
	branch := "main"
	deliver := func() {
		d := b.claudeDeliverer(nil, Destination{Name: "store", Client: c, Local: true})
		d.Repository = func(dir string) hook.Repository {
			asked = append(asked, dir)
			return hook.Repository{Name: "shop", URL: "https://git.example/a/shop", Branch: branch}
		}
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
	}
	b.append(turn("one")...)
	deliver()
	branch = "fix/login"
	b.append(turn("two")...)
	deliver()
	var got [][3]string
	for _, span := range c.spans {
		if otlp.Text(span.GetAttributes(), otelmap.KeyOperation) == otelmap.OpInvokeAgent {
			a := span.GetAttributes()
			got = append(got, [3]string{otlp.Text(a, otelmap.KeyRepositoryName), otlp.Text(a, otelmap.KeyRepositoryURL), otlp.Text(a, otelmap.KeyBranch)})
		}
	}
	want := [3]string{"shop", "https://git.example/a/shop", "main"}
	if diff := cmp.Diff([][3]string{want, want}, got); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/w"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

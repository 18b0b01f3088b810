package importer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
)

// asked is a local store that counts what it is asked for.
type asked struct {
	Known
	sessions [][]string
	fail     error
}

func (a *asked) Conversations(_ context.Context, sessions ...string) (out []store.Root, err error) {
	a.sessions = append(a.sessions, sessions)
	for _, s := range sessions {
		out = append(out, store.Root{Session: s, Trace: fmt.Sprint(len(a.sessions))})
	}
	return out, a.fail
}

func TestNeighboursAreAskedForAtOnceAndAgainWhenOthersMayHaveWritten(t *testing.T) {
	var k asked
	now := at(0)
	n := neighbours{known: &k, now: func() time.Time { return now }, sessions: make([]Session, 3*askedAtOnce), roots: make(map[string][]store.Root)}
	for i := range n.sessions {
		n.sessions[i].ID = fmt.Sprint("s", i)
	}
	trace := func(i int) string {
		t.Helper()
		roots, err := n.of(t.Context(), i)
		if err != nil {
			return err.Error()
		}
		if len(roots) != 1 || roots[0].Session != n.sessions[i].ID {
			t.Fatalf("session %d has %v", i, roots)
		}
		return roots[0].Trace
	}
	for i := range n.sessions {
		trace(i)
	}
	if asked := len(k.sessions); asked != 3 {
		t.Errorf("the store was asked %d times for %d sessions, want 3 times", asked, len(n.sessions))
	}
	first, last := trace(0), len(n.sessions)-1
	if got := trace(1); got != first {
		t.Errorf("the store was asked at once again: %s after %s", got, first)
	}
	now = now.Add(holds)
	if got := trace(1); got == first {
		t.Error("an old answer counts")
	}
	k.fail = context.DeadlineExceeded
	if got := trace(last); got != k.fail.Error() {
		t.Errorf("after a failure: %s", got)
	}
	k.fail = nil
	if got := trace(last); got != fmt.Sprint(len(k.sessions)) {
		t.Errorf("after a failure the answer is %s, want the newest, %d", got, len(k.sessions))
	}
}

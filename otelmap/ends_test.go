package otelmap

import (
	"encoding/json"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

func TestRunWithoutAnOutcomeNeverEnded(t *testing.T) {
	if got := OutcomeEnd(""); got != EndUnfinished {
		t.Errorf("got %q", got)
	}
}

func TestHookEnd(t *testing.T) {
	for _, c := range []struct {
		status, decision string
		want             End
	}{
		{hook.HookOK, "", EndOK},
		{hook.HookOK, "allow", EndOK},
		{hook.HookAsync, "", EndOK},
		{hook.HookOK, "deny", EndDenied},
		{hook.HookError, "block", EndDenied},
		{hook.HookError, "", EndFailed},
		{hook.HookTimeout, "", EndFailed},
		{hook.HookNotStarted, "ask", EndFailed},
	} {
		if got := HookEnd(c.status, c.decision); got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.status, c.decision, got, c.want)
		}
	}
}

// TestEndsAreDistinct holds the words and marks of the ends against one another: each says
// one end, in JSON as well.
func TestEndsAreDistinct(t *testing.T) {
	seen := make(map[string]End)
	bad := 0
	for i, e := range Ends {
		if int(e) != i {
			t.Errorf("end %d has the number %d", i, e)
		}
		text, err := json.Marshal(e)
		if err != nil || string(text) != `"`+e.String()+`"` {
			t.Errorf("%s as JSON: %s, %v", e, text, err)
		}
		for _, what := range []string{"word " + e.String(), "mark " + e.Mark(), "ASCII " + e.ASCII()} {
			if other, ok := seen[what]; ok {
				t.Errorf("%s of %q and of %q", what, other, e)
			}
			seen[what] = e
		}
		if e.Bad() {
			bad++
		}
	}
	if bad != 3 || EndDenied.Failed() || !EndUnfinished.Failed() || EndRunning.Bad() {
		t.Errorf("%d ends are bad", bad)
	}
}

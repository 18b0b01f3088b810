package view

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// TestEventTail has the last events and then each one, and asks once for one thing.
func TestEventTail(t *testing.T) {
	var got []string
	asked := 0
	tail := &EventTail{
		Filter: EventFilter{Host: "claude-code", Session: "s", Folder: "shop"}, Last: 1,
		Show: func(l EventLine) error { got = append(got, l.Session+" "+l.Kind+" "+l.Text); return nil },
		Asks: func(*EventLine) { asked++ },
	}
	add := func(e hook.Event, texts bool) {
		e.Host, e.Time = "claude-code", time.Unix(1, 0)
		if err := tail.Add(&e, texts); err != nil {
			t.Fatal(err)
		}
	}
	prompt := func(session, cwd string) hook.Event {
		return hook.Event{Kind: hook.KindPrompt, Session: session, Cwd: cwd, Prompt: "text"}
	}
	asks := hook.Event{Kind: hook.KindPermission, Session: "s1", Cwd: "/shop"}
	add(prompt("s0", "/dev/shop"), true)
	add(asks, true)
	add(prompt("s1", "/dev/shop"), true)
	if err := tail.CaughtUp(); err != nil {
		t.Fatal(err)
	}
	add(prompt("s2", "/dev/shop/api"), false)
	add(prompt("other", "/dev/shop"), true)
	add(prompt("s3", "/dev/workshop"), true)
	add(asks, true)
	add(asks, true)
	want := "s1 prompt text\ns2 prompt \ns1 permission \ns1 permission "
	if text := strings.Join(got, "\n"); text != want || asked != 1 {
		t.Errorf("showed %q, asked %d times, want %q and 1", text, asked, want)
	}
}

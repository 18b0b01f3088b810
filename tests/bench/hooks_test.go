package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHooksCost(t *testing.T) {
	ms := func(name string, n ...time.Duration) *contestant {
		c := &contestant{name: name}
		for _, d := range n {
			c.took = append(c.took, d*time.Millisecond)
		}
		return c
	}
	got := hooksCost([]*contestant{ms(bareHook, 2, 2), ms(noHooks, 3, 4, 5), ms(oneHook, 10), ms(manyHooks, 20), ms(noMatch)})
	want := []string{
		"one hook: 6.00 ms more at p50, 2.50 times",
		"one hook, to running it alone: 8.00 ms more at p50, 5.00 times",
		"8 hooks, to one: 10.00 ms more at p50, 2.00 times",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestHooksFileHasNoHookTwice: hookspan runs the same hook once.
func TestHooksFileHasNoHookTwice(t *testing.T) {
	text, err := hooksFile("Read", 8)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Type, Command string }
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, g := range f.Hooks["PostToolUse"] {
		for _, h := range g.Hooks {
			seen[h.Command] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d different hooks in %s, want 8", len(seen), text)
	}
}

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestConfirmAsksUntilTheAnswerIsClear(t *testing.T) {
	for typed, want := range map[string]struct {
		yes   bool
		asked int
	}{
		"y\n": {true, 1}, "YES\n": {true, 1}, "n\n": {false, 1}, "No\n": {false, 1}, "\n": {false, 1}, "": {false, 1},
		"ja\ny\n": {true, 2}, "ja\nnein\n\n": {false, 3}, "ja": {false, 1},
	} {
		a, _, stderr := newTestApp(t)
		a.stdin = strings.NewReader(typed)
		yes, err := confirm(t.Context(), a, "Install?")
		if asked := strings.Count(stderr.String(), "Install? [y/N]"); yes != want.yes || asked != want.asked || err != nil {
			t.Errorf("%q: %t, asked %d times, %v, want %+v", typed, yes, asked, err, want)
		}
		if strings.Contains(typed, "ja") && !strings.Contains(stderr.String(), `the answer is "ja": want y or n`) {
			t.Errorf("%q: nothing says what is wrong: %q", typed, stderr)
		}
	}
}

func TestConfirmEndsWithTheContext(t *testing.T) {
	a, _, _ := newTestApp(t)
	in, out := io.Pipe() // never answers
	t.Cleanup(func() { _ = out.Close() })
	a.stdin = in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := confirm(ctx, a, "Delete?"); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v, want the interrupt", yes, err)
	}
}

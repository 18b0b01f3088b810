package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPromptlyEndsWithItsContext(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	own := errors.New("own")
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		grace time.Duration
		f     func() error
		want  error
		says  string
	}{
		{"done", t.Context(), 0, func() error { return nil }, nil, ""},
		{"failed", t.Context(), 0, func() error { return own }, own, ""},
		{"ends after the context", over, time.Minute, func() error { return own }, own, ""},
		{"does not look at the context", over, time.Millisecond, func() error { <-hang; return nil }, context.Canceled, ""},
		{"panics", t.Context(), 0, func() error { panic("boom") }, nil, "internal error: boom"},
	} {
		err := Promptly(tc.ctx, tc.grace, tc.f)
		if tc.says == "" && !errors.Is(err, tc.want) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %v%s", tc.name, err, tc.want, tc.says)
		}
	}
}

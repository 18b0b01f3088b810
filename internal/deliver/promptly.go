package deliver

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Promptly returns f's error, or the context's error if f has not returned within
// the grace after the context ended. Then the process must end: that frees f's
// locks, and what f has not recorded as delivered is delivered again.
func Promptly(ctx context.Context, grace time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if e := recover(); e != nil {
				done <- fmt.Errorf("internal error: %v\n%s", e, debug.Stack())
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return ctx.Err()
	}
}

package deliver

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestBackoffDoublesUpToLimit(t *testing.T) {
	for _, c := range []struct {
		attempts int
		asked    time.Duration
		min, max time.Duration
	}{
		{0, 0, 4 * time.Second, 6 * time.Second},
		{1, 0, 4 * time.Second, 6 * time.Second},
		{2, 0, 8 * time.Second, 12 * time.Second},
		{5, 0, 64 * time.Second, 96 * time.Second},
		{8, 0, 512 * time.Second, 768 * time.Second},
		{9, 0, 12 * time.Minute, 15 * time.Minute},
		{1 << 40, 0, 12 * time.Minute, 15 * time.Minute},
		{1, time.Second, 4 * time.Second, 6 * time.Second},
		{1, time.Minute, time.Minute, time.Minute},
		{100, time.Minute, 12 * time.Minute, 15 * time.Minute},
		{100, 20 * time.Hour, 20 * time.Hour, 20 * time.Hour},
	} {
		spread := make(map[time.Duration]bool)
		for range 200 {
			d := backoff(c.attempts, c.asked)
			if d < c.min || d > c.max {
				t.Fatalf("%d attempts, %v asked: %v, want %v to %v", c.attempts, c.asked, d, c.min, c.max)
			}
			spread[d] = true
		}
		if c.asked == 0 && len(spread) < 20 {
			t.Errorf("%d attempts: %d different waits of 200, want them spread", c.attempts, len(spread))
		}
	}
}

func TestUnclassifiedErrorIsRetried(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		retry bool
		after time.Duration
	}{
		{"unknown", errors.New("disk full"), true, 0},
		{"transient", &Error{Err: errTest, After: time.Minute}, true, time.Minute},
		{"permanent", &Error{Err: errTest, Permanent: true}, false, 0},
		{"permanent, wrapped", fmt.Errorf("x: %w", errors.Join(errTest, &Error{Err: errTest, Permanent: true})), false, 0},
	} {
		if f := classify(c.err); f.retry != c.retry || f.after != c.after {
			t.Errorf("%s: retry %t after %v, want %t after %v", c.name, f.retry, f.after, c.retry, c.after)
		}
	}
}

func TestClassifyFailureOfRun(t *testing.T) {
	for status := 500; status <= 600; status++ {
		want := status != 502 && status != 503 && status != 504 && status != 600
		if got := ofTheRun(status); got != want {
			t.Errorf("%d: of the run %t, want %t", status, got, want)
		}
	}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"unknown", errTest, false},
		{"no answer", &Error{Err: errTest}, false},
		{"answered, wrapped", fmt.Errorf("x: %w", &Error{Err: errTest, RunOnly: true}), true},
	} {
		if got := classify(c.err).answered; got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

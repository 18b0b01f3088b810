package bridge

import (
	"context"
	"errors"
	"testing"
	"time"
)

func keyOf(n byte) memoryKey { return memoryKey{n} }

// claimNow claims without waiting.
func claimNow(t *testing.T, m *memory, k memoryKey) (c *claim, repeated bool) {
	t.Helper()
	c, repeated, err := m.take(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return c, repeated
}

func TestMemory(t *testing.T) {
	now := fixed()
	m := &memory{size: 3, window: 10 * time.Second, now: func() time.Time { return now }}
	take := func(n byte, want bool) {
		t.Helper()
		c, repeated := claimNow(t, m, keyOf(n))
		if repeated != want {
			t.Errorf("event %d: repeated is %v", n, repeated)
		}
		if c != nil {
			m.settle(c, true)
		}
	}
	take(1, false)
	take(1, true)
	take(2, false)
	now = now.Add(10*time.Second - 1)
	take(1, true)
	now = now.Add(1)
	take(1, false) // the window begins with the first copy
	now = now.Add(-time.Hour)
	take(1, false) // the clock was set back
	take(2, false)
	take(3, false)
	take(1, true)
	take(4, false) // pushes 2 out
	take(2, false)
	if len(m.byKey) != 3 || m.order.Len() != 3 {
		t.Errorf("%d keys, %d entries, want 3", len(m.byKey), m.order.Len())
	}
}

func TestCopyWaitsForFirstEvent(t *testing.T) {
	for name, ok := range map[string]bool{"which is stored": true, "which fails": false} {
		t.Run(name, func(t *testing.T) {
			m := &memory{size: 3, window: time.Second, now: fixed}
			first, _ := claimNow(t, m, keyOf(1))
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := m.take(gone, keyOf(1)); !errors.Is(err, context.Canceled) {
				t.Errorf("a copy whose sender hung up: %v", err)
			}
			got := make(chan bool)
			go func() {
				c, repeated, _ := m.take(context.Background(), keyOf(1))
				if c != nil {
					m.settle(c, true)
				}
				got <- repeated
			}()
			m.settle(first, ok)
			if repeated := <-got; repeated != ok {
				t.Errorf("repeated is %v", repeated)
			}
			if _, repeated := claimNow(t, m, keyOf(1)); !repeated {
				t.Error("taken twice")
			}
		})
	}
}

package bridge

import (
	"context"
	"errors"
	"testing"
	"time"
)

func keyOf(n byte, named bool) memoryKey {
	k := memoryKey{named: named}
	k.sum[0] = n
	return k
}

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
	take := func(n byte, named, want bool) {
		t.Helper()
		c, repeated := claimNow(t, m, keyOf(n, named))
		if repeated != want {
			t.Errorf("event %d: repeated is %v", n, repeated)
		}
		if c != nil {
			m.settle(c, true)
		}
	}
	take(1, true, false)
	take(1, true, true)
	take(2, false, false)
	take(2, false, true)
	now = now.Add(10 * time.Second)
	take(2, false, false) // said once more, later
	take(1, true, true)   // the same call, however late
	take(3, true, false)
	take(4, true, false) // pushes 2 out
	take(1, true, true)
	take(2, false, false)
	if len(m.byKey) != 3 || m.order.Len() != 3 {
		t.Errorf("%d keys, %d entries, want 3", len(m.byKey), m.order.Len())
	}
}

func TestCopyWaitsForFirstEvent(t *testing.T) {
	for name, ok := range map[string]bool{"which is stored": true, "which fails": false} {
		t.Run(name, func(t *testing.T) {
			m := &memory{size: 3, window: time.Second, now: fixed}
			first, _ := claimNow(t, m, keyOf(1, true))
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := m.take(gone, keyOf(1, true)); !errors.Is(err, context.Canceled) {
				t.Errorf("a copy whose sender hung up: %v", err)
			}
			got := make(chan bool)
			go func() {
				c, repeated, _ := m.take(context.Background(), keyOf(1, true))
				if c != nil {
					m.settle(c, true)
				}
				got <- repeated
			}()
			m.settle(first, ok)
			if repeated := <-got; repeated != ok {
				t.Errorf("repeated is %v", repeated)
			}
			if _, repeated := claimNow(t, m, keyOf(1, true)); !repeated {
				t.Error("taken twice")
			}
		})
	}
}

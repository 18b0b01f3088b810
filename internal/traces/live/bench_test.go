package live

import (
	"errors"
	"testing"
)

// BenchmarkBegin is what it takes to begin to follow with many sessions in the spool.
func BenchmarkBegin(b *testing.B) {
	w := newWorld(b)
	for s := range 10_000 {
		w.store(s, s)
	}
	for b.Loop() {
		f := &Follower{
			Spool: w.sp, Dir: w.dir, Decode: decode, Recent: true,
			CaughtUp: func() error { return errEnough },
			Visit:    func(Event) error { return nil },
		}
		if err := f.Run(b.Context(), true); !errors.Is(err, errEnough) {
			b.Fatal(err)
		}
	}
}

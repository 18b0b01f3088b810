package transcripttest

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/internal/transcript"
)

// Growth measures how long a reader takes for all sessions that build makes of n things, and of
// ten times as many: that should cost at most 13 times as much.
func Growth(b *testing.B, a transcript.Reader, n int, build func(b *testing.B, f *transcript.Files, n int)) {
	b.Helper()
	for _, n := range []int{n, 10 * n} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := Finder(b)
			build(b, f, n)
			for b.Loop() {
				f := f.Remember()
				all, err := f.Sessions(b.Context(), a)
				if err != nil || len(all) == 0 {
					b.Fatal(len(all), err)
				}
				for _, s := range all {
					if _, err := f.Read(b.Context(), a, transcript.Query{Session: s.ID, Dialect: s.Dialect, Path: s.Path, Full: true}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

package transcripttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// Jumps has a reader read drawn files of some turns, in each of which the clock is set back
// once, and checks that the events are those of a clock that runs. Each row of a turn has one
// %s for its time, and the turns are of the same rows.
func Jumps(t *testing.T, a transcript.Reader, dialect, session, path, first string, turn []string, draws int) {
	t.Helper()
	f := Finder(t)
	start := time.Date(2026, 6, 10, 9, 0, 0, 0, time.UTC)
	events := func(set func(turn, row int) time.Duration) (names []string) {
		var b strings.Builder
		at := start
		if first != "" {
			b.WriteString(strings.ReplaceAll(first, "%s", at.Format(time.RFC3339Nano)) + "\n")
		}
		for n := range 3 {
			back := time.Duration(0)
			for i, row := range turn {
				at, back = at.Add(7*time.Second), back+set(n, i)
				b.WriteString(strings.NewReplacer("%s", at.Add(-back).Format(time.RFC3339Nano), "%n", fmt.Sprint(n)).Replace(row) + "\n")
			}
			at = at.Add(72 * time.Hour) // the next turn has its own times
		}
		Write(t, f.Home+"/"+path, b.String())
		tr, err := f.Read(t.Context(), a, transcript.Query{Session: session, Full: true})
		if err != nil {
			t.Fatal(err)
		}
		for e := range a.Events(dialect, tr) {
			name := e.Name
			if e.Tool != nil {
				name += " " + e.Tool.ID
			}
			names = append(names, name)
		}
		return names
	}
	want := events(func(int, int) time.Duration { return 0 })
	for seed := range draws {
		r := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // Drawn for a test.
		when, by := r.IntN(len(turn)-2)+1, 9*time.Second+time.Duration(r.Int64N(int64(48*time.Hour)))
		got := events(func(_, row int) time.Duration {
			if row == when {
				return by
			}
			return 0
		})
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, set back by %v at row %d of each turn: events %q, want %q", seed, by, when, got, want)
		}
	}
}

package hook_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// TestEndsFindTheirStarts has calls by number, of which some never end.
func TestEndsFindTheirStarts(t *testing.T) {
	t.Parallel()
	named := func(id, name string, input uint64) hook.CallKey {
		return hook.CallKey{ID: id, Name: name, Input: input}
	}
	const none = -1
	for name, c := range map[string]struct {
		starts []hook.CallKey
		ends   []hook.CallKey
		want   []int
	}{
		"by the id":                         {starts: []hook.CallKey{named("a", "x", 1), named("b", "x", 1)}, ends: []hook.CallKey{named("a", "x", 1), named("b", "x", 1)}, want: []int{0, 1}},
		"the newest of one id":              {starts: []hook.CallKey{named("a", "x", 1), named("a", "x", 1)}, ends: []hook.CallKey{named("a", "x", 1), named("a", "x", 1)}, want: []int{1, 0}},
		"the one with the input":            {starts: []hook.CallKey{named("a", "x", 1), named("a", "x", 2)}, ends: []hook.CallKey{named("a", "x", 1)}, want: []int{0}},
		"of a changed input the newest":     {starts: []hook.CallKey{named("a", "x", 1), named("a", "x", 2)}, ends: []hook.CallKey{named("a", "x", 3)}, want: []int{1}},
		"never of another tool":             {starts: []hook.CallKey{named("a", "x", 1)}, ends: []hook.CallKey{named("a", "y", 1)}, want: []int{none}},
		"without ids the oldest":            {starts: []hook.CallKey{named("", "x", 1), named("", "x", 1)}, ends: []hook.CallKey{named("", "x", 1)}, want: []int{0}},
		"without ids never another input's": {starts: []hook.CallKey{named("", "x", 1)}, ends: []hook.CallKey{named("", "x", 2)}, want: []int{none}},
	} {
		var open hook.OpenCalls[int]
		for i, k := range c.starts {
			open.Start(k, i)
		}
		for i, k := range c.ends {
			got, ok := open.End(k)
			if !ok {
				got = none
			}
			if got != c.want[i] {
				t.Errorf("%s: end %d is of call %d, want %d", name, i, got, c.want[i])
			}
		}
		if ended := !slices.Contains(c.want, none) && len(c.want) == len(c.starts); open.Any() == ended {
			t.Errorf("%s: a call has not ended: %v, want %v", name, !ended, ended)
		}
	}
}

func TestNewestMadeBefore(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	list := []int64{2, 4, 4, 6}
	for when, want := range map[int64]int64{1: 0, 2: 2, 5: 4, 9: 6} {
		if got, ok := hook.Newest(list, at(when), at); got != want || ok != (want != 0) {
			t.Errorf("at %d: %d, %v, want %d", when, got, ok, want)
		}
	}
}

package prices

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// near compares prices, which have few digits.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// A row that does not fit the others of its vendor has a slip of the pen.
func TestListsAreWhole(t *testing.T) {
	for name, host := range map[string]string{
		"anthropic.json": "platform.claude.com", "google.json": "ai.google.dev", "openai.json": "developers.openai.com",
	} {
		l, err := parseList(name)
		if err != nil {
			t.Fatal(err)
		}
		if l.Date.begin.IsZero() || !strings.HasPrefix(l.Source, "https://"+host+"/") || l.Unit != "USD per million tokens" || len(l.Prices) == 0 {
			t.Errorf("%s is of %v from %q in %q with %d rows", name, l.Date, l.Source, l.Unit, len(l.Prices))
		}
		for i, p := range l.Prices {
			odd := func(why string) { t.Errorf("%s: row %d (%v %s) %s: %+v", name, i, p.Models, p.Family, why, p) }
			if (len(p.Models) == 0) == (p.Family == "") || p.Family != "" && (name != "anthropic.json" || p.First == 0 || p.First > p.Last) {
				odd("names no models")
			}
			if p.UpTo != 0 && p.Long != nil || p.UpTo < 0 {
				odd("has a limit and a price beyond it")
			}
			all := []*rates{&p.rates}
			if p.Long != nil {
				all = append(all, &p.Long.rates)
				if p.Long.Above < 100_000 || p.Long.Input <= p.Input || p.Long.Output <= p.Output {
					odd("has no higher price of a long input")
				}
				if name == "openai.json" && (p.Long.Above != 272_000 || !near(p.Long.Input, 2*p.Input) || !near(p.Long.Output, 1.5*p.Output) ||
					!near(*p.Long.Read, 2**p.Read) || !near(*p.Long.Write, 2**p.Write)) {
					odd("has another price of a long input than twice the usual, and 1.5 times of the output")
				}
			}
			for _, r := range all {
				if r.Input <= 0 || r.Output <= r.Input || *r.Read <= 0 || *r.Read > r.Input {
					odd("has prices in the wrong order")
				}
				if *r.Write != r.Input && !near(*r.Write, 1.25*r.Input) {
					odd("has another price of writing than that of input, or 1.25 times as much")
				}
				if name == "anthropic.json" && (!near(r.Output, 5*r.Input) || *r.Write == r.Input || !near(*r.Write1h, 2*r.Input)) {
					odd("has other prices than five times, 1.25 times and twice that of input")
				}
			}
		}
	}
}

// Of the rows of a model each begins later than the one before, and the first begins
// with the model.
func TestRowsOfAModelFollowOneAnother(t *testing.T) {
	x, err := newIndex()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range x.named {
		if !slices.IsSortedFunc(m.rows, func(a, b *price) int { return a.From.begin.Compare(b.From.begin) }) {
			t.Errorf("%s: the rows are not in the order of their days", name)
		}
		for i, p := range m.rows {
			if (i == 0) != p.From.begin.IsZero() || i > 0 && p.From == m.rows[i-1].From {
				t.Errorf("%s: row %d begins on %v", name, i, p.From.begin)
			}
		}
	}
	for i, p := range x.families {
		for _, other := range x.families[:i] {
			if p.Family != other.Family || p.First > other.Last || other.First > p.Last {
				continue
			}
			if p.First != other.First || p.Last != other.Last || !p.From.begin.After(other.From.begin) {
				t.Errorf("row %+v overlaps %+v", p, other)
			}
		}
	}
}

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestTimelineHasTracesWithoutATime beside one whose bar is as long as the axis.
func TestTimelineHasTracesWithoutATime(t *testing.T) {
	works := []*store.Work{
		{Summary: store.Summary{Session: "1", Host: "cline", Title: "one"}},
		{Summary: store.Summary{Session: "2", Host: "cline", Title: "two", Started: t0, Ended: t0.Add(time.Hour)}},
	}
	for range 2 {
		var b strings.Builder
		if err := Timeline(&b, works, Options{Width: 80, Location: time.UTC}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, "━") < 35 || !strings.Contains(got, "10:15") || !strings.Contains(got, "one") {
			t.Errorf("%s", got)
		}
		works[0], works[1] = works[1], works[0]
	}
}

func TestTimelineNamesTimesWhole(t *testing.T) {
	for span, want := range map[time.Duration]string{time.Hour: "10:15    10:30    10:45    11:00", 48 * time.Hour: "Mar 4 10:15       Mar 5 10:15"} {
		works := []*store.Work{{Summary: store.Summary{Session: "1", Started: t0, Ended: t0.Add(span)}}}
		var b strings.Builder
		if err := Timeline(&b, works, Options{Width: 80, Location: time.UTC}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

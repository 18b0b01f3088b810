package diagnose

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/sums"
)

func TestTimeOfMetricsIsThatOfTheStore(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	reported := before(time.Minute)
	if err := s.Measure(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Acknowledge(t.Context(), "here", sums.Form{Since: before(time.Hour), At: reported}, nil, 1); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		place, failed string
		noted, want   time.Time
	}{
		"a success after another": {place: "here", noted: before(time.Hour), want: reported},
		"no file":                 {place: "here", want: reported},
		"another place":           {place: "there", noted: before(time.Hour), want: before(time.Hour)},
		"a failure":               {place: "here", failed: "503", noted: before(time.Hour), want: before(time.Hour)},
		"a test":                  {place: "here", noted: testNow, want: testNow},
	} {
		st := Status{Destinations: []Destination{{Name: config.DestinationMetrics, Tried: tt.noted, Taken: tt.noted, Error: tt.failed}}}
		if err := st.addInStore(t.Context(), s, tt.place); err != nil {
			t.Fatal(err)
		}
		if d := st.Destinations[0]; !d.Taken.Equal(tt.want) || !d.Tried.Equal(tt.want) {
			t.Errorf("%s: taken %v, tried %v, want %v", name, d.Taken, d.Tried, tt.want)
		}
	}
}

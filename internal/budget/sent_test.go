package budget

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// used is a figure of a budget of 5 for the day so many days ago.
func used(name, level string, ago int) Figure {
	until := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -ago)
	return Figure{Budget: name, Level: level, Limit: 5, From: until.AddDate(0, 0, -1), Until: until}
}

// sender sends, and notes which messages were posted and taken.
type sender struct {
	t      *testing.T
	sent   Sent
	now    time.Time
	ids    map[string]int
	posted []string
	answer func() error
}

func newSender(t *testing.T) *sender {
	t.Helper()
	return &sender{t: t, now: now, ids: make(map[string]int), answer: func() error { return nil }}
}

// send is a delivery, which keeps all as JSON. It ends with the first message that is refused.
func (s *sender) send(left bool, figures ...Figure) {
	s.t.Helper()
	s.sent.Note(figures, s.now)
	var refused error
	for _, f := range s.sent.Due(figures) {
		s.posted = append(s.posted, f.Budget+" "+f.Level)
		s.ids[f.ID]++
		if refused = s.answer(); refused != nil {
			break
		}
		f.Sent = f.Level
	}
	text, err := json.Marshal(s.sent)
	s.sent = Sent{}
	if err = errors.Join(err, json.Unmarshal(text, &s.sent)); err != nil || (refused != nil) != left {
		s.t.Errorf("%v, refused %v, want %v", err, refused, left)
	}
}

func (s *sender) want(posts ...string) {
	s.t.Helper()
	if d := cmp.Diff(posts, s.posted); d != "" {
		s.t.Errorf("posts (-want +got):\n%s", d)
	}
	s.posted = nil
}

func TestEachLevelIsSentOnce(t *testing.T) {
	s := newSender(t)
	s.send(false, used("day_usd", "", 0))
	s.want()
	s.send(false, used("day_usd", "warn", 0), used("week_usd", "", 0))
	s.send(false, used("day_usd", "warn", 0), used("week_usd", "reached", 0))
	s.want("day_usd warn", "week_usd reached") // a level that was jumped over is not sent
	s.send(false, used("day_usd", "", 0))      // a correction
	s.send(false, used("day_usd", "warn", 0), used("week_usd", "warn", 0))
	s.want()
	s.send(false, used("day_usd", "reached", 0))
	s.send(false, used("day_usd", "reached", 0))
	s.want("day_usd reached")
	other := used("day_usd", "reached", 0)
	other.Limit = 10
	s.send(false, other)
	s.want("day_usd reached") // another budget
	s.now = now.AddDate(0, 0, 1)
	s.send(false, used("day_usd", "warn", -1), used("day_usd", "reached", 0))
	s.want("day_usd warn") // the next day
	if len(s.ids) != 5 {
		t.Errorf("ids %v, want one for each message", s.ids)
	}
}

func TestPeriodThatEndedIsSentIfItWasLookedAt(t *testing.T) {
	s := newSender(t)
	s.send(false, used("day_usd", "reached", 1), used("week_usd", "", 0)) // yesterday there was no budget
	s.want()
	s.send(false, used("day_usd", "", 0))
	s.now = now.AddDate(0, 0, 1)
	s.send(false, used("day_usd", "warn", 0), used("day_usd", "", -1)) // a task that ends after midnight
	s.want("day_usd warn")
}

// TestClockThatIsSetBackRepeatsNothing has the day before again, and then the day.
func TestClockThatIsSetBackRepeatsNothing(t *testing.T) {
	s := newSender(t)
	s.send(false, used("day_usd", "reached", 0))
	s.want("day_usd reached")
	s.now = s.now.AddDate(0, 0, -1)
	s.send(false, used("day_usd", "warn", 1))
	s.want("day_usd warn") // of a day that was not looked at while it lasted
	for range 2 {
		s.now = now
		s.send(false, used("day_usd", "reached", 0), used("day_usd", "warn", 1))
		s.now = s.now.AddDate(0, 0, -1)
		s.send(false, used("day_usd", "warn", 1))
	}
	s.want()
}

func TestRefusedMessagesComeAgain(t *testing.T) {
	s := newSender(t)
	down := errors.New("down")
	s.answer = func() error { return down }
	s.send(true, used("day_usd", "warn", 0), used("week_usd", "warn", 0))
	s.want("day_usd warn")
	s.now = now.AddDate(0, 0, 3) // when the day is no longer looked at
	s.send(true, used("day_usd", "", -3))
	s.want("day_usd warn")
	s.answer = func() error { return nil }
	s.send(false, used("day_usd", "", -3), used("week_usd", "warn", 0))
	s.send(false, used("day_usd", "", -3), used("week_usd", "warn", 0))
	s.want("day_usd warn", "week_usd warn")
	for id, n := range s.ids {
		if id == "" || n != map[bool]int{true: 3, false: 1}[n > 1] {
			t.Errorf("id %q came %d times", id, n)
		}
	}
}

func TestBudgetThatIsGoneIsNotSent(t *testing.T) {
	s := newSender(t)
	s.answer = func() error { return errors.New("down") }
	s.send(true, used("day_usd", "warn", 0))
	s.want("day_usd warn")
	s.answer = func() error { return nil }
	s.send(false, used("week_usd", "", 0))
	s.want()
	s.send(false, used("day_usd", "warn", 0))
	s.want("day_usd warn")
}

func TestOldFiguresAreRemoved(t *testing.T) {
	s := newSender(t)
	s.send(false, used("day_usd", "warn", 0))
	s.now = now.AddDate(0, 0, 60)
	s.send(false, used("day_usd", "", -60))
	if len(s.sent.Figures) != 1 {
		t.Errorf("kept are %+v", s.sent.Figures)
	}
}

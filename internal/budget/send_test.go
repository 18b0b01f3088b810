package budget

import (
	"errors"
	"os"
	"path/filepath"
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
	path   string
	now    time.Time
	ids    map[string]int
	posted []string
	answer func() error
}

func newSender(t *testing.T) *sender {
	t.Helper()
	return &sender{t: t, path: filepath.Join(t.TempDir(), "budgets", "sent.json"), now: now, ids: make(map[string]int), answer: func() error { return nil }}
}

func (s *sender) send(left bool, figures ...Figure) {
	s.t.Helper()
	var refused error
	err := Send(s.t.Context(), s.path, figures, s.now, func(f Figure) error {
		s.posted = append(s.posted, f.Budget+" "+f.Level)
		s.ids[f.ID]++
		refused = s.answer()
		return refused
	})
	if (err != nil) != left || !errors.Is(err, refused) {
		s.t.Errorf("%v, want one: %v", err, left)
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

// TestKillAfterTheAnswerRepeatsTheMessage ends before the note that it was taken.
func TestKillAfterTheAnswerRepeatsTheMessage(t *testing.T) {
	s := newSender(t)
	before := func() (text []byte) {
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var killed []byte
	s.answer = func() error { killed = before(); return nil }
	s.send(false, used("day_usd", "warn", 0))
	if err := os.WriteFile(s.path, killed, 0o600); err != nil {
		t.Fatal(err)
	}
	s.answer = func() error { return nil }
	s.send(false, used("day_usd", "warn", 0))
	s.send(false, used("day_usd", "warn", 0))
	s.want("day_usd warn", "day_usd warn")
	if len(s.ids) != 1 {
		t.Errorf("ids %v, want one", s.ids)
	}
}

func TestDamagedFileCountsAsMissingAndAnotherKindIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"v":2,"figures":[]}`, `{"v":1,"figures":7}`, "[]"} {
		s := newSender(t)
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.path), 0o700), os.WriteFile(s.path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		s.send(false, used("day_usd", "warn", 0))
		s.send(false, used("day_usd", "warn", 0))
		s.want("day_usd warn")
	}
	s := newSender(t)
	if err := os.MkdirAll(s.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Send(t.Context(), s.path, []Figure{used("day_usd", "warn", 0)}, now, func(Figure) error { t.Error("sent without a note"); return nil }); err == nil {
		t.Error("a folder in its place is no error")
	}
}

func TestOldFiguresAreRemoved(t *testing.T) {
	s := newSender(t)
	s.send(false, used("day_usd", "warn", 0))
	s.now = now.AddDate(0, 0, 60)
	s.send(false, used("day_usd", "", -60))
	text, err := os.ReadFile(s.path)
	if err != nil || len(text) > 300 {
		t.Errorf("%v, the file is %s", err, text)
	}
}

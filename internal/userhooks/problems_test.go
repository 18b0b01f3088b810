package userhooks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAProblemIsLoggedOnceAnHour(t *testing.T) {
	p := Problems{Path: filepath.Join(t.TempDir(), "hooks", "problems.jsonl")}
	at := func(d time.Duration) time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC).Add(d) }
	for _, step := range []struct {
		after time.Duration
		texts []string
		want  []string
	}{
		{0, []string{"a", "b"}, []string{"a", "b"}},
		{time.Minute, []string{"a"}, nil},
		{59 * time.Minute, []string{"a", "c"}, []string{"c"}},
		{61 * time.Minute, []string{"a"}, []string{"a"}},
		{62 * time.Minute, []string{"a"}, nil},
		{63 * time.Minute, nil, nil},
	} {
		if diff := cmp.Diff(step.want, p.Note(at(step.after), step.texts...)); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.after, diff)
		}
	}
	list := p.List()
	if len(list) != 3 || list[2].Text != "a" || list[2].Count != 5 || !list[2].First.Equal(at(0)) || !list[2].Last.Equal(at(62*time.Minute)) {
		t.Errorf("list %+v, want a as the latest, five times", list)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	p := Problems{Path: filepath.Join(t.TempDir(), "problems.jsonl")}
	for i := range maxProblems + 5 {
		p.Note(time.Unix(int64(i), 0), fmt.Sprint(i))
	}
	list := p.List()
	if len(list) != maxProblems || list[0].Text != "5" {
		t.Errorf("%d are kept, the first is %q", len(list), list[0].Text)
	}
}

func TestADamagedListHoldsWhatIsReadable(t *testing.T) {
	p := Problems{Path: filepath.Join(t.TempDir(), "problems.jsonl")}
	if err := os.WriteFile(p.Path, []byte("{\"text\":\"a\"}\ngarbage\n{\"te"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := p.List(); len(list) != 1 || list[0].Text != "a" {
		t.Errorf("list %+v", list)
	}
}

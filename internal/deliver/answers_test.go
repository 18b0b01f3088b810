package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestAnswersAreRecordedByAddress(t *testing.T) {
	dir, at := t.TempDir(), time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	for i, a := range []Answer{
		{Target: "http://a", Tried: at, Taken: at},
		{Target: "http://b", Tried: at.Add(time.Minute), Error: "503"},
		{Target: "http://a", Tried: at.Add(time.Hour), Error: "401"},
	} {
		if err := NoteAnswer(dir, "otlp", a); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	got, err := Answers(dir, "otlp")
	if err != nil {
		t.Fatal(err)
	}
	want := []Answer{
		{Target: "http://a", Tried: at.Add(time.Hour), Taken: at, Error: "401"},
		{Target: "http://b", Tried: at.Add(time.Minute), Error: "503"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, err := Answers(dir, "infinium"); len(got) != 0 || err != nil {
		t.Errorf("another destination: %v, %v", got, err)
	}
	info, err := os.Stat(answersPath(dir, "otlp"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for i := range 2 * maxTargets {
		if err := NoteAnswer(dir, "otlp", Answer{Target: fmt.Sprint(i), Tried: at}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := Answers(dir, "otlp"); len(got) != maxTargets || got[0].Target != fmt.Sprint(2*maxTargets-1) {
		t.Errorf("%d answers, the first of %q", len(got), got[0].Target)
	}
	for _, damaged := range []string{"", "{", `{"v":2,"answers":[{"target":"x"}]}`} {
		if err := os.WriteFile(answersPath(dir, "otlp"), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Answers(dir, "otlp"); len(got) != 0 || err != nil {
			t.Errorf("%q: %v, %v", damaged, got, err)
		}
		if err := NoteAnswer(dir, "otlp", want[0]); err != nil {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// oneAnswer is an exporter that gives one error, or none.
type oneAnswer struct{ err error }

func (a oneAnswer) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return a.err }

func TestEachAnswerIsReported(t *testing.T) {
	refused := errors.New("401 Unauthorized")
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	d := &Deliverer{Answered: func(name string, err error) { got = append(got, fmt.Sprint(name, ": ", err)) }}
	send := func(ctx context.Context, err error) {
		_, _ = d.Send(ctx, &Destination{Name: "otlp", Client: oneAnswer{err}}, message(sample()))
	}
	send(ctx, nil)
	send(ctx, refused)
	cancel()
	send(ctx, context.Canceled) // says nothing of the destination
	if d := cmp.Diff([]string{"otlp: <nil>", "otlp: 401 Unauthorized"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestPauseIsOfAnAccountOrOfAll has two accounts at one address.
func TestPauseIsOfAnAccountOrOfAll(t *testing.T) {
	until := began.Add(time.Hour)
	for _, tt := range []struct {
		everyone     bool
		own, another time.Time
	}{{false, until, time.Time{}}, {true, until, until}} {
		dir := t.TempDir()
		if err := NoteAnswer(dir, "otlp", Answer{Target: "https://a", Account: "1", Tried: began, Until: until, Everyone: tt.everyone}); err != nil {
			t.Fatal(err)
		}
		if err := NoteAnswer(dir, "otlp", Answer{Target: "https://a", Account: "2", Tried: began, Taken: began}); err != nil {
			t.Fatal(err)
		}
		all, err := Answers(dir, "otlp")
		if err != nil || len(all) != 2 {
			t.Fatalf("%v, %v", all, err)
		}
		if own, another := PausedUntil(all, "https://a", "1"), PausedUntil(all, "https://a", "2"); !own.Equal(tt.own) || !another.Equal(tt.another) {
			t.Errorf("everyone %t: until %v and %v, want %v and %v", tt.everyone, own, another, tt.own, tt.another)
		}
		if elsewhere := PausedUntil(all, "https://b", "1"); !elsewhere.IsZero() {
			t.Errorf("at another address until %v", elsewhere)
		}
	}
	if !OfAccount(&Error{Err: errTest, status: 429}) || OfAccount(&Error{Err: errTest, status: 503}) {
		t.Error("want 429 to be of the account and 503 of all")
	}
}

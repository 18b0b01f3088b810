package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// series stores n traces a minute apart, the sessions and outcomes in turn, and
// gives their ids from the oldest to the newest.
func series(t testing.TB, s *Store, n int) []string {
	t.Helper()
	var ids []string
	var all []*tracepb.ResourceSpans
	outcomes := []string{otelmap.OutcomeCompleted, otelmap.OutcomeFailed, otelmap.OutcomeCancelled}
	for i := range n {
		b := newBuild(fmt.Sprint("series ", i))
		from := time.Duration(i) * time.Minute
		b.Add(-1, "invoke_agent cline", from, from+time.Second,
			str(otelmap.KeyOperation, otelmap.OpInvokeAgent),
			str(otelmap.KeyHost, []string{"cline", "claude-code"}[i%2]),
			str(otelmap.KeyConversationID, fmt.Sprint("session ", i%4)),
			str(otelmap.KeyOutcome, outcomes[i%3]),
			str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, fmt.Sprint("task ", i))))
		ids = append(ids, traceID(b))
		all = append(all, b.Messages()...)
	}
	upload(t, s, all)
	return ids
}

func TestList(t *testing.T) {
	s := open(t)
	series(t, s, 30)
	for _, c := range []struct {
		name   string
		filter Filter
		// want are the numbers of the traces.
		want []int
	}{
		{"by default gives the newest twenty", Filter{}, down(29, 10, 1)},
		{"gives as many as asked for", Filter{Limit: 3}, []int{29, 28, 27}},
		{"gives all", Filter{Limit: -1}, down(29, 0, 1)},
		{"chooses by host", Filter{Host: "cline"}, down(28, 0, 2)},
		{"chooses by session", Filter{Session: "session 3"}, down(27, 3, 4)},
		{"chooses by the beginning of a session", Filter{Session: "sess", Limit: 2}, []int{29, 28}},
		{"chooses by end", Filter{Until: at(2 * time.Minute)}, []int{1, 0}},
		{"chooses by outcome", Filter{Outcome: otelmap.OutcomeFailed}, down(28, 1, 3)},
		{"chooses by start", Filter{Since: at(27 * time.Minute)}, []int{29, 28, 27}},
		{"chooses by all at once", Filter{
			Host: "claude-code", Session: "session 1", Outcome: otelmap.OutcomeFailed, Since: at(2 * time.Minute),
		}, []int{25, 13}},
		{"knows no other host", Filter{Host: "clin"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := s.List(t.Context(), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, l := range list {
				var n int
				if _, err := fmt.Sscanf(l.Title, "task %d", &n); err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("traces (-want +got):\n%s", d)
			}
		})
	}
}

func down(from, to, step int) (out []int) {
	for i := from; i >= to; i -= step {
		out = append(out, i)
	}
	return out
}

func TestPruneUsesAnIndex(t *testing.T) {
	if plan := explain(t, open(t), oldTraces, 1, 1); !strings.Contains(plan, "traces_kept") {
		t.Errorf("the plan is %q", plan)
	}
}

func explain(t *testing.T, s *Store, q string, args ...any) string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+q, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "; ")
}

func TestTraceByPrefix(t *testing.T) {
	s := open(t)
	var ids []string
	for i, id := range []string{
		"abcd0000000000000000000000000001", "abcd0000000000000000000000000002",
		"abce0000000000000000000000000003", "00010000000000000000000000000004", "fffff000000000000000000000000005",
	} {
		digits, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		b := newBuild("prefix")
		b.ID = [16]byte(digits)
		b.Root("task", otelmap.OutcomeCompleted, time.Second)
		b.Last().StartTimeUnixNano = otlp.UnixNano(at(time.Duration(i) * time.Minute))
		upload(t, s, b.Messages())
		ids = append(ids, id)
	}
	for _, c := range []struct {
		name, prefix string
		want         string
		err          error
		says         string
	}{
		{name: "nothing means the newest", prefix: "", want: ids[4]},
		{name: "four digits", prefix: "abce", want: ids[2]},
		{name: "an odd number of digits", prefix: "abce000", want: ids[2]},
		{name: "all digits", prefix: ids[1], want: ids[1]},
		{name: "capitals", prefix: "ABCE", want: ids[2]},
		{name: "the last digit", prefix: "ffff", want: ids[4]},
		{name: "the first digits", prefix: "0001", want: ids[3]},
		{name: "two that match", prefix: "abcd", err: ErrAmbiguous, says: "give more digits"},
		{name: "none that matches", prefix: "abcf", err: ErrNotFound, says: "abcf"},
		{name: "three digits", prefix: "abc", says: "at least 4"},
		{name: "a wildcard", prefix: "abc%", says: "hex"},
		{name: "a word", prefix: "latest", says: "hex"},
		{name: "too many digits", prefix: ids[0] + "0", says: "hex"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, err := s.Trace(t.Context(), c.prefix)
			if c.want != "" {
				if err != nil || tr.TraceID != c.want || otlp.Count(tr.ResourceSpans) != 1 {
					t.Fatalf("got %v, %v, want %s", tr, err, c.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, %v, want an error that says %q", tr, err, c.says)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("got error %v, want %v", err, c.err)
			}
		})
	}
}

func TestAmbiguousPrefixNamesTheNewest(t *testing.T) {
	s := open(t)
	for i := range 12 {
		b := newBuild("ambiguous")
		b.ID = [16]byte{0: 0xaa, 1: 0xbb, 15: byte(i)}
		b.Root(fmt.Sprint("task ", i), otelmap.OutcomeCompleted, time.Second)
		b.Last().StartTimeUnixNano = otlp.UnixNano(at(time.Duration(i) * time.Minute))
		upload(t, s, b.Messages())
	}
	_, err := s.Trace(t.Context(), "aabb")
	var amb *AmbiguousError
	if !errors.As(err, &amb) {
		t.Fatalf("got %v", err)
	}
	var titles []string
	for _, c := range amb.Candidates {
		titles = append(titles, c.Title)
	}
	if !amb.More || len(titles) != 10 || titles[0] != "task 11" || titles[9] != "task 2" {
		t.Errorf("candidates are %q, more: %v", titles, amb.More)
	}
}

func TestEmptyStoreHasNoNewest(t *testing.T) {
	if _, err := open(t).Trace(t.Context(), ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %v", err, ErrNotFound)
	}
}

func TestCountIgnoresLimit(t *testing.T) {
	s := open(t)
	series(t, s, 30)
	for name, c := range map[string]struct {
		f    Filter
		want int
	}{
		"all": {Filter{}, 30}, "limited": {Filter{Limit: 3}, 30},
		"one host": {Filter{Host: "cline"}, 15}, "none": {Filter{Session: "another"}, 0},
		"since": {Filter{Since: at(20 * time.Minute), Outcome: otelmap.OutcomeCompleted}, 3},
	} {
		if n, err := s.Count(t.Context(), c.f); n != c.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", name, n, err, c.want)
		}
	}
}

func BenchmarkList10kTraces(b *testing.B) {
	s := open(b)
	series(b, s, 10_000)
	for _, c := range []struct {
		name   string
		filter Filter
		want   int
	}{
		{"newest", Filter{}, DefaultLimit},
		{"session", Filter{Session: "session 3"}, DefaultLimit},
		{"host", Filter{Host: "cline"}, DefaultLimit},
		{"no such host", Filter{Host: "none"}, 0},
		{"all", Filter{Limit: -1}, 10_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				list, err := s.List(b.Context(), c.filter)
				if err != nil || len(list) != c.want {
					b.Fatalf("got %d, %v", len(list), err)
				}
			}
		})
	}
}

// TestPageIsOfOneState has tasks end and be deleted while pages are read: what runs and
// what is stored are distinguished, and the sums are those of the list.
func TestPageIsOfOneState(t *testing.T) {
	s := open(t)
	b := newBuild("the task")
	b.Root("the task", otelmap.OutcomeCompleted, time.Second)
	task := NewTrace(b.Messages())
	stop, ended := make(chan struct{}), make(chan error)
	go func() {
		other, err := Open(context.Background(), s.path)
		for err == nil {
			select {
			case <-stop:
				ended <- other.Close()
				return
			default:
			}
			if err = other.UploadTraces(context.Background(), b.Messages()); err == nil {
				err = other.write(context.Background(), "test", func(tx *sql.Tx) error {
					_, err := tx.ExecContext(context.Background(), `DELETE FROM spans; DELETE FROM traces`)
					return err
				})
			}
		}
		ended <- err
	}()
	seen := [2]bool{}
	for i := 0; i < 2000 && (i < 300 || !seen[0] || !seen[1]); i++ {
		for _, f := range []Filter{{}, {Model: "claude-sonnet"}} {
			page, err := s.Page(t.Context(), f, task)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Running)+len(page.Traces) != 1 || page.Totals.Traces != len(page.Traces) {
				t.Fatalf("%d run, %d are stored, %d in the sums", len(page.Running), len(page.Traces), page.Totals.Traces)
			}
			seen[len(page.Traces)] = true
		}
	}
	close(stop)
	if err := <-ended; err != nil || seen != [2]bool{true, true} {
		t.Errorf("%v, seen running and stored: %v", err, seen)
	}
}

func TestSearchTextHasAFewWords(t *testing.T) {
	s := open(t)
	upload(t, s, clineTrace().Messages())
	for text, want := range map[string]int{
		strings.Repeat("word ", MaxWords): 0, strings.Repeat("word ", MaxWords+1): MaxWords + 1, strings.Repeat("word ", 3000): 3000,
		`"` + strings.Repeat("word ", 100) + `"`: 100, strings.Repeat("語", 200): 200, strings.Repeat("a.b ", 40): 80, strings.Repeat("- ", 500) + "word": 0,
	} {
		for name, ask := range map[string]func() error{
			"list":   func() error { _, err := s.List(t.Context(), Filter{Text: text}); return err },
			"page":   func() error { _, err := s.Page(t.Context(), Filter{Text: text}); return err },
			"count":  func() error { _, err := s.Count(t.Context(), Filter{Text: text}); return err },
			"search": func() error { _, err := s.Search(t.Context(), Filter{Text: text}); return err },
			"hooks":  func() error { _, err := s.HookRuns(t.Context(), Filter{Text: text}); return err },
			"running": func() error {
				_, err := Filter{Text: text}.Selects(NewTrace(clineTrace().Messages()))
				return err
			},
		} {
			err := ask()
			var many WordsError
			if errors.As(err, &many); int(many) != want || (want > 0) != errors.Is(err, ErrText) {
				t.Errorf("%s of %.20q: %v, want an error about %d words", name, text, err, want)
			}
		}
	}
}

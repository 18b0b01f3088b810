package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// onDisk returns what the store's files hold.
func onDisk(t *testing.T, s *Store) string {
	t.Helper()
	var all strings.Builder
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(s.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// lasting counts the words of prose of which a file holds more than the first letters:
// the index keeps only what no other word begins with.
func lasting(disk string, words []string) (n int) {
	wanted := make(map[string]bool, len(words))
	for _, word := range words {
		wanted[word[4:]] = true
	}
	for i := range len(disk) - 7 {
		if wanted[disk[i:i+8]] {
			n++
			delete(wanted, disk[i:i+8])
		}
	}
	return n
}

// prose makes a text of words that hardly anything else has.
func prose(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		for range 12 {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// TestIndexReadsEveryText compares the texts of skimmed spans with those of decoded
// ones: words that the index has by one of them could not be removed by the other.
func TestIndexReadsEveryText(t *testing.T) {
	long := strings.Repeat("a long text ", 100)
	every := step.Keys(textParts...)
	var spanAttrs, eventAttrs []*commonpb.KeyValue
	for _, key := range every {
		text := "span " + key + long
		if strings.HasSuffix(key, ".messages") {
			text = otelmap.AnswerMessages(text, "stop")
		}
		spanAttrs = append(spanAttrs, otlp.String(key, text), otlp.Int("count", 3))
		eventAttrs = append(eventAttrs, otlp.String(key, `{"event":"`+key+`"}`))
	}
	for name, span := range map[string]*tracepb.Span{
		"every text": {
			Name: "execute_tool bash", Attributes: spanAttrs, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1 " + long},
			Events: []*tracepb.Span_Event{{Name: "hook", Attributes: eventAttrs}, {Name: "exception", Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyExceptionMessage, "exit code 1 "+long)}}},
		},
		"numbers": {Name: "n", Attributes: []*commonpb.KeyValue{otlp.Int(otelmap.KeyInputMessages, 1), otlp.Strings(otelmap.KeyText, []string{"x"}), otlp.String(otelmap.KeyText, "second")}},
		"empty":   {},
	} {
		message, err := proto.Marshal(span)
		if err != nil {
			t.Fatal(err)
		}
		skim := step.NewSkimmer(textParts...)
		for range 2 { // The second time it has what the first left.
			got, err := skim.Span(message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(textsOf(span), textsOf(got)); diff != "" {
				t.Errorf("%s (-decoded +skimmed):\n%s", name, diff)
			}
		}
	}
}

// TestRemovedWordsAreGoneFromTheDisk removes a trace among many in each way and
// looks for its words, of which the index keeps only what no other word begins
// with.
func TestRemovedWordsAreGoneFromTheDisk(t *testing.T) {
	for name, remove := range map[string]func(s *Store, id string) error{
		"prune": func(s *Store, _ string) error { _, err := s.Prune(t.Context(), at(-time.Hour)); return err },
		"delete": func(s *Store, id string) error {
			_, err := s.Delete(t.Context(), []string{id})
			return err
		},
		"limit": func(s *Store, _ string) error {
			size, err := s.used(t.Context())
			if err == nil {
				_, err = s.Limit(t.Context(), size-1)
			}
			return err
		},
		"change": func(s *Store, _ string) error {
			b := newBuild("to go")
			b.Root("another task", otelmap.OutcomeCompleted, time.Second)
			err := s.UploadTraces(t.Context(), b.Messages())
			return errors.Join(err, s.shrink(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
			s := open(t)
			secret := prose(r, 200)
			old := newBuild("to go")
			old.Root(secret, otelmap.OutcomeCompleted, time.Second)
			old.Last().StartTimeUnixNano, old.Last().EndTimeUnixNano = nano(-3*time.Hour), nano(-2*time.Hour)
			s.Now = func() time.Time { return at(-2 * time.Hour) }
			upload(t, s, old.Messages())
			s.Now = func() time.Time { return t0 }
			var all []*tracepb.ResourceSpans
			for i := range 300 {
				b := newBuild(fmt.Sprint("stays ", i))
				b.Root(prose(r, 100), otelmap.OutcomeCompleted, time.Second)
				all = append(all, b.Messages()...)
			}
			upload(t, s, all)
			if left, err := s.Index(t.Context(), 0); left != 0 || err != nil {
				t.Fatal(left, err)
			}
			words := strings.Fields(secret)
			if hits, err := s.Search(t.Context(), Filter{Text: words[7]}); len(hits) != 1 || err != nil {
				t.Fatalf("%d hits before, %v", len(hits), err)
			}
			if lasting(onDisk(t, s), words) == 0 {
				t.Fatal("the words are not where the test looks")
			}
			if err := remove(s, traceID(old)); err != nil {
				t.Fatal(err)
			}
			if left := lasting(onDisk(t, s), words); left > 0 {
				t.Errorf("%d words are still in the file", left)
			}
			if hits, err := s.Search(t.Context(), Filter{Text: words[7]}); len(hits) != 0 || err != nil {
				t.Errorf("%d hits afterwards, %v", len(hits), err)
			}
			if list, err := s.List(t.Context(), Filter{Limit: -1}); len(list) < 300-pruneBatch || err != nil {
				t.Errorf("%d traces are left, %v", len(list), err)
			}
			if _, err := s.db.ExecContext(t.Context(), `INSERT INTO words (words) VALUES ('integrity-check')`); err != nil {
				t.Errorf("index: %v", err)
			}
		})
	}
}

// TestManyRemovedWordsAreGoneFromTheDisk removes so many spans that their words are
// noted first.
func TestManyRemovedWordsAreGoneFromTheDisk(t *testing.T) {
	for _, c := range []struct {
		name  string
		stays int
		f     func(s *Store, gone []*build) error
	}{
		{"delete some", 300, func(s *Store, gone []*build) error { return deleteBuilds(s, gone) }},
		{"delete nearly all", 1, func(s *Store, gone []*build) error { return deleteBuilds(s, gone) }},
		{"delete all", 0, func(s *Store, gone []*build) error { return deleteBuilds(s, gone) }},
		{"change", 300, func(s *Store, gone []*build) error {
			var all []*tracepb.ResourceSpans
			for _, b := range gone {
				other := *b
				other.Spans = nil
				other.Root("another task", otelmap.OutcomeCompleted, time.Second)
				all = append(all, other.Messages()...)
			}
			err := s.UploadTraces(context.Background(), all)
			if err == nil {
				_, err = s.Index(context.Background(), 0)
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
			s := open(t)
			var gone []*build
			var secrets, kept string
			const long = 40 // words of a text
			put := func(name string, n int) {
				var all []*tracepb.ResourceSpans
				defer func() { upload(t, s, all) }()
				for i := range n {
					b, text := newBuild(fmt.Sprint(name, i)), prose(r, long)
					b.Root(text, otelmap.OutcomeCompleted, time.Second)
					all = append(all, b.Messages()...)
					if name == "stays" {
						kept = text
					} else {
						gone, secrets = append(gone, b), secrets+text
					}
				}
			}
			put("stays", c.stays)
			put("goes", 3*fewSpans)
			if _, err := s.Index(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if err := c.f(s, gone); err != nil {
				t.Fatal(err)
			}
			// When SQLite spreads the rows of a full page over its neighbours it leaves bytes
			// of moved rows in the unused part, secure_delete or not: the ends of a few texts.
			if left := lasting(onDisk(t, s), strings.Fields(secrets)); left > 2*long {
				t.Errorf("%d words are still in the file", left)
			}
			if word, _, _ := strings.Cut(kept, " "); word != "" {
				if hits, err := s.Search(t.Context(), Filter{Text: word}); len(hits) != 1 || err != nil {
					t.Errorf("a word that stays is found %d times, %v", len(hits), err)
				}
			}
			if n, err := number(t.Context(), s.db, hasNotes); n != 0 || err != nil {
				t.Errorf("the index still notes removals: %v", err)
			}
			if _, err := s.db.ExecContext(t.Context(), `INSERT INTO words (words) VALUES ('integrity-check')`); err != nil {
				t.Errorf("index: %v", err)
			}
		})
	}
}

func deleteBuilds(s *Store, gone []*build) error {
	var ids []string
	for _, b := range gone {
		ids = append(ids, traceID(b))
	}
	_, err := s.Delete(context.Background(), ids)
	return err
}

// A page that is closed cancels its search, wherever that is.
func TestCancelledIndexLeavesNoLock(t *testing.T) {
	s := open(t)
	b := newBuild("large")
	b.Root("task", otelmap.OutcomeCompleted, time.Second)
	for i := range indexBatch {
		b.Tool(1, "Read", fmt.Sprintf(`{"path":"file%dx"}`, i), 0, time.Second)
	}
	upload(t, s, b.Messages())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.write(ctx, "test", func(tx *sql.Tx) error {
			p, first := &prepared{on: tx}, true
			return eachSpan(context.WithoutCancel(ctx), p, func(id int64, _ *tracepb.Span) error {
				if first {
					first = false
					cancel()
					for range 1000 { // until database/sql has seen it, if it looks
						runtime.Gosched()
					}
				}
				_, err := p.ExecContext(context.WithoutCancel(ctx), `UPDATE traces SET waiting = 1 WHERE id = ?`, id)
				return err
			}, `id > 0`)
		})
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v, want that it was cancelled", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a cancelled transaction waits for itself")
	}
	upload(t, s, clineTrace().Messages())
}

func TestIndexAddsWhatWaits(t *testing.T) {
	s := open(t)
	b := newBuild("large")
	b.Root("task", otelmap.OutcomeCompleted, time.Second)
	for i := range indexBatch + 10 {
		b.Tool(1, "Read", fmt.Sprintf(`{"path":"file%dx"}`, i), 0, time.Second)
	}
	upload(t, s, b.Messages())
	upload(t, s, clineTrace().Messages())
	if left, err := s.Index(t.Context(), 1); err != nil || left == 0 {
		t.Errorf("%d left, %v, want some after the shortest time", left, err)
	}
	if left, err := s.Index(t.Context(), 0); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
	for _, c := range []struct {
		text string
		want int
	}{{fmt.Sprintf("file%dx", indexBatch+9), 1}, {"file5x", 1}, {"npm", 2}, {"read", indexBatch + 11}} {
		if hits, err := s.Search(t.Context(), Filter{Text: c.text, Limit: -1}); len(hits) != c.want || err != nil {
			t.Errorf("%q: %d hits, %v, want %d", c.text, len(hits), err, c.want)
		}
	}
	var docs int
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM words WHERE words MATCH 'task'`).Scan(&docs); err != nil || docs != 1 {
		t.Errorf("the root is in the index %d times, %v", docs, err)
	}
}

func TestSearchNamesWhatIsNotIndexed(t *testing.T) {
	s := open(t)
	upload(t, s, clineTrace().Messages())
	// Another process holds the lock.
	other := openAt(t, s.path)
	tx, err := other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(tx)
	if _, err := s.db.ExecContext(t.Context(), `PRAGMA busy_timeout = 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Search(t.Context(), Filter{Text: "health"}); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("got %v, want an error that names the lock", err)
	}
}

func FuzzSearch(f *testing.F) {
	for _, text := range []string{`"`, `a"b`, "NEAR(a b)", "a*", "-a", "a AND", "日本", "\x00a", "\xff", "é", "﷽", "ß"} {
		f.Add(text)
	}
	s, err := Open(f.Context(), f.TempDir()+"/traces.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	upload(f, s, clineTrace().Messages())
	f.Fuzz(func(t *testing.T, text string) {
		b := newBuild("fuzz")
		b.Root(text, otelmap.OutcomeCompleted, time.Second)
		upload(t, s, b.Messages())
		hits, err := s.Search(t.Context(), Filter{Trace: traceID(b), Text: `"` + strings.ReplaceAll(text, `"`, " ") + `"`})
		if errors.Is(err, ErrText) {
			return
		}
		if err != nil || len(hits) != 1 {
			t.Errorf("%q is found %d times, %v", text, len(hits), err)
		}
		if _, err := s.Search(t.Context(), Filter{Text: text}); err != nil && !errors.Is(err, ErrText) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

package fault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// tornRows damage the logs of recorded sessions, to which a later run is added.
// The long form leaves out no place.
var tornRows = []proof.Row{
	{
		Name:  "a log that breaks off anywhere and continues with a later run",
		Rule:  "the event at the break is lost at most; the others are delivered, and so is the later run",
		Short: 400, Long: 1,
		Run: func(t *testing.T, r *proof.Result) { damageLogs(t, r, 1, tear) },
	},
	{
		Name:  "any single bit of a log flipped",
		Rule:  "one event is lost at most, counted, and its bytes are in the quarantine; all others are delivered",
		Short: 800, Long: 1,
		Run: func(t *testing.T, r *proof.Result) { damageLogs(t, r, 8, flip) },
	},
	{
		Name:  "a flipped bit, seen by hookspan flush and hookspan doctor",
		Rule:  "the rest and the other sessions are delivered, and doctor reports the place",
		Short: 6, Long: 100,
		Run: flipAndAsk,
	},
}

// soundLog is a log as hooks wrote it.
type soundLog struct {
	key   spool.Key
	bytes []byte
	// size is that of the recorded session; a later run follows.
	size    int
	records []*spool.Record
	// spans are what a delivery gives without the record of that number, or with
	// all for -1.
	mu    sync.Mutex
	spans map[int]map[string]string
}

// soundLogs reads the logs of testdata and adds a run to each.
func soundLogs(t *testing.T) []*soundLog {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.CopyFS(dir, os.DirFS(logsDir)); err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	var all []*soundLog
	for _, k := range keys {
		l, err := spooltest.Read(dir, k)
		if err != nil || len(l.Records) == 0 || len(l.Damage) > 0 || l.Torn {
			t.Fatalf("log of %s: %v, %+v", k, err, l)
		}
		s := &soundLog{key: k, size: int(l.Records[len(l.Records)-1].End), spans: make(map[int]map[string]string)}
		for _, rec := range laterRecords(k.Host, l.Records[0].Session) {
			if err := sp.Append(rec); err != nil {
				t.Fatal(err)
			}
		}
		if l, err = spooltest.Read(dir, k); err != nil {
			t.Fatal(err)
		}
		s.records = l.Records
		if s.bytes, err = os.ReadFile(filepath.Join(dir, k.Host, k.Name, "events.json-seq")); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// tornNow is after all that is in the logs.
var tornNow = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func laterRecords(host, session string) (out []*spool.Record) {
	for i, e := range laterRun(host, session, 0, 10, tornNow.Add(-2*time.Hour)) {
		out = append(out, &spool.Record{
			Host: host, Session: session, Event: e.Name, Payload: e.Payload, Cwd: "/home/dev/project",
			At: tornNow.Add(-2*time.Hour + time.Duration(i)*time.Second),
		})
	}
	return out
}

// damage is one way to damage a log: the damaged log, and the bytes of the sound
// one that were in the way.
type damage func(s *soundLog, place int) (log []byte, from, to int)

func tear(s *soundLog, place int) (log []byte, from, to int) {
	return append(slices.Clone(s.bytes[:place]), s.bytes[s.size:]...), place, s.size
}

func flip(s *soundLog, place int) (log []byte, from, to int) {
	log = slices.Clone(s.bytes)
	log[place/8] ^= 1 << (place % 8)
	return log, place / 8, place/8 + 1
}

// damageLogs damages the logs at as many places as there are per byte, or in the
// short form at some.
func damageLogs(t *testing.T, r *proof.Result, perByte int, do damage) {
	logs := soundLogs(t)
	type job struct {
		s     *soundLog
		place int
	}
	var jobs []job
	for _, s := range logs {
		for place := range s.size * perByte {
			jobs = append(jobs, job{s, place})
		}
	}
	if !proof.Soak() {
		rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // A repeatable draw.
		rng.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		jobs = jobs[:r.N]
	}
	scratch := scratchDir(t)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for n := range workers {
		wg.Go(func() {
			for i := n; i < len(jobs); i += workers {
				j := jobs[i]
				log, from, to := do(j.s, j.place)
				dir := filepath.Join(scratch, fmt.Sprint(n))
				if problem := examineLog(t.Context(), dir, j.s, log, from, to); problem != "" {
					r.Break("%s, place %d of %d: %s", j.s.key, j.place, j.s.size*perByte, problem)
				}
				r.Trial(1)
			}
		})
	}
	wg.Wait()
	r.Note("%d logs, %d bytes", len(logs), len(jobs)/perByte)
}

// scratchDir is a folder in which a sync costs nothing, where there is one.
func scratchDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "hookspan-fault-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// examineLog reads and delivers a damaged log in which the bytes of the sound one
// from one offset to another were touched, and says what is wrong.
func examineLog(ctx context.Context, dir string, s *soundLog, log []byte, from, to int) string {
	folder := filepath.Join(dir, s.key.Host, s.key.Name)
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	got := taker{make(map[string]string), make(map[string]string)}
	if err == nil && len(log) < len(s.bytes) {
		if problem := s.examineTorn(ctx, dir, folder, from, got); problem != "" {
			return problem
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "events.json-seq"), log, 0o600)
	}
	if err != nil {
		return err.Error()
	}
	l, err := spooltest.Read(dir, s.key)
	if err != nil {
		return fmt.Sprintf("read: %v", err)
	}
	lost, problem := s.lost(l.Records)
	if problem != "" {
		return problem
	}
	for _, i := range lost {
		if rec := s.records[i]; int(rec.End) <= from || int(rec.Offset) >= to {
			return fmt.Sprintf("the sound event %d is lost", i)
		}
	}
	// A torn log loses all that is behind the break; of those only the first was
	// begun.
	begun := lost
	if len(log) == len(s.bytes) {
		if len(lost) > 1 {
			return fmt.Sprintf("events %v are lost by one bit", lost)
		}
	} else if len(lost) > 0 && int(s.records[lost[0]].Offset) >= from {
		begun = nil
	}
	if len(begun) > 0 && len(l.Damage)+l.Unknown == 0 {
		return fmt.Sprintf("event %d is lost and nothing is counted", begun[0])
	}
	if err := deliverLog(ctx, dir, got); err != nil {
		return fmt.Sprintf("delivery: %v", err)
	}
	if want := s.without(lost); !maps.Equal(got.spans, want) {
		return fmt.Sprintf("without the events %v %d spans are delivered, want %d, or others", lost, len(got.spans), len(want))
	}
	if says := slices.Sorted(maps.Values(got.evidence)); len(begun) > 0 && len(says) > 0 && !slices.Contains(says, otelmap.EvidencePartial) {
		return fmt.Sprintf("event %d is lost and the traces say %q of their evidence", begun[0], says)
	}
	return quarantined(folder, log, l.Damage)
}

// examineTorn reads and delivers the log as it is before the later run. A record
// that lacks nothing but its line feed still becomes one with the next, and what
// is not settled is left out.
func (s *soundLog) examineTorn(ctx context.Context, dir, folder string, end int, got taker) string {
	if end == 0 || slices.ContainsFunc(s.records, func(r *spool.Record) bool { return int(r.End) == end+1 }) {
		return ""
	}
	if err := os.WriteFile(filepath.Join(folder, "events.json-seq"), s.bytes[:end], 0o600); err != nil {
		return err.Error()
	}
	l, err := spooltest.Read(dir, s.key)
	if err != nil {
		return fmt.Sprintf("read: %v", err)
	}
	lost, problem := s.lost(l.Records)
	if problem != "" {
		return problem
	}
	for _, i := range lost {
		if int(s.records[i].End) <= end {
			return fmt.Sprintf("the whole event %d is not read before another follows", i)
		}
	}
	if whole := slices.ContainsFunc(s.records, func(r *spool.Record) bool { return int(r.End) == end }); whole == l.Torn || len(l.Damage) > 0 {
		return fmt.Sprintf("torn %v, damage %v before another event follows", l.Torn, l.Damage)
	}
	if err := deliverLog(ctx, dir, got); err != nil {
		return fmt.Sprintf("delivery before another event follows: %v", err)
	}
	return ""
}

// lost compares what is read with the sound log, and returns the numbers of what
// is missing.
func (s *soundLog) lost(read []*spool.Record) (lost []int, problem string) {
	next := 0
	for i, rec := range s.records {
		if next < len(read) && same(read[next], rec) {
			next++
			continue
		}
		lost = append(lost, i)
	}
	if next < len(read) {
		return nil, fmt.Sprintf("an event is read that nobody stored: %.300s", read[next].Payload)
	}
	return lost, ""
}

func same(x, y *spool.Record) bool {
	a, b := *x, *y
	a.Offset, a.End, b.Offset, b.End = 0, 0, 0, 0
	return reflect.DeepEqual(a, b)
}

// without are the spans of the sound log without those events.
func (s *soundLog) without(lost []int) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := -1
	if len(lost) > 0 {
		key = lost[0]<<16 + len(lost)
	}
	if s.spans[key] == nil {
		var left []*spool.Record
		for i, rec := range s.records {
			if !slices.Contains(lost, i) {
				left = append(left, rec)
			}
		}
		s.spans[key] = make(map[string]string)
		for _, run := range runsOf(s.key.Host, left, tornNow) {
			for _, sp := range spansOf(run) {
				s.spans[key][spanID(sp)] = told(sp)
			}
		}
	}
	return s.spans[key]
}

// told returns the content of a span as text, without what a damaged log makes it say of
// its evidence.
func told(s *tracepb.Span) string {
	s = proto.CloneOf(s)
	s.Attributes = slices.DeleteFunc(s.Attributes, func(kv *commonpb.KeyValue) bool {
		return kv.GetKey() == otelmap.KeyEvidence || kv.GetKey() == otelmap.KeyEvidenceMissing
	})
	return s.String()
}

// taker is a destination that keeps what it gets: the spans' content, and what each trace
// says of its evidence.
type taker struct{ spans, evidence map[string]string }

func (k taker) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	for s := range otlp.Spans(spans) {
		k.spans[spanID(s)] = told(s)
		if says := otlp.Text(s.GetAttributes(), otelmap.KeyEvidence); says != "" {
			k.evidence[spanID(s)] = says
		}
	}
	return nil
}

// deliverLog delivers the spool in dir.
func deliverLog(ctx context.Context, dir string, got taker) error {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return err
	}
	d := deliverer(sp, tornNow, deliver.Destination{Name: "file", Client: got})
	results, err := d.Run(ctx, deliver.Pass{Force: true})
	if len(results) == 1 && len(results[0].Errors) > 0 {
		err = errors.Join(err, fmt.Errorf("%v", results[0].Errors))
	}
	return errors.Join(err, sp.Close())
}

// quarantined looks for a copy of each damaged stretch.
func quarantined(folder string, log []byte, damage []spool.Damage) string {
	entries, err := os.ReadDir(filepath.Join(folder, "quarantine"))
	if err != nil && len(damage) > 0 {
		return err.Error()
	}
	if len(entries) != len(damage) {
		return fmt.Sprintf("%d copies of %d damaged stretches", len(entries), len(damage))
	}
	for i, d := range damage {
		b, err := os.ReadFile(filepath.Join(folder, "quarantine", entries[i].Name()))
		if err != nil || !bytes.Equal(b, log[d.Offset:d.Offset+d.Length]) {
			return fmt.Sprintf("the copy %s is not the damage at %d: %v", entries[i].Name(), d.Offset, err)
		}
	}
	return ""
}

// flipAndAsk flips a bit in one of several sessions and asks the real program.
func flipAndAsk(t *testing.T, r *proof.Result) {
	logs := soundLogs(t)
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // A repeatable draw.
	for range r.N {
		home := t.TempDir()
		writeSettings(t, home)
		hit := rng.IntN(len(logs))
		want := make(map[string]bool)
		var found spooltest.Log
		for i, s := range logs {
			log := s.bytes
			if i == hit {
				log, _, _ = flip(s, rng.IntN(s.size*8))
			}
			dir := filepath.Join(home, powerSpool)
			folder := filepath.Join(dir, s.key.Host, s.key.Name)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "events.json-seq"), log, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := spooltest.Read(dir, s.key)
			if err != nil {
				t.Fatal(err)
			}
			lost, problem := s.lost(l.Records)
			if problem != "" || len(lost) > 1 {
				r.Break("%s: %s, lost %v", s.key, problem, lost)
			}
			for id := range s.without(lost) {
				want[id] = true
			}
			if i == hit {
				found = l
			}
		}
		r.Trial(1)
		if got := takeOver(t, home, true); !slices.Equal(got.Stored, sortedKeys(want)) || !slices.Equal(got.Filed, got.Stored) {
			r.Break("a bit of %s: %d spans are stored and %d in the file, want %d", logs[hit].key, len(got.Stored), len(got.Filed), len(want))
		}
		out, said, _ := runHookspan(t, home, "doctor")
		for what, n := range map[string]int{"damaged place": len(found.Damage), "written by a newer hookspan": found.Unknown} {
			if (n > 0) != strings.Contains(out, what) {
				r.Break("a bit of %s gives %d of %q, doctor says:\n%s%s", logs[hit].key, n, what, out, said)
			}
		}
	}
}

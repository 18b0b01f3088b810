package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// capRows let the spool grow to its limit.
var capRows = []proof.Row{
	{
		Name:  "the spool's limit reached, in drawn sequences of runs, outages and housekeeping",
		Rule:  "the oldest finished sessions go first, delivered ones before others; stored = delivered + waiting + removed, as the log counts them",
		Short: 25, Long: 3_000,
		Run: drawnCaps,
	},
	{
		Name:  "HOOKSPAN_SPOOL_MAX_BYTES reached through the programs",
		Rule:  "the oldest go, the log and the doctor say so with their count, the others are delivered",
		Short: 1,
		Run:   realCap,
	},
}

// numbersGot is a destination that may be down and keeps the tool calls it got.
type numbersGot struct {
	down bool
	got  map[int]bool
}

func (d *numbersGot) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	if d.down {
		return errors.New("down")
	}
	for s := range otlp.Spans(spans) {
		if otlp.ParentID(s) == "" {
			continue
		}
		for _, kv := range s.Attributes {
			if n, ok := numberIn([]byte(kv.Value.GetStringValue())); ok {
				d.got[n] = true
			}
		}
	}
	return nil
}

// capped is a session as the test knows it.
type capped struct {
	key     spool.Key
	events  int
	calls   []int
	last    time.Time
	size    int64
	present bool
}

var removed = regexp.MustCompile(`removed session ([0-9a-f]{32}), last event [^:]+:[^:]+:[^:]+: (\d+) events, \d+ bytes, (delivered|NOT DELIVERED)`)

func drawnCaps(t *testing.T, r *proof.Result) {
	rnd := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // Drawn, and the same each time.
	evicted, lost := 0, 0
	for trial := range r.N {
		e, l := drawnCap(t, r, rnd, trial)
		evicted, lost = evicted+e, lost+l
		r.Trial(1)
	}
	r.Note("%d sessions removed, %d of them undelivered", evicted, lost)
	if evicted == 0 || lost == 0 || lost == evicted {
		r.Break("%d sessions were removed, %d undelivered: the sequences reach too little", evicted, lost)
	}
}

func drawnCap(t *testing.T, r *proof.Result, rnd *rand.Rand, trial int) (evicted, lost int) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	h := newHall(t, dir)
	dst := &numbersGot{got: make(map[int]bool)}
	d := h.deliverer(deliver.Destination{Name: "otlp", Client: dst})
	sessions := make([]*capped, 0, 8)
	gone := make(map[int]bool)
	n := 0
	for range 20 {
		switch op := rnd.IntN(10); {
		case op < 5:
			// A run in a new or a known session.
			a := &agents[rnd.IntN(len(agents))]
			id := fmt.Sprintf("cap-%d", len(sessions))
			s := &capped{key: spool.SessionKey(a.host, id), present: true}
			sessions = append(sessions, s)
			turn := fmt.Sprintf("turn-%d", n)
			h.put(a, a.began, id, turn, n)
			for range 1 + rnd.IntN(8) {
				n++
				h.put(a, "PreToolUse", id, turn, n)
				s.calls = append(s.calls, n)
			}
			n++
			h.put(a, a.ended, id, turn, n)
			s.events = len(s.calls) + 2
			h.stamp(s)
		case op < 7:
			h.advance(time.Duration(rnd.IntN(180)) * time.Minute)
		case op < 8:
			dst.down = !dst.down
		default:
			h.run(d)
			limit := int64(1 + rnd.IntN(12<<10))
			before := len(h.log)
			if err := d.Housekeep(context.Background(), deliver.Limits{MaxBytes: limit}); err != nil {
				r.Break("sequence %d: housekeeping: %v", trial, err)
			}
			e, l := h.checkRemoved(r, trial, sessions, h.log[before:], dst, gone, limit)
			evicted, lost = evicted+e, lost+l
		}
	}
	dst.down = false
	h.advance(time.Hour)
	h.run(d)
	for i := 1; i <= n; i++ {
		for _, s := range sessions {
			for _, c := range s.calls {
				if c == i && dst.got[i] == gone[i] {
					r.Break("sequence %d: tool call %d: delivered %v, removed undelivered %v", trial, i, dst.got[i], gone[i])
				}
			}
		}
	}
	return evicted, lost
}

// stamp gives the log the fake clock's time.
func (h *hall) stamp(s *capped) {
	h.t.Helper()
	name := filepath.Join(h.dir, "spool", s.key.String(), "events.json-seq")
	info, err := os.Stat(name)
	if err == nil {
		s.last, s.size = h.Now(), info.Size()
		err = os.Chtimes(name, s.last, s.last)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// checkRemoved compares the sessions that are gone with what was logged.
func (h *hall) checkRemoved(r *proof.Result, trial int, sessions []*capped, lines []string, dst *numbersGot, gone map[int]bool, limit int64) (evicted, lost int) {
	h.t.Helper()
	said := make(map[string][]string)
	for _, line := range lines {
		if m := removed.FindStringSubmatch(line); m != nil {
			said[m[1]] = m
		}
	}
	var left int64
	var oldestLeft *capped
	var newestGone time.Time
	for _, s := range sessions {
		if !s.present {
			continue
		}
		_, err := os.Stat(filepath.Join(h.dir, "spool", s.key.String(), "events.json-seq"))
		delivered := dst.got[s.calls[0]]
		m := said[s.key.Name]
		switch {
		case err == nil:
			left += s.size
			if m != nil {
				r.Break("sequence %d: session %s is there and said to be removed", trial, s.key)
			}
			if finished := h.Now().Sub(s.last) > 30*time.Minute; finished && !delivered && (oldestLeft == nil || s.last.Before(oldestLeft.last)) {
				oldestLeft = s
			}
			continue
		case m == nil && (!delivered || h.Now().Sub(s.last) <= 24*time.Hour):
			r.Break("sequence %d: session %s was removed silently", trial, s.key)
		case m != nil && (m[2] != strconv.Itoa(s.events) || (m[3] == "delivered") != delivered):
			r.Break("sequence %d: session %s had %d events, delivered %v; the log says %q", trial, s.key, s.events, delivered, m[0])
		}
		s.present = false
		if m == nil {
			continue
		}
		evicted++
		if delivered {
			continue
		}
		lost++
		for _, c := range s.calls {
			gone[c] = true
		}
		if s.last.After(newestGone) {
			newestGone = s.last
		}
	}
	if oldestLeft != nil && oldestLeft.last.Before(newestGone) {
		r.Break("sequence %d: %s of %s was kept and one of %s removed", trial, oldestLeft.key, oldestLeft.last, newestGone)
	}
	if left > limit && oldestLeft != nil {
		r.Break("sequence %d: %d bytes are left of a limit of %d although a finished session could go", trial, left, limit)
	}
	return evicted, lost
}

func realCap(t *testing.T, r *proof.Result) {
	s := newSite(t, r, "HOOKSPAN_SPOOL_MAX_BYTES=1MiB", "HOOKSPAN_IDLE_TIMEOUT=1m", "HOOKSPAN_EXPORTERS=otlp")
	s.OTLP.Close()
	sp, err := spool.Open(s.spoolDir(), spool.Options{})
	s.ok(err)
	defer func() { _ = sp.Close() }()
	a := &agents[0]
	for i := range 6 {
		id := fmt.Sprintf("cap-%d", i)
		at := time.Now().Add(-time.Hour + time.Duration(i)*time.Minute)
		for _, event := range []string{a.began, "PreToolUse", a.ended} {
			s.n++
			payload := append(a.payload(event, id, "turn", s.n), strings.Repeat(" ", 100<<10)...)
			s.ok(sp.Append(&spool.Record{Host: a.host, Session: id, Event: event, At: at, Payload: payload}))
		}
		s.ok(os.Chtimes(filepath.Join(s.spoolDir(), spool.SessionKey(a.host, id).String(), "events.json-seq"), at, at))
	}
	s.flush("limit")
	recs, _, err := s.Salvage()
	s.ok(err)
	// Of 6 times 300 KiB three fit, the newest.
	if got := numbers(recs); len(got) != 3 || got[11] != 1 || got[14] != 1 || got[17] != 1 {
		r.Break("tool calls %v are left, want the newest three: 11, 14 and 17%s", got, s.said())
	}
	log, err := os.ReadFile(s.log())
	s.ok(err)
	if n := len(regexp.MustCompile(`3 events, \d+ bytes, NOT DELIVERED`).FindAll(log, -1)); n != 3 {
		r.Break("the log reports %d removed sessions, want 3:\n%s", n, log)
	}
	if o := s.Call(lab.Call{Program: "hookspan", Args: []string{"doctor"}}); !strings.Contains(o.Out, "spool over its limit: removed session") {
		r.Break("hookspan doctor does not report it:\n%s", o.Out)
	}
}

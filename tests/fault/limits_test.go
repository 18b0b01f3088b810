package fault_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// limitRows take descriptors and file sizes away from the programs.
var limitRows = []proof.Row{
	{
		Name:  "3 to 16 file descriptors, some of the standard ones closed",
		Rule:  "each hook answers neutrally and exits with 0, nothing stored is harmed",
		Short: 14 * 5 * 2,
		Run:   fewDescriptors,
	},
	{
		Name:  "a limit of file size at each byte of a record (hook)",
		Rule:  "each hook answers neutrally and exits with 0; the records before and after are whole",
		Short: 60, Long: 3000,
		Run: fileSizeHook,
	},
	{
		Name:  "a limit of file size during a delivery",
		Rule:  "nothing is lost; a delivery without the limit brings everything to every destination",
		Short: 16, Long: 400,
		Run: fileSizeFlush,
	},
	{
		Name:  "3 to 40 file descriptors during a delivery",
		Rule:  "nothing is lost; a delivery without the limit brings everything to every destination",
		Short: 10, Long: 38,
		Run: fewDescriptorsFlush,
	},
}

// closures are the standard descriptors that a program may start without.
var closures = []string{"", "0", "1", "2", "0,1,2"}

func fewDescriptors(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	stored, least := 0, 0
	for limit := 16; limit >= 3; limit-- {
		for _, closed := range closures {
			for i := range agents {
				a := &agents[i]
				what := fmt.Sprintf("%d descriptors, closed %q", limit, closed)
				c := s.call(a)
				c.Launch = []string{fmt.Sprintf("nofile=%d", limit)}
				if closed != "" {
					c.Launch = append(c.Launch, "close="+closed)
				}
				want := *a
				if closed == "1" || closed == "0,1,2" {
					want.answer = ""
				}
				s.try(what, &want, c)
				s.look(what)
				if closed == "" && s.stored[s.n] == 1 {
					stored, least = stored+1, limit
				}
			}
		}
	}
	s.finish("few descriptors")
	r.Note("events are stored from %d descriptors on", least)
	if stored == 0 {
		r.Break("not one event was stored with 16 descriptors or fewer")
	}
}

// fileSizeHook lets the log grow up to a byte within the next record.
func fileSizeHook(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	// The log is larger than hookspan.log, which the limit holds for too.
	for range 4 {
		for i := range agents {
			s.must("before", &agents[i])
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Drawn, and the same each time.
	torn := 0
	for trial := range r.N {
		a := &agents[trial%len(agents)]
		log := filepath.Join(s.State(), "spool", spool.SessionKey(a.host, s.session).String(), "events.json-seq")
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		// A record here is about 450 bytes.
		limit := info.Size() - 2 + int64(trial/2%500)
		if r.N < 1000 {
			limit = info.Size() - 2 + rnd.Int64N(500)
		}
		what := fmt.Sprintf("log of %d bytes, limit %d", info.Size(), limit)
		c := s.call(a)
		c.Launch = []string{fmt.Sprintf("fsize=%d", limit)}
		s.try(what, a, c)
		if !s.holds(what) {
			torn++
		}
		if trial%10 == 9 {
			s.must(what+", the next", a)
		}
		if trial%50 == 49 {
			s.quiet()
		}
	}
	s.finish("file size")
	r.Note("%d records did not fit", torn)
	if torn == 0 || torn == r.N {
		r.Break("%d of %d records did not fit: the limits are not drawn well", torn, r.N)
	}
}

// backlog stores runs that have ended an hour ago, in new sessions.
func (s *site) backlog() {
	s.t.Helper()
	old := s.session
	s.session = fmt.Sprintf("backlog-%d", s.n)
	s.run()
	s.session = old
}

// run stores a run that has ended an hour ago for each agent, with a few tool
// calls.
func (s *site) run() {
	s.t.Helper()
	sp, err := spool.Open(filepath.Join(s.State(), "spool"), spool.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	for i := range agents {
		a, turn := &agents[i], fmt.Sprintf("turn-%d", s.n)
		put := func(event string) {
			payload := a.payload(event, s.session, turn, s.n)
			rec := &spool.Record{Host: a.host, Session: s.session, Event: event, At: time.Now().Add(-time.Hour), Payload: payload}
			if err := sp.Append(rec); err != nil {
				s.t.Fatal(err)
			}
		}
		put(a.began)
		for range 3 {
			s.n++
			put("PreToolUse")
			s.stored[s.n] = 1
		}
		put(a.ended)
	}
}

// recover delivers with nothing wrong any more.
func (s *site) recover(what string) {
	s.t.Helper()
	for name, res := range s.Flush() {
		if res.Waiting+res.Parked > 0 || len(res.Errors) > 0 {
			s.r.Break("%s, then a delivery: %s: %+v", what, name, res)
		}
	}
}

// flush delivers while something is wrong: it may fail and must say so. It
// returns the exit code.
func (s *site) flush(what string, launch ...string) int {
	s.t.Helper()
	s.r.Trial(1)
	o := s.Call(lab.Call{Program: "hookspan", Args: []string{"flush", "--wait"}, Launch: launch})
	if o.Code != 0 && (o.Code < 0 || o.Out+o.Err == "") {
		s.r.Break("%s: hookspan flush: %s, printed %.300q, said %.2000q; want exit code 0, or another and a reason", what, o.State, o.Out, o.Err)
	}
	return o.Code
}

func fileSizeFlush(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	s.backlog()
	s.recover("first")
	rnd := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // Drawn, and the same each time.
	for trial := range r.N {
		s.backlog()
		// Between nothing and all that the store needs.
		limit := rnd.Int64N(256 << 10)
		if trial%4 == 0 {
			limit = rnd.Int64N(4 << 10)
		}
		what := fmt.Sprintf("trial %d, limit of %d bytes", trial, limit)
		s.flush(what, fmt.Sprintf("fsize=%d", limit))
		s.look(what)
		s.recover(what)
	}
	s.delivered("file size")
}

func fewDescriptorsFlush(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	for trial := range r.N {
		s.backlog()
		limit := 3 + trial*38/r.N
		what := fmt.Sprintf("%d descriptors", limit)
		s.flush(what, fmt.Sprintf("nofile=%d", limit))
		s.look(what)
		s.recover(what)
	}
	s.delivered("few descriptors")
}

package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// diskRows fill the disk, which is a small file system in memory.
var diskRows = []proof.Row{
	{
		Name:  "a disk that is full or nearly so (hook)",
		Rule:  "each hook answers neutrally and exits with 0; earlier events are whole, and so are those once there is room",
		Short: 60, Long: 3000,
		Run: fullDiskHook,
	},
	{
		Name:  "a disk that is full before the first event, of bytes or of files",
		Rule:  "the hook answers neutrally and exits with 0; once there is room events are stored and delivered",
		Short: 2 * (9 + 12) * 2,
		Run:   fullDiskFirst,
	},
	{
		Name:  "a disk that is full or nearly so during a delivery",
		Rule:  "nothing is lost; with room again a delivery brings everything to every destination, the store included",
		Short: 16, Long: 600,
		Run: fullDiskFlush,
	},
	{
		Name:  "a disk without room for another file while a session goes on",
		Rule:  "events are stored; nothing is sent while its delivery cannot be noted, and with room again every span comes once",
		Short: 6, Long: 24,
		Rest: true,
		Run:  fullDiskTurns,
	},
	{
		Name:  "a state folder that is mounted read-only",
		Rule:  "hooks answer neutrally; a delivery fails in words or sends; afterwards all is delivered",
		Short: 12,
		Run:   readOnlyDisk,
	},
}

const page = 4 << 10

// smallDisk makes the user's home a separate file system.
func smallDisk(t *testing.T, r *proof.Result, options string) *site {
	t.Helper()
	if err := lab.Namespace(); err != nil {
		r.Skip("a small file system cannot be mounted: %v", err)
	}
	w := lab.New(t)
	name := filepath.Join(".config", "hookspan", "hookspan.env")
	env, err := os.ReadFile(filepath.Join(w.Home, name))
	if err != nil {
		t.Fatal(err)
	}
	lab.Mount(t, w.Home, options)
	w.Write(name, string(env))
	if err := os.Mkdir(w.Work, 0o700); err != nil {
		t.Fatal(err)
	}
	return &site{World: w, t: t, r: r, session: "site", stored: map[int]int{}}
}

// leave fills the disk up to a number of free pages and returns what frees it.
func (s *site) leave(pages int) (empty func()) {
	s.t.Helper()
	name := filepath.Join(s.Home, "ballast")
	f, err := os.Create(name) //nolint:gosec // The test's own disk.
	if err != nil {
		s.t.Fatal(err)
	}
	var size int64
	for chunk := 64 * page; chunk >= page; {
		n, err := f.Write(make([]byte, chunk))
		size += int64(n)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			chunk /= 2
		case err != nil:
			s.t.Fatal(err)
		}
	}
	if err := errors.Join(f.Truncate(max(0, size-int64(pages)*page)), f.Close()); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			s.t.Fatal(err)
		}
	}
}

func fullDiskHook(t *testing.T, r *proof.Result) {
	s := smallDisk(t, r, "size=16m")
	s.quiet()
	rnd := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // Drawn, and the same each time.
	stored, lost := 0, 0
	const each = 12
	for first := 0; first < r.N; first += each {
		pages := first / each % 4
		empty := s.leave(pages)
		for range each {
			a := &agents[rnd.IntN(len(agents))]
			what := fmt.Sprintf("%d pages left", pages)
			c := s.call(a)
			// Between a tenth of a page and two of them.
			c.Stdin = io.MultiReader(c.Stdin, blanks(rnd.IntN(2*page)))
			s.try(what, a, c)
			if s.holds(what) {
				stored++
			} else {
				lost++
			}
		}
		o := s.Call(lab.Call{Program: "hookspan", Args: []string{"doctor"}})
		if pages == 0 && o.Code != 1 {
			r.Break("hookspan doctor finds nothing wrong with a full disk:\n%s%s", o.Out, o.Err)
		}
		empty()
		s.quiet()
		for i := range agents {
			s.must("with room again", &agents[i])
		}
	}
	s.finish("full disk")
	r.Note("%d events were stored, %d had no room", stored, lost)
	if stored == 0 || lost == 0 {
		r.Break("%d events were stored and %d not: the disk is not full to the right degree", stored, lost)
	}
}

// blanks make a payload longer, which JSON allows at its end.
func blanks(n int) io.Reader { return io.LimitReader(blank{}, int64(n)) }

type blank struct{}

func (blank) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func fullDiskFirst(t *testing.T, r *proof.Result) {
	if err := lab.Namespace(); err != nil {
		r.Skip("a small file system cannot be mounted: %v", err)
	}
	w := lab.New(t)
	var options []string
	for pages := range 9 {
		options = append(options, fmt.Sprintf("size=%d", max(1, pages*page)))
	}
	for files := range 12 {
		options = append(options, fmt.Sprintf("nr_inodes=%d", files+1))
	}
	for _, o := range options {
		for i := range agents {
			lab.Mount(t, w.State(), o)
			s := &site{World: w, t: t, r: r, session: "site", stored: map[int]int{}}
			// It may start a delivery, which finds the disk full as well.
			for range 2 {
				a := &agents[i]
				s.try(o, a, s.call(a))
			}
			if _, err := os.Stat(filepath.Join(w.State(), "spool")); err == nil {
				s.look(o)
			}
			if err := syscall.Mount("tmpfs", w.State(), "tmpfs", syscall.MS_REMOUNT, "size=4m,nr_inodes=1000"); err != nil {
				t.Fatal(err)
			}
			s.quiet()
			s.must(o+", with room again", &agents[i])
			s.recover(o)
			if err := lab.EndDeliveries(w.Home); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Unmount(w.State(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func fullDiskFlush(t *testing.T, r *proof.Result) {
	s := smallDisk(t, r, "size=64m")
	rnd := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // Drawn, and the same each time.
	failed := 0
	for trial := range r.N {
		s.backlog()
		pages := rnd.IntN(128)
		if trial%4 == 0 {
			pages = trial / 4 % 16
		}
		what := fmt.Sprintf("trial %d, %d pages left", trial, pages)
		empty := s.leave(pages)
		if s.flush(what) != 0 {
			failed++
		}
		s.look(what)
		empty()
		s.recover(what)
		if trial%16 == 0 {
			s.delivered(what)
		}
	}
	s.delivered("full disk")
	r.Note("%d deliveries could not be completed at first", failed)
	if failed == 0 || failed == r.N {
		r.Break("%d of %d deliveries failed: the disk is not full to the right degree", failed, r.N)
	}
}

func fullDiskTurns(t *testing.T, r *proof.Result) {
	s := smallDisk(t, r, "size=16m,nr_inodes=300")
	a := &agents[1]
	turn := func(n int) {
		s.quiet()
		for i, event := range []string{a.began, "PreToolUse", a.ended} {
			c := lab.Call{Program: a.program, Args: []string{event}, Stdin: bytes.NewReader(a.payload(event, s.session, fmt.Sprintf("turn-%d", n), n))}
			if err := s.Call(c).Neutral(a.answer); err != nil {
				r.Break("turn %d, event %d: %v", n, i, err)
			}
		}
		s.Settle()
	}
	turn(0)
	var ballast []string
	for {
		name := filepath.Join(s.Home, fmt.Sprintf("ballast-%d", len(ballast)))
		f, err := os.Create(name) //nolint:gosec // The test's own disk.
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		s.ok(err)
		s.ok(f.Close())
		ballast = append(ballast, name)
	}
	for n := range r.N {
		r.Trial(1)
		turn(n + 1)
	}
	spans, _ := received(s.OTLP)
	r.Note("%d of %d spans had come while the disk was full", len(spans), 2*r.N+2)
	s.tells("full disk", "no space left on device")
	for _, name := range ballast {
		s.ok(os.Remove(name))
	}
	s.Flush()
	spans, doubles := received(s.OTLP)
	if len(spans) != 2*r.N+2 || doubles > 0 {
		r.Break("%d of %d spans came, %d copies more", len(spans), 2*r.N+2, doubles)
	}
	if n := len(s.Infinium.Traces()); n != r.N+1 {
		r.Break("Infinium has %d traces of %d turns", n, r.N+1)
	}
}

func readOnlyDisk(t *testing.T, r *proof.Result) {
	s := smallDisk(t, r, "size=16m")
	s.quiet()
	for round := range 3 {
		what := fmt.Sprintf("read-only, round %d", round)
		for i := range agents {
			s.must(what+", before", &agents[i])
		}
		s.backlog()
		if err := lab.ReadOnly(s.Home, true); err != nil {
			t.Fatal(err)
		}
		for i := range agents {
			s.try(what, &agents[i], s.call(&agents[i]))
		}
		s.flush(what)
		s.flush(what)
		s.look(what)
		s.tells(what, "read-only file system")
		if err := lab.ReadOnly(s.Home, false); err != nil {
			t.Fatal(err)
		}
		s.recover(what)
	}
	s.finish("read-only")
}

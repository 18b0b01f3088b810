package hookrun

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const rest = " S 2 3 4 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1 2"
	for name, tc := range map[string]struct {
		text string
		want stat
		ok   bool
	}{
		"a process":            {"1 (sh)" + rest, stat{parent: 2, group: 3, session: 4, start: 77}, true},
		"a name that deceives": {"1 (a) R 9 9 9 (b)" + rest, stat{parent: 2, group: 3, session: 4, start: 77}, true},
		"one that has ended":   {"1 (sh) Z" + rest[2:], stat{parent: 2, group: 3, session: 4, start: 77, dead: true}, true},
		"no name":              {text: "1 sh" + rest},
		"too short":            {text: "1 (sh) S 2 3 4"},
		"no number":            {text: "1 (sh) S x 3 4 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1 2"},
		"no start":             {text: "1 (sh) S 2 3 4 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 x 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := parseStat([]byte(tc.text)); got != tc.want || ok != tc.ok {
				t.Errorf("%+v, %t; want %+v, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestReadStatFindsThisProcess(t *testing.T) {
	s, ok := readStat(os.Getpid())
	if !ok || s.parent != os.Getppid() || s.group != unix.Getpgrp() || s.dead || s.start > ticks() {
		t.Errorf("%+v, %t", s, ok)
	}
	if _, ok := readProcesses()[os.Getpid()]; !ok {
		t.Error("it is not among all processes")
	}
}

// TestHookLeadsASession checks that a hook has its own group and session.
func TestHookLeadsASession(t *testing.T) {
	w := newWorld(t)
	run := w.one(t.Context(), t, shell(`cat /proc/$$/stat; echo $$`), "")
	s, ok := parseStat([]byte(run.Output.Stdout))
	lines := strings.Fields(run.Output.Stdout)
	if !ok || strconv.Itoa(s.session) != lines[len(lines)-1] || s.group != s.session || s.parent != os.Getpid() {
		t.Errorf("%+v of %q; want a session of its own", s, run.Output.Stdout)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (sh) S 2 3 4 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1 2"))
	f.Fuzz(func(_ *testing.T, data []byte) { parseStat(data) })
}

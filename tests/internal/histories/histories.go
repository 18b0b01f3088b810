// Package histories draws sessions as agents report them: the payloads of hooks,
// in the forms and orders that the real programs use, with what goes wrong on
// the way. It promises that each payload is one that a host could send; not that
// the session makes sense.
package histories

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
)

// Dialect is a form of payloads: the three of Cline, and those of other agents.
type Dialect string

// The dialects.
const (
	Classic Dialect = "classic"
	Next    Dialect = "next"
	SDK     Dialect = "sdk"
	Claude  Dialect = "claude"
	Gemini  Dialect = "gemini"
	Qwen    Dialect = "qwen"
)

// Cline reports that the form is one of Cline's.
func (d Dialect) Cline() bool { return d == Classic || d == Next || d == SDK }

// History is a session.
type History struct {
	// Records are in the order of the log.
	Records []hook.Raw
	// Files are what the agent's files hold of the calls: a result of each that was denied,
	// invalid or has ended, and none of one that was interrupted. Each call has a Mark in its
	// input and in its result. Nil for Cline, where the clock was set, and where each call has
	// its own id.
	Files *hook.Transcript
}

// Mark is in the input and the result of one call.
var Mark = regexp.MustCompile(`mark\d+`)

// began is when the sessions begin, by the host's clock.
var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sent is a payload on its way to the log.
type sent struct {
	event, payload string
	// at is the time of the host's clock, true that of a clock that is never set.
	at   time.Time
	true time.Duration
}

// story is a session while it is drawn.
type story struct {
	t       *rapid.T
	dialect Dialect
	now     time.Duration
	// shift is how far the clock was set.
	shift time.Duration
	out   []sent
	// turn, calls and agents count what gets a new name.
	turn, calls, agents int
	// anew reports that the model numbers its calls anew in each answer.
	anew    bool
	results []hook.ToolResult
	set     bool // the clock was set
}

// Draw draws a session. In a third of them the model numbers its calls anew in each answer.
func Draw(t *rapid.T, d Dialect) *History {
	s := &story{t: t, dialect: d}
	s.anew = s.one("ids come again", 3)
	for range s.int("turns", 1, 4) {
		if d.Cline() {
			s.clineTurn()
		} else {
			s.claudeTurn()
		}
		if s.one("clock", 8) {
			// No hook is under way: one that has read the time and not yet stored it
			// would stand between the times.
			s.think(time.Second)
			s.set = true
			s.shift += time.Duration(s.int("set by minutes", -180, 180)) * time.Minute
		}
	}
	h := &History{Records: s.arrive()}
	if !d.Cline() && !s.set && s.anew {
		h.Files = &hook.Transcript{ToolResults: s.results}
	}
	return h
}

// id is the id of a call of an answer, by its place there and its number in the session.
func (s *story) id(place, number int) string {
	if s.anew {
		number = place
	}
	return fmt.Sprintf("call_%d", number)
}

func (s *story) int(what string, from, to int) int { return rapid.IntRange(from, to).Draw(s.t, what) }

// one is true once in n times.
func (s *story) one(what string, n int) bool { return s.int(what, 1, n) == n }

func (s *story) pick(what string, of ...string) string { return rapid.SampledFrom(of).Draw(s.t, what) }

// pause lets time pass, or none.
func (s *story) pause() {
	s.now += rapid.SampledFrom([]time.Duration{
		0, 0, time.Millisecond, 20 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second, 90 * time.Second,
	}).Draw(s.t, "pause")
	if s.one("away", 40) {
		s.now += 2 * time.Hour
	}
}

// think is the time that a model takes to answer, or a person to ask: turns do
// not begin and end in one moment.
func (s *story) think(least time.Duration) { s.now += least }

func (s *story) send(event, payload string) {
	s.out = append(s.out, sent{event, payload, began.Add(s.now + s.shift), s.now})
	s.pause()
}

// arrive gives the payloads in the order in which their hooks store them: hooks
// are late, run twice, or are killed before they have stored anything.
func (s *story) arrive() []hook.Raw {
	type entry struct {
		raw  hook.Raw
		true time.Duration
	}
	var log []entry
	for _, e := range s.out {
		if s.one("lost", 12) {
			continue
		}
		copies := 1
		if s.one("copies", 5) {
			copies = 2
		}
		for range copies {
			late := time.Duration(s.int("late", 0, 3)*s.int("ms", 0, 120)) * time.Millisecond
			if s.anew && strings.Contains(e.event, "Tool") {
				late = 0 // agents wait for the hooks of a call: its order shows which call it is
			}
			log = append(log, entry{hook.Raw{
				Event: e.event, Payload: []byte(e.payload), StoredAt: e.at.Add(late), Cwd: "/home/dev/project",
			}, e.true + late})
		}
	}
	slices.SortStableFunc(log, func(x, y entry) int { return cmp.Compare(x.true, y.true) })
	out := make([]hook.Raw, len(log))
	for i, e := range log {
		out[i] = e.raw
		out[i].Offset = int64(i) * Step
	}
	return out
}

// Step is the distance of two records in the log, in bytes.
const Step = 100

// tool is a tool's name and its parameters.
func (s *story) tool() (name, input string) {
	name = s.pick("tool", "read_file", "run_commands", "Bash")
	return name, fmt.Sprintf(`{"path":%q}`, s.pick("path", "a.go", "b.go", "c d.go"))
}

// batch draws calls that run side by side: their ends come in any order, or some
// not at all. It returns how many there are.
func (s *story) batch(begin func(n int), end func(n int)) (n int) {
	n = s.int("calls", 1, 3)
	order := rapid.Permutation([]int{0, 1, 2}[:n]).Draw(s.t, "order")
	for i := range n {
		if !s.one("no start", 10) {
			begin(i)
		}
	}
	for _, i := range order {
		if !s.one("no end", 8) {
			end(i)
		}
	}
	return n
}

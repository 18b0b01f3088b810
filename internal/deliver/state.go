package deliver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// stateVersion is the version of the delivery file. A file of another version is
// refused, since a wrong position loses spans.
const stateVersion = 1

// State is one destination's position in one session, kept beside the log as
// delivery-<destination>.json.
type State struct {
	Version int    `json:"v"`
	Host    string `json:"host"`
	Session string `json:"session"`
	// Offset is where reading starts; everything before it was delivered.
	Offset int64 `json:"offset"`
	// Check is the log's checksum at Offset: a log that was not synced can lose
	// its end with the power, and grow past Offset again. Empty if it is not known.
	Check string `json:"check,omitempty"`
	// Carry is what the mapping must know about the log before Offset.
	Carry otelmap.Carry `json:"carry"`
	// Start is Carry at the log's start, if it is not the session's: an earlier log was
	// removed when the session had ended.
	Start *otelmap.Carry `json:"start,omitempty"`
	// Done are the ids of the runs behind Offset that the destination has answered
	// for.
	Done map[string]bool `json:"done,omitempty"`
	// Late are runs of whose late events the destination has answered for those up to an offset,
	// by id, while the position is not yet behind them.
	Late map[string]int64 `json:"late,omitempty"`
	// Read is where reading ended when the destination last answered: events behind it
	// are new, also those of runs that are done. Zero if it has not answered.
	Read int64 `json:"read,omitempty"`
	// Index is how much of the index of the runs before Offset is valid.
	Index indexEnd `json:"index,omitzero"`
	// Sent are the spans of runs that the destination has taken a part of, by run.
	Sent map[string]*Sent `json:"sent,omitempty"`
	// Bytes is the largest size of a request since one broke off; zero for that of the
	// destination.
	Bytes int `json:"bytes,omitempty"`
	// Attempts counts the tries since the last success. NextTry is the earliest time
	// of the next one, LastError the error of the last one.
	Attempts  int       `json:"attempts,omitempty"`
	NextTry   time.Time `json:"next_try,omitzero"`
	LastError string    `json:"last_error,omitempty"`
	// Runs and Spans count what was delivered, Rejected the spans of these runs
	// that the destination refused while it took the others.
	Runs     int64 `json:"runs"`
	Spans    int64 `json:"spans"`
	Rejected int64 `json:"rejected,omitempty"`
	// Parked are the runs that were set aside, so that they delay no other run.
	Parked []Parked `json:"parked,omitempty"`
	// Passed and Missed are what write adds to the index: the runs that the position was moved
	// behind, and the late events that were answered for, by run.
	Passed []otelmap.Passed   `json:"-"`
	Missed map[string][]int64 `json:"-"`
}

// indexEnd is the file of an index, its length and the places of its newest line and of its
// newest run.
type indexEnd struct {
	File string `json:"file,omitempty"`
	Size int64  `json:"size,omitempty"`
	Top  int64  `json:"top,omitempty"`
	Last int64  `json:"last,omitempty"`
	// Lost reports that it could not be read or written, and is not used for this log.
	Lost bool `json:"lost,omitempty"`
}

// Place is a position and what the mapping must know about the log before it.
type Place struct {
	Offset int64         `json:"offset"`
	Carry  otelmap.Carry `json:"carry"`
}

// Parked is a run that was set aside. It is mapped from the log again when it is sent.
type Parked struct {
	Ref
	// Late is the offset of the log from which the run's events are late, if the destination
	// has taken it without them.
	Late int64 `json:"late,omitempty"`
	// Joined are the further runs that were sent with it as one.
	Joined []Ref `json:"joined,omitempty"`
	// At is the time of the last refusal, or when it was set aside.
	At    time.Time `json:"at"`
	Spans int       `json:"spans"`
	Error string    `json:"error"`
	// Settings are those that it was recorded under; they say where it may go.
	Settings string `json:"settings,omitempty"`
	// Elsewhere reports that it was not sent, because it was recorded for another place.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Denied reports that the destination refused the sender and not the run, which is sent
	// again when it has taken another one since.
	Denied bool `json:"denied,omitempty"`
	// Age is for how long it had been set aside at the time Counted, in seconds.
	Age     int64     `json:"age,omitempty"`
	Counted time.Time `json:"counted,omitzero"`
	// Attempts counts the tries, and NextTry is the earliest time of the next one. It
	// is zero for a run that the destination rejected for good, such as with a 4xx:
	// only a forced pass sends that again.
	Attempts int       `json:"attempts,omitempty"`
	NextTry  time.Time `json:"next_try,omitzero"`
}

// Owed reports that the destination may still get the run, so that its log must stay.
func (p *Parked) Owed(now time.Time) bool { return p.Elsewhere || p.age(now) < keepParked }

// age is for how long the run has been set aside, without times in which the clock moved by a
// day or more, or back: then it may have been wrong, or be so now.
func (p *Parked) age(now time.Time) time.Duration {
	age := time.Duration(p.Age) * time.Second
	if passed := now.Sub(cmp.Or(p.Counted, p.At)); passed > 0 && passed < maxStep {
		age += passed
	}
	return age
}

// countAge notes the age of what was set aside, and reports whether that must be stored.
func (st *State) countAge(now time.Time) (changed bool) {
	for i := range st.Parked {
		p := &st.Parked[i]
		if passed := now.Sub(p.Counted); passed >= 0 && passed < minStep {
			continue
		}
		p.Age, p.Counted, changed = int64(p.age(now)/time.Second), now, true
	}
	return changed
}

// minStep is how often the age of a run that was set aside is stored, and maxStep what the
// clock may move in between.
const (
	minStep = time.Hour
	maxStep = 24 * time.Hour
)

// parked returns the run that was set aside, by its root or that of one it was joined with, or
// nil.
func (st *State) parked(root string) *Parked {
	i := slices.IndexFunc(st.Parked, func(p Parked) bool {
		return slices.ContainsFunc(p.refs(), func(r Ref) bool { return r.Root == root })
	})
	if i < 0 {
		return nil
	}
	return &st.Parked[i]
}

// Ref names a run.
type Ref struct {
	Trace string `json:"trace"`
	// Root is the run's root span: runs that were started in one context share
	// a trace.
	Root string `json:"root,omitempty"`
	// Run is the id of the first part of the run's turn.
	Run string `json:"run,omitempty"`
}

// destinationNames are the destinations that can have a state. Housekeeping reads it
// also if the settings or the keyring of this process lack the destination.
var destinationNames = []string{"store", "otlp", "infinium", "file"}

func stateFile(destination string) string { return "delivery-" + destination + ".json" }

// ReadState returns a destination's position in a session, or the beginning if it
// has none yet.
func ReadState(s *spool.Session, destination string) (*State, error) {
	st := &State{Version: stateVersion}
	b, err := s.ReadFile(stateFile(destination))
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read delivery state of %q: %w", destination, err)
	}
	if err := json.Unmarshal(b, st); err != nil {
		// The file is replaced atomically, so another program has damaged it. To send
		// spans again under the same ids is safe.
		return &State{Version: stateVersion, LastError: "delivery state was unreadable: " + err.Error()}, nil
	}
	if st.Version != stateVersion {
		return nil, fmt.Errorf("delivery state of %q has version %d, this hookspan knows %d: upgrade hookspan",
			destination, st.Version, stateVersion)
	}
	return st, nil
}

func (st *State) write(s *spool.Session, destination string) error {
	st.writeIndex(s, destination)
	st.Check = ""
	if st.Offset > 0 {
		var err error
		if st.Check, err = s.Check(st.Offset); err != nil && !errors.Is(err, spool.ErrPastEnd) {
			return fmt.Errorf("write delivery state of %q: %w", destination, err)
		}
	}
	b, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encode delivery state of %q: %w", destination, err)
	}
	if err := s.WriteFile(stateFile(destination), b); err != nil {
		return fmt.Errorf("write delivery state of %q: %w", destination, err)
	}
	return nil
}

// writeIndex adds to the index what the position was moved behind. One that cannot be read or
// written is given up: without it the log is read from its start, but an index that lacks runs
// would lose their late events, and a position that is not stored sends everything again.
func (st *State) writeIndex(s *spool.Session, destination string) {
	if len(st.Passed)+len(st.Missed) > 0 && !st.Index.Lost {
		st.Index.File = "runs-" + destination + ".jsonl"
		x := st.index(s)
		last, err := x.note(st, st.Index.Last)
		if err == nil {
			err = x.write(st)
		}
		x.close()
		st.Index.Last = last
		if err != nil {
			st.Index = indexEnd{Lost: true}
		}
	}
	st.Passed, st.Missed = nil, nil
}

// advance moves the position behind the runs that were answered for.
func (st *State) advance(out *pending) {
	done := st.Done
	if slices.ContainsFunc(out.runs[:out.late], func(r prepared) bool { return st.Late[r.ids[0].String()] < r.until }) {
		// A later position would be behind the event that makes it late.
		return
	}
	mark, runs := max(st.Read, st.Offset), st.Carry.Runs-out.carry.Runs
	st.Offset, st.Carry = out.boundary(func(id otelmap.RunID) bool { return done[id.String()] || out.gone[id.String()] })
	if out.builder != nil {
		if passed := out.builder.Passed(st.Offset, st.Carry); len(passed) > runs {
			st.Passed = append(st.Passed, passed[runs:]...)
		}
	}
	for id, offsets := range out.missed {
		for _, at := range offsets {
			if st.Missed == nil {
				st.Missed = make(map[string][]int64)
			}
			if at >= mark {
				st.Missed[id] = append(st.Missed[id], at)
			}
		}
	}
	st.Read, st.Late = max(st.Read, out.size), nil
	if st.Offset >= out.size {
		st.Done = nil
	}
	// A run that was not read is before the position.
	maps.DeleteFunc(st.Done, func(id string, _ bool) bool { return !out.known[id] })
}

// answered notes that the destination has answered for the runs.
func (st *State) answered(runs []prepared) {
	if st.Done == nil {
		st.Done = make(map[string]bool)
	}
	if st.Late == nil {
		st.Late = make(map[string]int64)
	}
	for i := range runs {
		for _, id := range runs[i].ids {
			if runs[i].fresh != nil {
				st.Late[id.String()] = runs[i].until
			} else {
				st.Done[id.String()] = true
			}
		}
	}
}

// follows reports that the log was only appended to since the position was stored.
func (st *State) follows(s *spool.Session, size int64) (bool, error) {
	if size < st.Offset || st.Check == "" {
		return size >= st.Offset, nil
	}
	check, err := s.Check(st.Offset)
	if errors.Is(err, spool.ErrPastEnd) {
		return false, nil
	}
	return check == st.Check, err
}

// restart moves the position to the log's start and keeps what was counted and
// refused.
func (st *State) restart() {
	st.Offset, st.Carry, st.Done, st.Late, st.Read, st.Sent = 0, st.start().Carry, nil, nil, 0, nil
	st.Index, st.Passed, st.Missed = indexEnd{}, nil, nil
	for i := range st.Parked {
		st.Parked[i].Late = 0 // The destination may not have this run of the log.
	}
}

// start is the place where the log begins.
func (st *State) start() Place {
	if st.Start != nil {
		return Place{0, *st.Start}
	}
	return Place{}
}

// begin makes the position that of the start of a later log.
func (st *State) begin() {
	carry := st.Carry
	st.Start, st.Parked = &carry, nil
	st.restart()
}

// failed notes a failed try.
func (st *State) failed(err error, next time.Time) {
	st.Attempts++
	st.NextTry, st.LastError = next, err.Error()
}

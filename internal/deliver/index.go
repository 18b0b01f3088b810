package deliver

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// index finds the runs before a destination's position, and the late events of each, without
// reading the log before it: see FORMAT.md. It is append-only. The state says how long it is;
// an index that cannot be read knows nothing, and then the log is read from its start.
type index struct {
	s    *spool.Session
	name string
	f    *os.File
	// size is the length of what is in the file, and top the place of the newest line.
	size, top int64
	// lost reports that it is not used.
	lost bool
	// added are the lines that are not in the file yet.
	added []byte
	lines map[int64]*indexLine
}

// indexLine is a run, an agent or a late event. Places of other lines are their offsets in the
// index, zero for none.
type indexLine struct {
	// ID is that of the first part of the run's turn, or the key of an agent.
	ID string `json:"id"`
	// Run is the run's id, From and To bound the part of the log to read for it.
	Run  string `json:"run,omitempty"`
	From int64  `json:"from,omitempty"`
	To   int64  `json:"to,omitempty"`
	// Before is the carry at From, without lists. Own are the run's own entries of them.
	Before *otelmap.Carry `json:"before,omitempty"`
	Own    *otelmap.Carry `json:"own,omitempty"`
	// Late is the offset of an event that was stored after its run was delivered.
	Late int64 `json:"late,omitempty"`
	// Of is the ID of an agent's run.
	Of string `json:"of,omitempty"`
	// Same is the line before with this ID, Last the line of the run before.
	Same int64 `json:"same,omitempty"`
	Last int64 `json:"last,omitempty"`
	// Apart are lines before: the newest of which the ID has the first n bits in common with
	// this one, and no more, for each n.
	Apart []int64 `json:"apart,omitempty"`

	key [16]byte
}

// indexHeader is the first line: no other line has the offset 0.
const indexHeader = "{\"v\":1}\n"

// maxIndexLine is the longest line that is read, in bytes.
const maxIndexLine = 1 << 20

var errIndex = errors.New("the index of delivered runs cannot be read")

// index opens the index of the state's destination.
func (st *State) index(s *spool.Session) *index {
	return &index{s: s, name: st.Index.File, size: st.Index.Size, top: st.Index.Top, lost: st.Index.Lost, lines: make(map[int64]*indexLine)}
}

func (x *index) close() {
	if x.f != nil {
		_ = x.f.Close()
	}
}

// line reads the line at a place.
func (x *index) line(at int64) (l *indexLine, err error) {
	if l := x.lines[at]; l != nil {
		return l, nil
	}
	if x.f == nil {
		if x.f, err = x.s.OpenFile(x.name); err != nil {
			return nil, errors.Join(errIndex, err)
		}
	}
	var text []byte
	for n := int64(1 << 10); ; n *= 8 {
		text = make([]byte, n)
		got, err := x.f.ReadAt(text, at)
		if end := bytes.IndexByte(text[:got], '\n'); end >= 0 {
			text = text[:end]
			break
		}
		if err != nil && !errors.Is(err, io.EOF) || int64(got) < n || n > maxIndexLine {
			return nil, fmt.Errorf("%w: no line at %d", errIndex, at)
		}
	}
	l = &indexLine{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("%w: line at %d: %w", errIndex, at, err)
	}
	if l.key, err = indexKey(l.ID); err != nil || slices.ContainsFunc(append(slices.Clone(l.Apart), l.Same, l.Last), func(p int64) bool { return p >= at }) {
		return nil, fmt.Errorf("%w: line at %d", errIndex, at)
	}
	x.lines[at] = l
	return l, nil
}

func indexKey(id string) (key [16]byte, err error) {
	b, err := hex.DecodeString(id)
	if err == nil && len(b) != len(key) {
		err = fmt.Errorf("%q has %d bytes, want %d", id, len(b), len(key))
	}
	copy(key[:], b)
	return key, err
}

// common is the number of the first bits that two ids have in common.
func common(a, b [16]byte) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 8*i + bits.LeadingZeros8(x)
		}
	}
	return 8 * len(a)
}

// find returns the place of the newest line with an id, zero if there is none, and the lines
// from which a new one with this id differs at each bit.
func (x *index) find(id string) (at int64, apart []int64, err error) {
	key, err := indexKey(id)
	if err != nil {
		return 0, nil, err
	}
	if x.lost {
		return 0, nil, errIndex
	}
	for at = x.top; at != 0; {
		l, err := x.line(at)
		if err != nil {
			return 0, nil, err
		}
		n := common(l.key, key)
		if have := len(apart); have < len(l.Apart) {
			apart = append(apart, l.Apart[have:min(n, len(l.Apart))]...)
		}
		if n == 8*len(key) {
			return at, apart, nil
		}
		apart = append(append(apart, make([]int64, n-len(apart))...), at)
		at = 0
		if n < len(l.Apart) {
			at = l.Apart[n]
		}
	}
	return 0, apart, nil
}

// all returns the lines with an id, the oldest first.
func (x *index) all(id string) (lines []*indexLine, err error) {
	at, _, err := x.find(id)
	for at != 0 && err == nil {
		var l *indexLine
		if l, err = x.line(at); err == nil {
			lines, at = append(lines, l), l.Same
		}
	}
	slices.Reverse(lines)
	return lines, err
}

// newest returns the place of the newest line with an id, zero if there is none or it cannot be read.
func (x *index) newest(id string) int64 {
	at, _, _ := x.find(id)
	return at
}

// runBefore returns the id of the run before those of lines, the oldest first; "" if there is none.
func (x *index) runBefore(lines []*indexLine) string {
	i := slices.IndexFunc(lines, func(l *indexLine) bool { return l.Before != nil })
	if i < 0 || lines[i].Last == 0 {
		return ""
	}
	l, err := x.line(lines[i].Last)
	if err != nil || l.ID == lines[i].ID {
		return ""
	}
	return l.ID
}

// add adds a line, which write stores.
func (x *index) add(l *indexLine) (err error) {
	if x.size+int64(len(x.added)) == 0 {
		x.added = append(x.added, indexHeader...)
	}
	if l.Same, l.Apart, err = x.find(l.ID); err != nil {
		return err
	}
	l.key, _ = indexKey(l.ID)
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	x.top = x.size + int64(len(x.added))
	x.lines[x.top] = l
	x.added = append(append(x.added, b...), '\n')
	return nil
}

// write stores the lines that were added, and notes in the state that they are valid.
func (x *index) write(st *State) error {
	if len(x.added) > 0 {
		if err := x.s.AppendFile(x.name, x.size, x.added); err != nil {
			return err
		}
	}
	st.Index.Size, st.Index.Top = x.size+int64(len(x.added)), x.top
	return nil
}

// before returns the carry at the place from which a run's line says to read.
func (x *index) before(l *indexLine) (otelmap.Carry, error) {
	var own []*otelmap.Carry
	for at := l.Last; at != 0 && len(own) < recalled; {
		o, err := x.line(at)
		if err != nil {
			return otelmap.Carry{}, err
		}
		at = o.Last
		if o.From < l.From { // else it overlaps with the run
			own = append(own, o.Own)
		}
	}
	c := *l.Before
	for _, o := range slices.Backward(own) {
		c.Join(o)
	}
	return c, nil
}

// recalled is of how many runs before a run the lists are read, as many as a carry names.
const recalled = 64

// recall returns the lists of a turn's runs, nil if there is none.
func (x *index) recall(turn otelmap.RunID) *otelmap.Carry {
	lines, err := x.all(turn.String())
	if err != nil || len(lines) == 0 {
		return nil
	}
	c := &otelmap.Carry{Recent: []string{turn.String()}}
	for _, l := range lines {
		if l.Own != nil {
			c.Join(l.Own)
		}
	}
	return c
}

// note adds the runs that a state has passed, their agents, and the late events of runs
// before. It returns the line of the newest run.
func (x *index) note(st *State, last int64) (newest int64, err error) {
	for i := range st.Passed {
		p := &st.Passed[i]
		l := &indexLine{
			ID: p.Turn.String(), Run: p.ID.String(), From: p.From, To: p.To, Before: &p.Before, Own: &p.Own, Last: last,
		}
		if err := x.add(l); err != nil {
			return last, err
		}
		last = x.top
		for _, a := range p.Own.Agents {
			if err := x.add(&indexLine{ID: otelmap.AgentKey(st.Host, st.Session, a).String(), Of: l.ID}); err != nil {
				return last, err
			}
		}
	}
	for id, offsets := range st.Missed {
		for _, at := range slices.Compact(slices.Sorted(slices.Values(offsets))) {
			if err := x.add(&indexLine{ID: id, Late: at}); err != nil {
				return last, err
			}
		}
	}
	return last, nil
}

package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

const (
	// MaxRows bounds the rows of a session that are taken in, since memory follows them.
	MaxRows = 1_000_000
	// MaxHead bounds how far what a file says of its session is looked for, in bytes.
	MaxHead = 1 << 20
)

// Row is a row of a file, into which one line after the other is read.
type Row interface {
	// Parse reads a line, of which it may keep parts, and reports whether it is a row.
	Parse(line []byte) bool
	// Time returns when the row was written, zero if it does not say.
	Time() time.Time
	// Opens reports that the row is the prompt that begins a turn.
	Opens() bool
}

// LinesOf returns the lines of files of such rows.
func LinesOf(row Row) *Lines {
	return &Lines{
		Block: LineBlock, Max: MaxLine,
		Time: func(line []byte) time.Time {
			if !row.Parse(line) {
				return time.Time{}
			}
			return row.Time()
		},
		Opens: row.Opens,
	}
}

// Take calls add for each row of a line, of which a damaged one may have several, until it
// returns false. An object of another kind is neither a row nor damaged.
func (t *Damaged) Take(line []byte, row Row, add func() bool) (more bool) {
	more = true
	switch {
	case row.Parse(line):
		t.End()
		return add()
	case rawjson.Members(line) != nil:
		t.End()
	default:
		t.Add(line, func(line []byte) bool {
			found := row.Parse(line)
			more = more && (!found || add())
			return found
		})
	}
	return more
}

// First gives the rows at the beginning of a file to visit until it returns false.
func First(ctx context.Context, file Sized, row Row, visit func() bool) error {
	damaged := Damaged{Max: MaxLine}
	return LinesOf(row).Each(ctx, file, func(line []byte) bool { return damaged.Take(line, row, visit) })
}

// Head is the beginning of a file in which First looks for what it says of its session.
func (s *File) Head() Sized { return io.NewSectionReader(s, 0, min(s.Size(), MaxHead)) }

// Log gathers what the rows of a session's files say. The readers of the single files
// share it.
type Log struct {
	// Moves are the working directories, Folders as AddFolders gathers them.
	Moves   hook.Moves
	Folders []string
	Texts   Texts
	Calls   []hook.Request
	Results []hook.ToolResult
	Asked   map[CallKey]hook.ToolResult // the calls without a result
	Prompts []hook.Prompt
	Agents  []hook.Subagent
	Ends    []hook.TurnEnd
	// Compactions are when the lead agent's conversation was shortened.
	Compactions []time.Time
	// File and Line are the place of the row that is added, in a reading of whole texts.
	File string
	Line int
	// Others visits texts that a reader keeps elsewhere. It may be nil.
	Others func(text, input func(*string))

	// Kinds are those that the reader does not know.
	Kinds Kinds

	rows    int
	path    string // of the file that is read
	seed    maphash.Seed
	known   map[uint64]struct{} // the rows that Again was asked for
	sources []string
	errs    []error
}

// NewLog returns a log that keeps texts of up to maxText bytes.
func NewLog(maxText int) *Log {
	return &Log{Texts: Texts{Max: maxText}, seed: maphash.MakeSeed(), known: make(map[uint64]struct{}), Asked: make(map[CallKey]hook.ToolResult)}
}

// Again reports that the row of an agent with an id and a time was read before. A row without
// an id never was.
func (l *Log) Again(agent, id string, at time.Time) bool {
	if id == "" {
		return false
	}
	row := maphash.Comparable(l.seed, [3]any{agent, id, at.UnixNano()})
	_, again := l.known[row]
	l.known[row] = struct{}{}
	return again
}

// Read has add called for each row of the file at path, as far as q asks for them. head is
// as Lines.File has it.
func (l *Log) Read(ctx context.Context, f *Files, path string, q Query, row Row, head func(file *File, start int64) error, add func()) error {
	return l.ReadLines(path, q, row, add, func(lines *Lines, visit func(line []byte) bool) error {
		return lines.File(ctx, f, path, q, head, visit)
	})
}

// ReadLines is Read for a file of any form, whose lines each gives to visit.
func (l *Log) ReadLines(path string, q Query, row Row, add func(), each func(lines *Lines, visit func(line []byte) bool) error) error {
	l.path = path
	lines, damaged := LinesOf(row), Damaged{Max: MaxLine}
	lines.Done = func() { damaged.End(); lines.Lost(&damaged, nil) }
	var beyond error
	take := func() bool {
		if beyond = l.CountRow(q, path, lines.Row); beyond == nil {
			add()
		}
		return beyond == nil
	}
	err := each(lines, func(line []byte) bool {
		more := damaged.Take(line, row, take)
		lines.Lost(&damaged, line)
		return more
	})
	if beyond != nil {
		beyond = ReadError(path, beyond)
	}
	return l.Note(path, errors.Join(err, beyond))
}

// CountRow counts a row and notes its place. The error is ErrBeyond for one too many.
func (l *Log) CountRow(q Query, path string, line int) error {
	if l.rows++; l.rows > MaxRows {
		return fmt.Errorf("%w: rows beyond the first %d", ErrBeyond, MaxRows)
	}
	if q.Whole != nil {
		l.File, l.Line = path, line
	}
	return nil
}

// Rows is the number of rows so far.
func (l *Log) Rows() int { return l.rows }

// Meet is Kinds.Meet for the file that is read.
func (l *Log) Meet(name string, at time.Time, o rawjson.Object) { l.Kinds.Meet(l.path, name, at, o) }

// Note notes that a file was read, unless err is that it is not there, and returns err.
func (l *Log) Note(path string, err error) error {
	l.errs = append(l.errs, err)
	if !errors.Is(err, ErrNotFound) {
		l.sources = append(l.sources, path)
	}
	return err
}

// Shrink cuts the texts that are kept if they are too many. It is called after each row.
func (l *Log) Shrink() {
	if l.Texts.Over() {
		l.Texts.Shrink(l.eachText)
	}
}

func (l *Log) eachText(text, input func(*string)) {
	for i := range l.Calls {
		text(&l.Calls[i].Text)
	}
	for i := range l.Results {
		text(&l.Results[i].Text)
		input(&l.Results[i].Input)
	}
	for i := range l.Prompts {
		text(&l.Prompts[i].Text)
	}
	for i := range l.Ends {
		text(&l.Ends[i].Result)
	}
	if l.Others != nil {
		l.Others(text, input)
	}
}

// Transcript returns what q asks for of what was gathered: without what ended before its
// time, and requests and subagents by the times of their starts. The error is what could
// not be read.
func (l *Log) Transcript(q Query) (*hook.Transcript, error) {
	t := &hook.Transcript{
		Session: q.Session, Requests: l.Calls, ToolResults: l.Results, Prompts: l.Prompts, Agents: l.Agents, Ends: l.Ends, Compactions: l.Compactions, Sources: l.sources,
		Unread: l.Kinds.Unread(),
	}
	DropBefore(t, q.Since)
	slices.SortStableFunc(t.Requests, func(a, b hook.Request) int { return a.Start.Compare(b.Start) })
	slices.SortStableFunc(t.Agents, func(a, b hook.Subagent) int { return a.Start.Compare(b.Start) })
	return t, errors.Join(l.errs...)
}

// DropBefore leaves out what ended before a time, but for subagents.
func DropBefore(t *hook.Transcript, moment time.Time) {
	if moment.IsZero() {
		return
	}
	t.Requests = slices.DeleteFunc(t.Requests, func(c hook.Request) bool { return !c.End.IsZero() && c.End.Before(moment) })
	t.Prompts = slices.DeleteFunc(t.Prompts, func(p hook.Prompt) bool { return p.At.Before(moment) })
	t.ToolResults = slices.DeleteFunc(t.ToolResults, func(r hook.ToolResult) bool { return cmp.Or(r.At, r.Asked).Before(moment) })
	t.Ends = slices.DeleteFunc(t.Ends, func(e hook.TurnEnd) bool { return e.At.Before(moment) })
	t.Compactions = slices.DeleteFunc(t.Compactions, func(at time.Time) bool { return at.Before(moment) })
}

// SetModel sets the model of a transcript to that of the lead agent's newest request that
// names one.
func SetModel(t *hook.Transcript) {
	for _, c := range slices.Backward(t.Requests) {
		if c.Model != "" && c.Agent == "" {
			t.Provider, t.Model = c.Provider, c.Model
			return
		}
	}
}

// Unanswered returns calls that have no result yet, in their order, and forgets them.
func Unanswered[K comparable](open map[K]hook.ToolResult) []hook.ToolResult {
	calls := slices.SortedFunc(maps.Values(open), func(a, b hook.ToolResult) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	clear(open)
	return calls
}

// TokenCount returns the number of tokens that is the first member with one of the names, 0 if
// there is none or it is nonsense.
func TokenCount(o rawjson.Object, names ...string) int64 {
	n, ok := rawjson.Float(o.Get(names...))
	if !ok {
		return 0
	}
	return Tokens(&n)
}

// Find returns the path of a session's file: Query.Path if it is an absolute path to a
// regular file and own accepts it, else that of the files that copies lists which was
// written last. want names what was looked for in the places.
func Find(ctx context.Context, q Query, own func(path string) bool, copies func() []string, places Folders, want string) (string, error) {
	if filepath.IsAbs(q.Path) && own(q.Path) {
		if _, ok := Stat(q.Session, q.Path); ok {
			return q.Path, nil
		}
	}
	newest, ok := Newest(q.Session, copies())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !ok:
		return "", places.NotFound(q.Session, want)
	}
	return newest.Path, nil
}

// List lists the sessions of which folders have a file. main returns the id and the path,
// from the folder on, of the session that an entry is of, no id for none.
func List(ctx context.Context, dialect string, dirs []string, main func(name string) (id, path string)) (found []Session, err error) {
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			id, path := main(e.Name())
			if s, ok := Stat(id, filepath.Join(dir, path)); ok {
				s.Dialect = dialect
				found = append(found, s)
			}
		}
	}
	return found, nil
}

// WithGone adds the sessions whose own file is gone and of whose subagents there are files in
// folders named after them, which are in one of some folders.
func WithGone(dialect string, found []Session, dirs []string) []Session {
	known := make(map[string]bool, len(found))
	for i := range found {
		known[found[i].ID] = true
	}
	for _, dir := range dirs {
		for _, folder := range Subfolders(dir) {
			id := filepath.Base(folder)
			if known[id] {
				continue
			}
			paths, _ := filepath.Glob(filepath.Join(folder, "*.jsonl")) // the pattern is a good one
			if s, ok := Newest(id, paths); ok {
				s.Dialect, s.Others = dialect, slices.DeleteFunc(paths, func(path string) bool { return path == s.Path })
				found, known[id] = append(found, s), true
			}
		}
	}
	return found
}

// FileGone notes that of the session at path there are only its subagents' files.
func FileGone(path string) hook.Unread {
	return hook.Unread{File: path, Whole: true, Reason: "the session's own file is gone, of which its subagents' are left"}
}

// LastTurn asks for the last turn of a session, whose file is at path. ok is false if
// that is no regular file.
func (q Query) LastTurn(path string) (last Query, ok bool) {
	s, ok := Stat(q.Session, path)
	q.Since, q.Until = s.ModTime, time.Time{}
	return q, ok
}

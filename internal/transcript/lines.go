package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Limits of files of JSON lines.
const (
	// MaxLine bounds one row, in bytes. Rows hold images and whole files, and they
	// stay below this; a longer row is skipped without being held in memory.
	MaxLine = 8 << 20
	// LineBlock is how much of a file is read at once, in bytes.
	LineBlock = 64 << 10
)

const (
	// LineSlack is how far rows may be out of order. Agents write rows of one moment
	// in any order, some milliseconds apart.
	LineSlack = time.Minute
	// EndSlack is how many bytes behind the last row that is wanted may be read.
	EndSlack = 256 << 10
	// sinceProof is how many rows in succession must be older, or later, before
	// the rest of the file is taken to be: single rows keep an old time.
	sinceProof = 8
	// sinceContext bounds how far before them the beginning of the turn is
	// searched.
	sinceContext = 4 << 20
)

// Lines reads files of JSON lines, to which an agent adds a row for all that
// happens, as far as a query asks for it. The functions may keep no line.
type Lines struct {
	// Block is how many bytes are read at once from a file's end, Max the length of
	// the longest row that is read.
	Block, Max int
	// Time returns a row's time, zero for a line that is no row or has none.
	Time func(line []byte) time.Time
	// Opens reports that the row that Time was called for last is the prompt that
	// begins a turn.
	Opens func() bool
	// Row is the number of the line that is visited, from 1 where the reading began.
	Row int
	// Done is called when All has given the last row to visit. It may be nil.
	Done func()

	// files and path are what File reads, waiting how many of the last places that were not
	// read have no time yet. tail reports that the line has no end yet, and may get one.
	files   *Files
	path    string
	waiting int
	tail    bool
}

// maxTorn bounds the places of a reading that are kept.
const maxTorn = 1000

// Lost notes the lines of which d has left something out since the last call; line is the
// one that is visited. One that is still being written is none that was lost.
func (l *Lines) Lost(d *Damaged, line []byte) {
	if d.Left == 0 {
		return
	}
	d.Left = 0
	// A whole row shows that what came before it was none.
	if row := l.Row; rawjson.Members(line) != nil {
		l.Row--
		l.torn("no JSON object")
		l.Row = row
	} else {
		l.torn("no JSON object")
	}
	if l.waiting > 0 && line != nil {
		l.timed(line)
	}
}

func (l *Lines) torn(reason string) {
	if l.files == nil || l.files.unread == nil || l.tail || len(*l.files.unread) == maxTorn {
		return
	}
	*l.files.unread = append(*l.files.unread, hook.Unread{File: l.path, Line: l.Row, Reason: reason})
	l.waiting++
}

// timed gives the places that wait for it the time of the next row.
func (l *Lines) timed(line []byte) {
	at := l.Time(line)
	if at.IsZero() {
		return
	}
	all := *l.files.unread
	for i := len(all) - l.waiting; i < len(all); i++ {
		all[i].At = at
	}
	l.waiting = 0
}

// File gives the rows of a file to visit until it returns false: from the prompt of
// the turn that was under way at the beginning of what q asks for, up to its end. If
// that is not the file's beginning, head is called before with the place; it may be nil.
func (l *Lines) File(ctx context.Context, f *Files, path string, q Query, head func(file *File, start int64) error, visit func(line []byte) bool) error {
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	// Later rows are for the next reading.
	size, err := l.End(ctx, file, file.Size(), q.Until)
	if err != nil {
		return ReadError(path, err)
	}
	// What is read backwards is read forwards again, from where that ended.
	view, settle := file.Half()
	start, beyond := l.Start(ctx, view, size, q.Since)
	settle()
	if beyond != nil && !errors.Is(beyond, ErrBeyond) {
		return ReadError(path, beyond)
	}
	if start > 0 && head != nil {
		if err := head(file, start); err != nil {
			return ReadError(path, err)
		}
	}
	fresh := !hook.Elapsed(f.Now(), file.info.ModTime(), PendingAge)
	err = l.All(ctx, f, path, io.NewSectionReader(file, start, size-start), fresh, visit)
	if err = cmp.Or(err, beyond); err != nil {
		return ReadError(path, err)
	}
	return nil
}

// All is Each for the rows of a session, of the file at path: places that cannot be read
// are noted. fresh reports that the last row may still be being written.
func (l *Lines) All(ctx context.Context, f *Files, path string, rows Sized, fresh bool, visit func(line []byte) bool) error {
	l.files, l.path, l.waiting = f, path, 0
	err := l.each(ctx, rows, fresh, func(line []byte) bool {
		if l.waiting > 0 {
			l.timed(line)
		}
		return visit(line)
	})
	if l.Done != nil {
		l.Done()
	}
	l.files = nil
	return err
}

// Sized is a file, or a section of one.
type Sized interface {
	io.Reader
	Size() int64
}

// lineBuffers keeps what files are read into: many are smaller, and few lines longer.
var lineBuffers = sync.Pool{New: func() any { return new([4 * LineBlock]byte) }}

// Each gives the rows of a file to visit until it returns false.
func (l *Lines) Each(ctx context.Context, file Sized, visit func(line []byte) bool) error {
	return l.each(ctx, file, false, visit)
}

// each is Each for a file that may still be written if fresh is set.
func (l *Lines) each(ctx context.Context, file Sized, fresh bool, visit func(line []byte) bool) error {
	buffer := lineBuffers.Get().(*[4 * LineBlock]byte)
	defer lineBuffers.Put(buffer)
	lines := newLineReader(file, buffer[:], l.Max)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.noteLong(lines)
		l.Row, l.tail = lines.line, fresh && lines.open
		if !visit(lines.Bytes()) {
			return nil
		}
	}
	l.noteLong(lines)
	return lines.Err()
}

// noteLong notes the lines that were too long.
func (l *Lines) noteLong(lines *lineReader) {
	for _, l.Row = range lines.over {
		l.torn(fmt.Sprintf("a row over %d MiB", l.Max>>20))
	}
	lines.over = lines.over[:0]
}

// Before gives the rows of the file before a place to visit, last first, until it
// returns false. It uses up to half of the bytes that may be read; if they do not
// suffice, the error is ErrBeyond.
func (l *Lines) Before(ctx context.Context, file *File, place int64, visit func(line []byte) bool) error {
	view, settle := file.Half()
	defer settle()
	for lines := newBackReader(view, place, l.Block, l.Max); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, at, err := lines.prev()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("backwards from byte %d: %w", place, err)
		}
		if !visit(line) {
			return nil
		}
		place = at
	}
}

// Start returns where to begin reading to see everything since a time: at
// the prompt of the turn that was under way then, so that what belongs together
// is read together. It reads the file from its end and no more of it than that.
// If a limit ends that earlier, the error is ErrBeyond and the place is the row
// that was reached.
func (l *Lines) Start(ctx context.Context, file io.ReaderAt, size int64, since time.Time) (int64, error) {
	if since.IsZero() {
		return 0, nil
	}
	limit := since.Add(-LineSlack)
	lines := newBackReader(file, size, l.Block, l.Max)
	older, proven, reached := 0, int64(-1), size
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		line, at, err := lines.prev()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return reached, fmt.Errorf("backwards from byte %d: %w", reached, err)
		}
		reached = at
		written := l.Time(line)
		if written.IsZero() {
			continue
		}
		if !written.Before(limit) {
			older, proven = 0, -1
			continue
		}
		if older++; older < sinceProof {
			continue
		}
		if proven < 0 {
			proven = at
		}
		if l.Opens() || proven-at > sinceContext {
			return at, nil
		}
	}
}

// End returns where reading may end to see everything up to a time: a row
// behind which, as far as some rows in succession prove it, all are later. It
// finds the place by bisection and reads little of the file.
func (l *Lines) End(ctx context.Context, file io.ReaderAt, size int64, until time.Time) (int64, error) {
	if until.IsZero() {
		return size, nil
	}
	limit := until.Add(LineSlack)
	lo, hi := int64(0), size
	for hi-lo > EndSlack {
		middle := lo + (hi-lo)/2
		at, later, err := l.laterFrom(ctx, io.NewSectionReader(file, middle, hi-middle), limit)
		switch {
		case err != nil:
			return 0, fmt.Errorf("search the end: %w", err)
		case later:
			hi = middle + at
		default:
			lo = middle
		}
	}
	return hi, nil
}

// laterFrom reports whether the first rows of a file, of which the first may be
// torn, are all later than a time, and where the second begins.
func (l *Lines) laterFrom(ctx context.Context, file io.Reader, limit time.Time) (begin int64, later bool, err error) {
	lines := newLineReader(file, make([]byte, 16<<10), l.Max)
	lines.Scan()
	begin = lines.read
	for timed := 0; timed < sinceProof; {
		if ctx.Err() != nil || !lines.Scan() {
			return begin, false, errors.Join(ctx.Err(), lines.Err())
		}
		written := l.Time(lines.Bytes())
		if written.IsZero() {
			continue
		}
		if !written.After(limit) {
			return begin, false, nil
		}
		timed++
	}
	return begin, true, nil
}

// lineReader gives the lines of a file, forwards, without empty ones and those
// over the limit. The last line need not be ended: it is then a row that is
// still being written, or one whose writer was killed.
type lineReader struct {
	*bufio.Scanner
	// read is how many bytes the lines so far have, with their ends.
	read int64
	// line is the number of the last line, from 1; open reports that it has no end.
	line int
	open bool
	// over are the numbers of the lines over the limit since the last one.
	over []int
}

func newLineReader(r io.Reader, buffer []byte, maxLine int) *lineReader {
	l := &lineReader{Scanner: bufio.NewScanner(r)}
	l.Buffer(buffer, max(len(buffer), maxLine+2))
	long := false // within a line that is over the limit
	// A Scanner that is at the end of the file calls this once more only for a
	// line, so all lines that are left out go in one call.
	l.Split(func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		defer func() { l.read += int64(advance) }()
		for {
			rest := data[advance:]
			end := bytes.IndexByte(rest, '\n')
			switch {
			case end >= 0:
				advance += end + 1
				l.line++
			case len(rest) > maxLine:
				long = true
				return len(data), nil, nil
			case atEOF:
				end, advance = len(rest), len(data)
				l.line++
				l.open = end > 0
			default:
				return advance, nil, nil
			}
			wanted := !long && 0 < end && end <= maxLine
			if long || end > maxLine {
				l.over = append(l.over, l.line)
			}
			long = false
			if wanted {
				return advance, rest[:end], nil
			}
			if advance == len(data) {
				return advance, nil, nil
			}
		}
	})
	return l
}

// backReader gives the lines of a file, last first, reading it in blocks.
type backReader struct {
	r io.ReaderAt
	// pos is where data begins in the file; what is before it is unread.
	pos   int64
	block int
	max   int
	// data is the tail of buf that holds bytes not yet returned.
	buf  []byte
	data []byte
	// skipping reports that the line data ends with was too long and has been
	// dropped; its beginning is still to be found.
	skipping bool
}

func newBackReader(r io.ReaderAt, size int64, block, maxLine int) *backReader {
	return &backReader{r: r, pos: size, block: block, max: maxLine}
}

// prev returns the line before the one it returned last, without its end, and
// where it begins. It is valid until the next call. The error is io.EOF before
// the first line.
func (b *backReader) prev() (line []byte, at int64, err error) {
	for {
		i := bytes.LastIndexByte(b.data, '\n')
		if i < 0 && b.pos > 0 {
			if b.skipping || len(b.data) > b.max {
				b.data, b.skipping = nil, true
			}
			if err := b.fill(); err != nil {
				return nil, 0, err
			}
			continue
		}
		line, at = b.data[i+1:], b.pos+int64(i)+1
		wanted := !b.skipping && len(line) > 0 && len(line) <= b.max
		b.data, b.skipping = b.data[:max(i, 0)], false
		if wanted {
			return line, at, nil
		}
		if i < 0 {
			return nil, 0, io.EOF
		}
	}
}

// fill puts the block before data in front of it. Within a long line blocks
// grow, so that its bytes are not moved again and again.
func (b *backReader) fill() error {
	n := int(min(int64(max(b.block, len(b.data))), b.pos))
	need := n + len(b.data)
	if cap(b.buf) < need {
		grown := make([]byte, need)
		copy(grown[n:], b.data)
		b.buf = grown
	} else {
		copy(b.buf[:need][n:], b.data)
	}
	b.data = b.buf[:need]
	if _, err := b.r.ReadAt(b.data[:n], b.pos-int64(n)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b.pos -= int64(n)
	return nil
}

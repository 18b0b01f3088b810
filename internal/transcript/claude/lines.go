package claude

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxLine bounds one row. Images and whole files stand in rows, and they
// stay below this; a longer one is passed over without being held in memory.
const maxLine = 8 << 20

// lineReader gives the lines of a file, forwards.
type lineReader struct {
	r    *bufio.Reader
	max  int
	line []byte
}

func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: maxLine}
}

// next returns the next line without its end, valid until the call after it.
// Empty lines and those over the limit are left out. The error is io.EOF after the last line,
// which need not be ended: it is then a row that is still being written, or one
// whose writer was killed.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.readLine()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 && len(line) <= l.max {
			return line, nil
		}
	}
}

// readLine returns the next line with its end. Of one over the limit it returns a
// piece that is over it, too.
func (l *lineReader) readLine() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.line) == 0 {
			return part, nil
		}
		if len(l.line) <= l.max+1 {
			l.line = append(l.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.line, nil
		default:
			return nil, err
		}
	}
}

// backReader gives the lines of a file, last first, reading it in blocks.
type backReader struct {
	r io.ReaderAt
	// pos is where data begins in the file; what is before it is unread.
	pos   int64
	block int
	max   int
	// data is the tail of buf that holds bytes not yet given out.
	buf  []byte
	data []byte
	// skipping says that the line data ends with was too long and is gone but
	// for its beginning, which is still to be found.
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
		if i := bytes.LastIndexByte(b.data, '\n'); i >= 0 {
			line, at = b.data[i+1:], b.pos+int64(i)+1
			b.data = b.data[:i]
			if b.skipping {
				b.skipping = false
				continue
			}
			if len(line) > 0 && len(line) <= b.max {
				return line, at, nil
			}
			continue
		}
		if b.pos == 0 {
			line = b.data
			b.data = nil
			if len(line) == 0 || len(line) > b.max || b.skipping {
				return nil, 0, io.EOF
			}
			return line, 0, nil
		}
		if b.skipping || len(b.data) > b.max {
			b.data, b.skipping = nil, true
		}
		if err := b.fill(); err != nil {
			return nil, 0, err
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

const (
	// sinceSlack is how far a row may stand out of order. Claude Code writes
	// rows of one moment in any order, some milliseconds apart.
	sinceSlack = time.Minute
	// sinceProof is how many rows in succession must be older before the rest
	// of the file is taken to be: single rows keep an old time.
	sinceProof = 8
	// sinceContext bounds how far before them the beginning of the turn is
	// looked for.
	sinceContext = 4 << 20
)

// sinceStart returns where to begin reading to see everything since a moment:
// at the prompt of the turn that was under way then, so that what belongs
// together is read together. It reads the file from its end and no more of it
// than that. Where a limit ends that before, the error is transcript.ErrBeyond and the place
// is the row that was reached.
func (r *reader) sinceStart(ctx context.Context, file io.ReaderAt, size int64, since time.Time, agent bool) (int64, error) {
	if since.IsZero() {
		return 0, nil
	}
	limit := since.Add(-sinceSlack)
	lines := newBackReader(file, size, r.block, r.maxLine)
	var row row
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
		if !row.parse(line) || row.at.IsZero() {
			continue
		}
		if !row.at.Before(limit) {
			older, proven = 0, -1
			continue
		}
		if older++; older < sinceProof {
			continue
		}
		if proven < 0 {
			proven = at
		}
		if row.sidechain == agent && row.opensTurn() || proven-at > sinceContext {
			return at, nil
		}
	}
}

// untilEnd returns where reading may end to see everything up to a moment: a row
// behind which, as far as some rows in succession prove it, all are later. It
// looks the place up and reads little of the file.
func (r *reader) untilEnd(ctx context.Context, file io.ReaderAt, size int64, until time.Time) (int64, error) {
	if until.IsZero() {
		return size, nil
	}
	limit := until.Add(sinceSlack)
	lo, hi := int64(0), size
	for hi-lo > untilStep {
		at, later, err := r.laterFrom(ctx, file, lo+(hi-lo)/2, hi, limit)
		if err != nil {
			return 0, err
		}
		if later {
			hi = at
		} else {
			lo += (hi - lo) / 2
		}
	}
	return hi, nil
}

// untilStep is how many bytes more than needed may be read.
const untilStep = 256 << 10

// laterFrom reports whether the first rows behind a place are all later than a
// moment, and where the first of them begins.
func (r *reader) laterFrom(ctx context.Context, file io.ReaderAt, from, end int64, limit time.Time) (at int64, later bool, err error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(file, from, end-from), 16<<10)
	// The place lies within a row.
	skipped, err := discardLine(lines)
	at = from + skipped
	if err != nil {
		return at, false, untilEOF(err)
	}
	rows := newLineReader(lines, r.maxLine)
	var row row
	for timed := 0; timed < sinceProof; {
		if err := ctx.Err(); err != nil {
			return at, false, err
		}
		line, err := rows.next()
		if err != nil {
			return at, false, untilEOF(err)
		}
		if !row.parse(line) || row.at.IsZero() {
			continue
		}
		if !row.at.After(limit) {
			return at, false, nil
		}
		timed++
	}
	return at, true, nil
}

// untilEOF takes the end of a file for a place behind which nothing is proven.
func untilEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("look up a moment: %w", err)
}

// discardLine reads up to the next line's beginning and counts the bytes.
func discardLine(r *bufio.Reader) (n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

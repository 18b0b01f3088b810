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

// maxLine bounds one row. Rows hold images and whole files, and they stay below
// this; a longer row is skipped without being held in memory.
const maxLine = 8 << 20

const (
	// sinceSlack is how far rows may be out of order. Claude Code writes rows
	// of one moment in any order, some milliseconds apart.
	sinceSlack = time.Minute
	// sinceProof is how many rows in succession must be older, or later, before
	// the rest of the file is taken to be: single rows keep an old time.
	sinceProof = 8
	// sinceContext bounds how far before them the beginning of the turn is
	// searched.
	sinceContext = 4 << 20
	// untilStep is how many bytes more than needed may be read.
	untilStep = 256 << 10
)

// sinceStart returns where to begin reading to see everything since a time: at
// the prompt of the turn that was under way then, so that what belongs together
// is read together. It reads the file from its end and no more of it than that.
// If a limit ends that earlier, the error is ErrBeyond and the place is the row
// that was reached.
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

// untilEnd returns where reading may end to see everything up to a time: a row
// behind which, as far as some rows in succession prove it, all are later. It
// finds the place by bisection and reads little of the file.
func (r *reader) untilEnd(ctx context.Context, file io.ReaderAt, size int64, until time.Time) (int64, error) {
	if until.IsZero() {
		return size, nil
	}
	limit := until.Add(sinceSlack)
	lo, hi := int64(0), size
	for hi-lo > untilStep {
		middle := lo + (hi-lo)/2
		at, later, err := r.laterFrom(ctx, io.NewSectionReader(file, middle, hi-middle), limit)
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
func (r *reader) laterFrom(ctx context.Context, file io.Reader, limit time.Time) (begin int64, later bool, err error) {
	lines := newLineReader(file, 16<<10, r.maxLine)
	lines.Scan()
	begin = lines.read
	var row row
	for timed := 0; timed < sinceProof; {
		if ctx.Err() != nil || !lines.Scan() {
			return begin, false, errors.Join(ctx.Err(), lines.Err())
		}
		if !row.parse(lines.Bytes()) || row.at.IsZero() {
			continue
		}
		if !row.at.After(limit) {
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
	// line is the number of the last line, from 1.
	line int
}

func newLineReader(r io.Reader, buffer, maxLine int) *lineReader {
	l := &lineReader{Scanner: bufio.NewScanner(r)}
	l.Buffer(make([]byte, buffer), max(buffer, maxLine+2))
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
			default:
				return advance, nil, nil
			}
			wanted := !long && 0 < end && end <= maxLine
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

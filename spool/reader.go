package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Damage is a stretch of the log that holds no readable record.
type Damage struct {
	// Offset and Length are its place in the log, in bytes.
	Offset, Length int64
	// Reason describes the damage to people.
	Reason string
}

const (
	// window is how much is read at a time, and what a Reader holds unless a
	// record needs more.
	window = 64 << 10
	// keep is the largest buffer that is kept after its record.
	keep = 1 << 20
)

// Reader reads a log from an offset to its end at the time when it gets there. It
// takes no lock, so it never delays an append: a record whose append has not
// finished looks torn and is left to a later Reader.
//
// Memory is bounded by MaxRecord, and by 64 KiB if records are small, plus one
// Damage per damaged stretch. A Reader is for one goroutine.
type Reader struct {
	src   io.ReaderAt
	close func() error
	max   int

	buf     []byte
	r, w    int   // buf[r:w] is read and not yet looked at
	pos     int64 // place of buf[r] in the log
	eof     bool
	done    bool
	settled int64
	sums    checksums

	rec          *Record
	damage       []Damage
	tail         Damage
	unknown      []int64
	unknownBytes int64
	err          error
}

func newReader(src io.ReaderAt, offset int64, closer func() error) *Reader {
	return &Reader{src: src, close: closer, max: MaxRecord, pos: offset, settled: offset, rec: &Record{}}
}

// Next reads the next record and reports whether there is one. After it has returned
// false it always does; Err has the reason.
func (r *Reader) Next() bool {
	for !r.done && r.err == nil {
		if r.r == r.w && !r.fill() {
			break
		}
		if r.buf[r.r] != rs {
			r.skip(reasonGarbage)
			continue
		}
		seg, closed, tooLarge := r.segment()
		if r.err != nil {
			break
		}
		rec, n, reason := r.parse(seg[1:], closed)
		switch {
		case rec != nil:
			rec.Offset = r.pos
			r.advance(1 + n)
			rec.End = r.pos
			r.settled = r.pos
			r.rec = rec
			return true
		case reason == "":
			r.unknown = append(r.unknown, r.pos)
			r.unknownBytes += int64(1 + n)
			r.advance(1 + n)
			r.settled = r.pos
		case tooLarge:
			r.skip(reasonTooLarge)
		case !closed:
			r.endAt(r.pos, int64(len(seg)))
		default:
			r.damaged(r.pos, int64(len(seg)), reason)
			r.advance(len(seg))
		}
	}
	r.done = true
	return false
}

// Record returns the record that the last Next found. The caller may keep it.
func (r *Reader) Record() *Record { return r.rec }

// Offset returns where a later Reader may start: behind the last record that Next
// found and, after Next has returned false, behind the damage and the unknown
// records that follow it as well. It is never behind the start of a torn end.
func (r *Reader) Offset() int64 { return r.settled }

// Damage lists the damage skipped so far, in the log's order; adjacent stretches are
// one. A later Reader that starts at Offset reports none of it again.
func (r *Reader) Damage() []Damage { return r.damage }

// Unknown returns the offsets of the complete records of other format versions that were
// skipped. They are not damage, but are removed with the log.
func (r *Reader) Unknown() []int64 { return r.unknown }

// Tail returns the bytes behind Offset after Next has returned false, if there are
// any: an incomplete record at the end of the log. Its append may not have finished,
// or its process is dead; the next append decides it, and the log's age is a hint.
func (r *Reader) Tail() (Damage, bool) { return r.tail, r.tail.Length > 0 }

// Err returns the error that ended the reading, nil at the end of the log.
func (r *Reader) Err() error { return r.err }

// Check is Session.Check at the Reader's Offset, of the log that it reads.
func (r *Reader) Check() (string, error) {
	b := make([]byte, min(r.settled, checked))
	_, err := r.src.ReadAt(b, r.settled-int64(len(b)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return fmt.Sprintf("%08x", checksum(b)), err
}

// Close closes the file.
func (r *Reader) Close() error {
	r.done = true
	return r.close()
}

// seek skips to the next separator and reports whether there is one.
func (r *Reader) seek() bool {
	for r.r < r.w || r.fill() {
		if i := bytes.IndexByte(r.buf[r.r:r.w], rs); i >= 0 {
			r.advance(i)
			return true
		}
		r.advance(r.w - r.r)
	}
	return false
}

// segment returns the window from a separator to the next one, which closes it, or to
// the end of the log, or to the limit.
func (r *Reader) segment() (seg []byte, closed, tooLarge bool) {
	for seen := 1; ; {
		i := bytes.IndexByte(r.buf[r.r+seen:r.w], rs)
		if i >= 0 && seen+i <= r.max {
			return r.buf[r.r : r.r+seen+i], true, false
		}
		if i >= 0 || r.w-r.r > r.max {
			return r.buf[r.r : r.r+r.max], false, true
		}
		seen = r.w - r.r
		if !r.fill() {
			return r.buf[r.r:r.w], false, false
		}
	}
}

// skip skips everything up to the next separator without keeping it in memory.
func (r *Reader) skip(reason string) {
	from := r.pos
	r.advance(1)
	switch {
	case r.seek():
		r.damaged(from, r.pos-from, reason)
	case r.err == nil:
		r.endAt(from, r.pos-from)
	}
}

func (r *Reader) endAt(offset, length int64) {
	r.tail = Damage{Offset: offset, Length: length, Reason: reasonTail}
	r.done = true
}

func (r *Reader) damaged(offset, length int64, reason string) {
	r.settled = offset + length
	if n := len(r.damage); n > 0 && r.damage[n-1].Offset+r.damage[n-1].Length == offset {
		r.damage[n-1].Length += length
		return
	}
	r.damage = append(r.damage, Damage{Offset: offset, Length: length, Reason: reason})
}

func (r *Reader) advance(n int) {
	r.r += n
	r.pos += int64(n)
}

// fill reads more into the buffer and reports whether there was any.
func (r *Reader) fill() bool {
	if r.eof || r.err != nil {
		return false
	}
	have := r.w - r.r
	switch {
	case r.buf == nil || (len(r.buf) > keep && have < window):
		r.move(make([]byte, window))
	case r.w < len(r.buf):
	case r.r > 0 && have <= len(r.buf)/2:
		r.move(r.buf)
	default:
		r.move(make([]byte, min(max(2*len(r.buf), window), max(r.max+window, window))))
	}
	n, err := r.src.ReadAt(r.buf[r.w:], r.pos+int64(have))
	r.w += n
	switch {
	case errors.Is(err, io.EOF):
		r.eof = true
	case err != nil:
		r.err = fmt.Errorf("read log at %d: %w", r.pos+int64(r.w-r.r), err)
		return false
	}
	return n > 0
}

func (r *Reader) move(to []byte) {
	r.w = copy(to, r.buf[r.r:r.w])
	r.r, r.buf = 0, to
}

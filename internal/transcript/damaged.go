package transcript

import (
	"bytes"
	"errors"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Limits of what Damaged tries with one damaged place.
const (
	// tornTries is how many places are tried as the beginning of a row, or as its end.
	tornTries = 64
	// tornBytes bounds what is looked at for it, so that time follows the file's size.
	tornBytes = 32 << 20
)

// Damaged finds the whole rows in lines that are none. A writer that is killed leaves a row
// torn, to whose line the next row is then appended; a file system that loses power leaves
// blocks of NUL; and some writers leave line breaks in texts raw, which makes several lines
// of a row. The zero value is ready to use.
type Damaged struct {
	// Max is the length of the longest row, in bytes.
	Max int
	// Left counts the lines of which something was left out.
	Left int

	// open are the lines since the one that may have begun a row with raw line breaks,
	// lines how many; tries are how often it was tried whether they are the whole row.
	open         []byte
	lines, tries int
}

// Add gives the whole rows of a line that is no row to visit, which reports whether it
// took one.
func (t *Damaged) Add(line []byte, visit func(row []byte) bool) {
	line = bytes.Trim(bytes.TrimPrefix(line, []byte("\ufeff")), " \t\r")
	if rest := bytes.Trim(line, "\x00 \t\r"); len(rest) < len(line) {
		t.Left++ // there were rows
		line = rest
	}
	switch {
	case len(line) == 0:
	case t.lines > 0 && !bytes.HasPrefix(line, []byte(`{"`)) && len(t.open)+1+len(line) <= t.Max:
		t.open, t.lines = append(append(t.open, '\n'), line...), t.lines+1
		if line[len(line)-1] != '}' || t.tries == tornTries || t.tries*len(t.open) > tornBytes {
			return
		}
		if t.tries++; visit(rawjson.EscapeControls(t.open)) {
			t.lines = 0
		}
	default:
		t.End()
		if rest := t.rows(rawjson.EscapeControls(line), visit); len(rest) > 0 {
			// The text may go on in the next line.
			t.open, t.lines, t.tries = append(t.open[:0], rest...), 1, 0
		}
	}
}

// End notes that the next line is a row, or that there is none.
func (t *Damaged) End() {
	t.Left += t.lines
	t.lines = 0
}

// rows visits the whole rows of a line, without the torn ones between them. rest is the
// row within which the line ends.
func (t *Damaged) rows(line []byte, visit func(row []byte) bool) (rest []byte) {
	mark := []byte(`{"`)
	left := false
	for budget := tornBytes; len(line) > 0 && budget > 0; budget -= len(line) {
		var fault *rawjson.SyntaxError
		if !errors.As(rawjson.Check(line), &fault) {
			left = !visit(line) || left
			break
		}
		if fault.Offset == len(line) {
			rest = line
			if t.nested(line[1:], visit) {
				rest, left = nil, true
			}
			break
		}
		if visit(line[:fault.Offset]) { // the next row follows
			line = line[fault.Offset:]
			continue
		}
		left = true
		// A torn string ends with the quote that begins the first name of the next row;
		// anything else that is torn ends before that row.
		next := bytes.LastIndex(line[:min(fault.Offset+2, len(line))], mark)
		if next <= 0 {
			next = 1 + bytes.Index(line[1:], mark)
		}
		if next == 0 {
			break
		}
		line = line[next:]
	}
	if left {
		t.Left++
	}
	return rest
}

// nested visits the row that ends a line, where the torn one before it lacked a value.
func (t *Damaged) nested(line []byte, visit func(row []byte) bool) bool {
	for tries, budget := 0, tornBytes; tries < tornTries && budget > 0; tries++ {
		next := bytes.Index(line, []byte(`{"`))
		if next < 0 {
			return false
		}
		if line = line[next:]; visit(line) {
			return true
		}
		budget -= len(line)
		line = line[1:]
	}
	return false
}

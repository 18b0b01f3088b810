package second

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// mend takes the rows of a line that is no JSON object by itself: a line may have several
// rows, rows behind a torn one, or a part of a row with raw line breaks in its texts. The
// rest of the line counts as not read.
func (r *file) mend(line []byte, take func([]byte)) {
	text := rawjson.EscapeControls(bytes.Trim(bytes.ReplaceAll(line, mark, nil), "\x00 \t"))
	if r.torn != nil && !bytes.HasPrefix(text, []byte(`{"`)) && len(r.torn)+len(text) < maxLine {
		r.torn = append(append(r.torn, '\n'), line...)
		if rows := rowsOf(rawjson.EscapeControls(r.torn)); rows != nil {
			take(rows[0])
			r.torn = nil
		}
		return
	}
	r.tear()
	lost := bytes.IndexByte(line, 0) >= 0
	for from := range maxTries {
		if rows := rowsOf(text); rows != nil {
			for _, row := range rows {
				take(row)
			}
			if lost || from > 0 {
				r.skipPart(r.line, noObject)
			}
			return
		}
		next := bytes.Index(text[min(1, len(text)):], []byte(`{"`))
		if next < 0 {
			break
		}
		text = text[next+1:]
	}
	r.torn, r.tornAt = bytes.Clone(line), r.line
}

// tear notes that the lines which may have begun a row are none.
func (r *file) tear() {
	switch {
	case r.torn == nil:
	case areValues(r.torn):
		r.skipPart(r.tornAt, noObject)
	default:
		r.skip(r.tornAt, noObject)
	}
	r.torn = nil
}

const noObject = "it is no JSON object"

// areValues reports a text that is JSON, although not of rows.
func areValues(text []byte) bool {
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	for {
		if _, err := in.ReadValue(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// rowsOf splits a line into the objects that it is made of, nil if it is made of something
// else as well.
func rowsOf(line []byte) (rows [][]byte) {
	in := jsontext.NewDecoder(bytes.NewReader(line), lenient)
	for {
		row, err := in.ReadValue()
		switch {
		case errors.Is(err, io.EOF):
			return rows
		case err != nil || row[0] != '{':
			return nil
		}
		rows = append(rows, bytes.Clone(row))
	}
}

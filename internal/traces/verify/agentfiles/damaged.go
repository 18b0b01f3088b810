package agentfiles

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
		if values, rows := valuesOf(rawjson.EscapeControls(r.torn)); rows {
			take(values[0])
			r.torn = nil
		}
		return
	}
	r.tear()
	lost := bytes.IndexByte(line, 0) >= 0
	for from := range maxTries {
		if values, rows := valuesOf(text); rows {
			for _, row := range values {
				take(row)
			}
			if lost || from > 0 {
				r.skip(r.line, noObject, true)
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
	if r.torn != nil {
		values, _ := valuesOf(r.torn)
		r.skip(r.tornAt, noObject, values != nil)
	}
	r.torn = nil
}

// maxTries is how many places of a torn line are tried as the begin of a row.
const maxTries = 64

const noObject = "it is no JSON object"

// valuesOf splits a text into the JSON values that it is made of, none if it is not all JSON;
// rows reports that all are objects.
func valuesOf(text []byte) (values [][]byte, rows bool) {
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	for rows = true; ; {
		v, err := in.ReadValue()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				values = nil
			}
			return values, rows && values != nil
		}
		values, rows = append(values, bytes.Clone(v)), rows && v[0] == '{'
	}
}

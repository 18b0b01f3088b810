package rawjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many levels deep a text may nest, as in encoding/json.
const MaxDepth = 10_000

// SyntaxError says where bytes stop being the JSON that was expected.
type SyntaxError struct {
	// Offset is the place of the fault in bytes, counted from 0.
	Offset int
	// Fault says what was found there and what is allowed.
	Fault string
}

// Error names the place and the fault.
func (e *SyntaxError) Error() string { return "byte " + strconv.Itoa(e.Offset) + ": " + e.Fault }

// Check reports whether data is one JSON value and white space. The error is a
// *[SyntaxError].
func Check(data []byte) error {
	if jsontext.Value(data).IsValid(lenient...) {
		return nil
	}
	dec := decoder(data)
	return end(data, dec, dec.SkipValue())
}

// Open checks a whole text, which must be an object, and returns its members.
// The error is a *[SyntaxError]; the object then holds the members before the
// fault.
func Open(text []byte) (Object, error) {
	if jsontext.Value(text).IsValid(lenient...) {
		o := make(Object, 0, 8)
		if EachMember(text, func(name, value []byte) { o = append(o, member{name, value}) }) {
			return o, nil
		}
	}
	return openFaulty(text)
}

// openFaulty is Open of a text that is no valid object: it finds the fault.
func openFaulty(text []byte) (Object, error) {
	if at := skipSpace(text, 0); at < len(text) && text[at] != '{' {
		return nil, &SyntaxError{at, "found " + strconv.Quote(string(text[at:at+1])) + ", want a JSON object"}
	}
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(text), lenient...)
	defer func() {
		dec.Reset(new(bytes.Buffer)) // lets go of text
		decoders.Put(dec)
	}()
	_, err := dec.ReadToken()
	// next is the next value's part of text: what the decoder returns is valid only
	// until it reads on.
	next := func() (value []byte) {
		var v jsontext.Value
		if v, err = dec.ReadValue(); err == nil {
			end := int(dec.InputOffset())
			value = text[end-len(v) : end]
		}
		return value
	}
	o := make(Object, 0, 8)
	for err == nil && dec.PeekKind() == '"' {
		name := next()
		if err != nil {
			break
		}
		if value := next(); err == nil {
			o = append(o, member{unquotedName(name), value})
		}
	}
	if err == nil {
		_, err = dec.ReadToken() // the end of the object, or a fault
	}
	return o, end(text, dec, err)
}

// Levels returns how deep the first value of data nests: 0 for a text or a number, 1
// for an object or an array of these. It checks nothing and does not recurse.
func Levels(data []byte) int {
	_, levels := valueEnd(data, skipSpace(data, 0))
	return levels
}

// ValidWithin reports whether data is one JSON value that nests no deeper than
// limit.
func ValidWithin(data []byte, limit int) bool {
	return Levels(data) <= limit && Check(data) == nil
}

// lenient accepts what encoding/json does.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// decoders keeps decoders, which are larger than most texts.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func decoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), lenient...)
}

// end says what is wrong with data, from which a decoder has read one value with
// the result err. It is nil if the value was valid and only white space follows.
func end(data []byte, dec *jsontext.Decoder, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		at := skipSpace(data, int(dec.InputOffset()))
		if at == len(data) {
			return nil
		}
		return &SyntaxError{at, "found " + strconv.Quote(string(data[at:at+1])) + " after the value, want nothing"}
	case !errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{len(data), "the JSON text ends too early"}
	}
	fault := syntax.Err.Error()
	if fault == "exceeded max depth" {
		fault = "nested too deeply, want at most " + strconv.Itoa(MaxDepth) + " levels"
	}
	return &SyntaxError{int(syntax.ByteOffset), fault}
}

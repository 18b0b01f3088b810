package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// A file that is being rewritten in place is whole again within milliseconds.
// The waits add up to 0.3 s.
const (
	readTries     = 5
	firstReadWait = 20 * time.Millisecond
)

// Stream gives a file's bytes to decode, again and from the start while decode
// finds the JSON cut off, a few times. The last try's state is decode's to
// keep, so that what could be read survives the error.
func (f *Files) Stream(ctx context.Context, path string, decode func(io.Reader) error) error {
	return f.decode(ctx, path, maxStreamBytes, readTries, decode)
}

// Small decodes a file of moderate size, leniently. It reads a file that is cut
// off again if wait is set.
func Small[T any](ctx context.Context, f *Files, path string, wait bool) (v T, err error) {
	tries := 1
	if wait {
		tries = readTries
	}
	err = f.decode(ctx, path, maxSmallBytes, tries, func(r io.Reader) error {
		var zero T // a try that failed may have filled part of v
		v = zero
		return DecodeValue(json.NewDecoder(r), &v)
	})
	return v, err
}

func (f *Files) decode(ctx context.Context, path string, limit int64, tries int, decode func(io.Reader) error) error {
	wait := firstReadWait
	var last os.FileInfo
	var parseErr error
	for try := 1; ; try++ {
		file, err := f.Open(ctx, path, limit)
		if err != nil {
			return err
		}
		info := file.info
		// An unchanged file gives the same answer; it is waited for, not read.
		changed := last == nil || info.Size() != last.Size() || !info.ModTime().Equal(last.ModTime())
		if changed {
			parseErr = decode(withoutMark(io.LimitReader(file, limit)))
			var fault *json.SyntaxError
			if errors.As(parseErr, &fault) && info.Size() <= maxSmallBytes {
				parseErr = decodeMended(io.NewSectionReader(file, 0, info.Size()), decode, parseErr)
			}
		}
		if err := file.Close(); err != nil && parseErr == nil {
			return ReadError(path, err)
		}
		if parseErr == nil {
			return nil
		}
		last = info
		if try >= tries || !Torn(parseErr) {
			return ReadError(path, parseErr)
		}
		if err := f.Sleep(ctx, wait); err != nil {
			return errors.Join(ReadError(path, parseErr), err)
		}
		wait *= 2
	}
}

// withoutMark leaves out a byte order mark.
func withoutMark(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // what is shorter has none
		_, _ = b.Discard(len(mark)) // they are there
	}
	return b
}

const byteOrderMark = "\ufeff"

// decodeMended decodes a file with a fault: with the control characters in its strings
// read as if they were escaped, and without NUL around its value. Another fault is err.
func decodeMended(file io.Reader, decode func(io.Reader) error, err error) error {
	text, readErr := io.ReadAll(withoutMark(file))
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	mended := rawjson.EscapeControls(bytes.Trim(text, "\x00"))
	if len(mended) == len(text) {
		return err
	}
	return decode(bytes.NewReader(mended))
}

// Torn reports whether err looks like a file read while it was being written.
func Torn(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// DecodeValue decodes the next value. A member of another type than expected
// is no error: encoding/json has then filled everything else, and the rest of
// the file is worth more than the odd member.
func DecodeValue(dec *json.Decoder, v any) error {
	err := Lenient(dec.Decode(v))
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Lenient returns err unless it is about a member of another type than expected.
func Lenient(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// Millis is a time in milliseconds since 1970.
type Millis float64

// MaxMillis is the end of the year 9999, the last that RFC 3339 can write.
const MaxMillis = 253402300799999

// Time returns the time, zero if the file gave none or nonsense.
func (m Millis) Time() time.Time {
	if m < 1 || m > MaxMillis {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// ISOTime returns a time in RFC 3339, zero if there is none or nonsense.
func ISOTime(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// maxTokens is 2^53, up to which a JSON number is exact; more is nonsense.
const maxTokens = 1 << 53

// Tokens returns a token count, 0 if the file gave none or nonsense.
func Tokens(v *float64) int64 {
	if v == nil || *v < 0 || *v > maxTokens {
		return 0
	}
	return int64(*v)
}

// Cost returns a cost in USD, nil for none and for one that is negative.
func Cost(v *float64) *float64 {
	if v == nil || *v < 0 {
		return nil
	}
	return v
}

// TimeID makes an id of a time, for what an agent gives no id.
func TimeID(prefix string, at time.Time) string {
	if at.IsZero() {
		return prefix + "0"
	}
	return prefix + strconv.FormatInt(at.UnixMilli(), 10)
}

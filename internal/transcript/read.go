package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hookspan/hookspan/internal/regular"
)

// A file that is being rewritten in place is whole again within milliseconds.
// The waits add up to 0.3 s.
const (
	readTries     = 5
	firstReadWait = 20 * time.Millisecond
)

// errShape reports JSON that is whole but not what Cline writes.
var errShape = errors.New("unexpected JSON")

// decodeFile gives the file's bytes to decode, again and from the start while
// decode finds the JSON cut off, at most tries times. The last try's state is
// decode's to keep, so that what could be read survives the error.
func (f *Finder) decodeFile(ctx context.Context, path string, limit int64, tries int, decode func(io.Reader) error) error {
	wait := firstReadWait
	var last os.FileInfo
	var parseErr error
	for try := 1; ; try++ {
		file, err := open(ctx, path, limit, f.left)
		if err != nil {
			return err
		}
		info := file.info
		// An unchanged file gives the same answer; it is waited for, not read.
		changed := last == nil || info.Size() != last.Size() || !info.ModTime().Equal(last.ModTime())
		if changed {
			parseErr = decode(io.LimitReader(file, limit))
		}
		if err := file.Close(); err != nil && parseErr == nil {
			return wrapRead(path, err)
		}
		if parseErr == nil {
			return nil
		}
		last = info
		if try >= tries || !torn(parseErr) {
			return wrapRead(path, parseErr)
		}
		if err := f.sleep(ctx, wait); err != nil {
			return errors.Join(wrapRead(path, parseErr), err)
		}
		wait *= 2
	}
}

func wrapRead(path string, err error) error {
	var other *regular.Error
	if errors.As(err, &other) {
		return fmt.Errorf("read %q: %w: found %s, want %s", path, ErrBeyond, other.Found, other.Want)
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read %q: %w", path, ErrNotFound)
	}
	return fmt.Errorf("read %q: %w", path, err)
}

// torn reports whether err looks like a file read while it was being written.
func torn(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

func (f *Finder) sleep(ctx context.Context, d time.Duration) error {
	if f.Sleep != nil {
		return f.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (f *Finder) maxFileBytes() int64 {
	if f.MaxFileBytes == 0 {
		return DefaultMaxFileBytes
	}
	return f.MaxFileBytes
}

// readSmall decodes a whole file of moderate size into v, leniently. zero must
// reset v, as a try that failed may have filled part of it.
func (f *Finder) readSmall(ctx context.Context, path string, tries int, v any, zero func()) error {
	return f.decodeFile(ctx, path, maxSmallFileBytes, tries, func(r io.Reader) error {
		zero()
		return decodeValue(json.NewDecoder(r), v)
	})
}

// decodeArray visits each element of the array the decoder stands before.
func decodeArray(ctx context.Context, dec *json.Decoder, visit func() error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	return decodeElements(ctx, dec, visit)
}

// decodeElements visits the elements of an array whose bracket has been read.
func decodeElements(ctx context.Context, dec *json.Decoder, visit func() error) error {
	for dec.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err != nil {
		return atEOF(err)
	}
	if tok != want {
		return fmt.Errorf("%w: found %v, want %q", errShape, tok, want.String())
	}
	return nil
}

// decodeValue decodes the next value. A member of another type than expected
// is no error: encoding/json has then filled everything else, and the rest of
// the file is worth more than the odd member.
func decodeValue(dec *json.Decoder, v any) error {
	return lenient(atEOF(dec.Decode(v)))
}

func lenient(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// atEOF names an end inside a value for what it is.
func atEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// millis is a moment as Cline writes it, in milliseconds since 1970.
type millis float64

// maxMillis is the end of the year 9999, the last that RFC 3339 can write.
const maxMillis = 253402300799999

// time returns the moment, zero where the file gave none or nonsense.
func (m millis) time() time.Time {
	if m < 1 || m > maxMillis {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

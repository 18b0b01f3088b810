package answer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// spill keeps a payload above the limit whole for the user's hooks: in a file,
// since memory is bounded. A payload up to the limit makes no file. A nil *spill
// keeps nothing.
type spill struct {
	dir  string
	file *os.File
	size int64
	// err is why the payload is not kept.
	err error
}

// Write implements io.Writer. It never fails, so that nothing here keeps the
// event from being read and stored; stdin reports what went wrong.
func (s *spill) Write(b []byte) (int, error) {
	if s == nil || s.err != nil {
		return len(b), nil
	}
	if s.file == nil {
		if s.file, s.err = s.create(); s.err != nil {
			return len(b), nil
		}
	}
	var n int
	n, s.err = s.file.Write(b)
	s.size += int64(n)
	return len(b), nil
}

func (s *spill) create() (*os.File, error) {
	if s.dir == "" {
		return nil, errors.New("no state folder is known")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.dir, ".chain-*")
	if err == nil {
		// An open file that has no name is removed even if this process is killed.
		// Windows refuses: there close removes it.
		_ = os.Remove(f.Name())
	}
	return f, err
}

// stdin returns a new reader of the whole payload, of which data is what was
// kept. The error reports that the reader gives no more than data.
func (s *spill) stdin(data []byte) (io.Reader, error) {
	switch {
	case s == nil || s.file == nil && s.err == nil:
		return bytes.NewReader(data), nil
	case s.err != nil:
		return bytes.NewReader(data), fmt.Errorf("payload is cut, keep it whole: %w", s.err)
	}
	return io.NewSectionReader(s.file, 0, s.size), nil
}

func (s *spill) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

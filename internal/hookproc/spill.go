package hookproc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hookspan/hookspan/spool"
)

// spill keeps a payload above the limit whole for the user's own hook: in a
// file, since memory is bounded. A payload up to the limit makes no file. A nil
// *spill keeps nothing.
type spill struct {
	dir  string
	file *os.File
	// gone says that the file has no name any more.
	gone bool
	// err is why the payload is not kept.
	err error
}

// Write implements io.Writer. It never fails, so that nothing here keeps the
// event from being read and stored; see stdin for what went wrong.
func (s *spill) Write(b []byte) (int, error) {
	if s == nil || s.err != nil {
		return len(b), nil
	}
	if s.file == nil {
		s.create()
	}
	if s.err == nil {
		_, s.err = s.file.Write(b)
	}
	return len(b), nil
}

func (s *spill) create() {
	if s.dir == "" {
		s.err = errors.New("no state folder is known")
		return
	}
	if s.err = spool.MakeDir(s.dir); s.err != nil {
		return
	}
	// The mode is 0600, and the name is nobody else's.
	if s.file, s.err = os.CreateTemp(s.dir, ".chain-*"); s.err != nil {
		return
	}
	// Where a file can lose its name while it is open, not even a killed
	// process leaves one behind.
	s.gone = os.Remove(s.file.Name()) == nil
}

// stdin is the whole payload from its beginning: data, unless that was cut. The
// error says that the whole is not to be had.
func (s *spill) stdin(data []byte) (io.Reader, error) {
	if s == nil || s.file == nil && s.err == nil {
		return bytes.NewReader(data), nil
	}
	if s.err == nil {
		var info os.FileInfo
		if info, s.err = s.file.Stat(); s.err == nil {
			// Two programs may read it at once.
			return io.NewSectionReader(s.file, 0, info.Size()), nil
		}
	}
	return bytes.NewReader(data), fmt.Errorf("payload is cut, keep it whole: %w", s.err)
}

func (s *spill) close() {
	if s == nil || s.file == nil {
		return
	}
	_ = s.file.Close()
	if !s.gone {
		_ = os.Remove(s.file.Name())
	}
}

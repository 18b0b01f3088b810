package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hookspan/hookspan/internal/regular"
)

// Limits of one reading of a session. The files are the agents', and what is in
// them was written by models, tools and pages. Delivery goes on without what is
// beyond a limit, and says so. Real transcripts have up to some hundred
// megabytes, of which a delivery reads what is new.
const (
	// DefaultMaxBytes bounds what is read in all, in bytes.
	DefaultMaxBytes = 1 << 30
	// DefaultMaxTime bounds how long reading takes.
	DefaultMaxTime = 30 * time.Second
	// maxClaudeRows bounds the rows of transcripts that are taken in, since
	// memory follows them.
	maxClaudeRows = 1_000_000
)

// ErrBeyond is wrapped by errors that say which part of a session's files was
// left out, because it is beyond a limit.
var ErrBeyond = errors.New("left out")

// within returns a Finder and a context for one reading. Every error of it has to
// go through done. A reading that is part of another shares its limits.
func (f *Finder) within(ctx context.Context) (limited *Finder, lctx context.Context, done func(error) error) {
	if f.left != nil {
		return f, ctx, func(err error) error { return err }
	}
	limited = new(Finder)
	*limited = *f
	limited.left = new(cmp.Or(f.MaxBytes, DefaultMaxBytes))
	limit := cmp.Or(f.MaxTime, DefaultMaxTime)
	late := fmt.Errorf("%w: what could not be read within %s", ErrBeyond, limit)
	lctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	return limited, lctx, func(err error) error {
		defer cancel()
		if err != nil && errors.Is(context.Cause(lctx), late) {
			return fmt.Errorf("%w (%w)", late, err)
		}
		return err
	}
}

// source is an open file of an agent's, which ends with an error where a limit
// is reached.
type source struct {
	ctx  context.Context
	file *os.File
	info os.FileInfo
	// left is how many bytes may still be read; nil for any number.
	left *int64
}

// open opens a file of up to limit bytes; of any size if limit is zero.
func open(ctx context.Context, path string, limit int64, left *int64) (*source, error) {
	// A settings folder often is a link, and so may be what is in it.
	file, info, err := regular.Open(path, regular.Options{Max: limit})
	if err != nil {
		return nil, wrapRead(path, err)
	}
	return &source{ctx: ctx, file: file, info: info, left: left}, nil
}

// half is a view of the file that ends where half of what is left is used up.
// settle takes from s what the view has used.
func (s *source) half() (view *source, settle func()) {
	if s.left == nil {
		return s, func() {}
	}
	part := *s.left / 2
	h := *s
	h.left = new(part)
	return &h, func() { *s.left -= part - *h.left }
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) { return s.limited(p, s.file.Read) }

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	return s.limited(p, func(p []byte) (int, error) { return s.file.ReadAt(p, at) })
}

func (s *source) limited(p []byte, read func([]byte) (int, error)) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.left == nil {
		return read(p)
	}
	whole := len(p)
	p = p[:min(int64(whole), *s.left)]
	var n int
	var err error
	if len(p) > 0 {
		n, err = read(p)
		*s.left -= int64(n)
	}
	if err == nil && n == len(p) && len(p) < whole {
		err = fmt.Errorf("%w: what is beyond the limit for one reading of a session", ErrBeyond)
	}
	return n, err
}

// Close closes the file.
func (s *source) Close() error { return s.file.Close() }

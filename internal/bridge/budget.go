package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// A body up to freeBody bytes, as most events have, waits for nothing. Of larger ones, up to
// mediumBody bytes, mediums are in memory at a time, and larges of those above.
const (
	freeBody   = 64 << 10
	mediumBody = 1 << 20
	mediums    = 24
	larges     = 1
	// decoders is how many bodies above freeBody are parsed and stored at a time, which
	// takes several times their size in memory.
	decoders = 2
	// freeLevels is how deep a body up to freeBody may nest. A deeper one is parsed as a
	// larger one is: rawjson.MaxDepth levels take megabytes of stack.
	freeLevels = 100
)

// MemoryLimit is the memory limit for the Go runtime, in bytes, in a process that
// serves a bridge: the resident set then stays below 250 MB.
const MemoryLimit = 160 << 20

const (
	// budgetWait is how long a body waits for others before it is refused.
	budgetWait = 10 * time.Second
	// bodyTime is how long a body may take to arrive while others wait for it.
	bodyTime = 10 * time.Second
)

// budget bounds the bodies in memory over all connections.
type budget struct {
	medium, large, decode chan struct{}
	wait                  time.Duration
}

func newBudget() budget {
	return budget{make(chan struct{}, mediums), make(chan struct{}, larges), make(chan struct{}, decoders), budgetWait}
}

// share is one body's part of the budget.
type share struct {
	budget budget
	held   []chan struct{}
}

// take waits for a place. A free place is taken even after the time limit.
func (s *share) take(r *http.Request, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		s.held = append(s.held, place)
		return nil
	default:
	}
	timer := time.NewTimer(s.budget.wait)
	defer timer.Stop()
	select {
	case place <- struct{}{}:
		s.held = append(s.held, place)
		return nil
	case <-timer.C:
	case <-r.Context().Done():
	}
	return &refusal{http.StatusServiceUnavailable, "other large events are being read: try again"}
}

// release returns all places.
func (s *share) release() {
	for _, place := range s.held {
		<-place
	}
	s.held = nil
}

// read reads a whole body. Bodies larger than freeBody wait for a place, so that
// memory is bounded; release returns the places and must always be called.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	own := &share{budget: s.budget}
	tooLarge := &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large, want up to %d bytes", s.opts.MaxBody)}
	if r.ContentLength > s.opts.MaxBody {
		return nil, own.release, tooLarge
	}
	body, err = s.readShared(http.MaxBytesReader(w, r.Body, s.opts.MaxBody), w, r, own)
	var over *http.MaxBytesError
	var no *refusal
	switch {
	case err == nil, errors.As(err, &no):
		return body, own.release, err
	case errors.As(err, &over):
		return nil, own.release, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, own.release, &refusal{http.StatusRequestTimeout, "the body did not come in time"}
	}
	return nil, own.release, &refusal{http.StatusBadRequest, "the body broke off"}
}

// readShared reads a body in steps, each for a place of another size. A body of known
// length begins with the step that it fits in. Any other keeps the place of an earlier step
// while it waits for the next, so that bodies that wait are bounded, too.
func (s *Server) readShared(in io.Reader, w http.ResponseWriter, r *http.Request, own *share) ([]byte, error) {
	var body bytes.Buffer
	for _, step := range []struct {
		most  int64
		place chan struct{}
	}{{freeBody, nil}, {mediumBody, own.budget.medium}, {s.opts.MaxBody, own.budget.large}} {
		if r.ContentLength > step.most {
			continue
		}
		if step.place != nil {
			if err := own.take(r, step.place); err != nil {
				return nil, err
			}
			// The wait does not count as the sender's time. Only tests have a writer
			// without deadlines.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(bodyTime, s.opts.ReadTimeout)))
		}
		if r.ContentLength > 0 {
			body.Grow(int(r.ContentLength) + bytes.MinRead)
		}
		if _, err := body.ReadFrom(io.LimitReader(in, step.most+1-int64(body.Len()))); err != nil {
			return nil, err
		}
		if int64(body.Len()) <= step.most {
			break
		}
	}
	if body.Len() > freeBody || rawjson.Levels(body.Bytes()) > freeLevels {
		if err := own.take(r, own.budget.decode); err != nil {
			return nil, err
		}
	}
	return body.Bytes(), nil
}

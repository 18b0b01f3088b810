package ui

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// How often the files are looked at while a page is open, and how often a line is
// sent to find out whether it still is.
const (
	lookEvery = 150 * time.Millisecond
	beatEvery = 15 * time.Second
	// Looking takes at most one lookShare-th of the time: thousands of sessions are looked
	// at less often.
	lookShare = 50
)

// events streams an event whenever there is something new to show.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.fail(w, &refusal{http.StatusServiceUnavailable, "too many pages are open", "close some of them"})
		return
	}
	out := http.NewResponseController(w)
	send := func(text string) bool {
		if out.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
			return false
		}
		_, err := io.WriteString(w, text) //nolint:gosec // A stream of events, no page; each text is made here.
		return err == nil && out.Flush() == nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	last := s.stamp()
	look, beat := time.NewTimer(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	for ok := send("event: open\ndata: {}\n\n"); ok; {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			ok = send(":\n\n")
		case <-look.C:
			begin := time.Now()
			now := s.stamp()
			look.Reset(max(lookEvery, lookShare*time.Since(begin)))
			if now != last {
				last = now
				ok = send("event: change\ndata: {}\n\n")
			}
		}
	}
}

// stamp returns a text that changes with every change of a watched file.
func (s *Server) stamp() string {
	var b bytes.Buffer
	for _, pattern := range s.opts.Watch {
		paths, _ := filepath.Glob(pattern) // A pattern is constant.
		stampOf(&b, paths)
	}
	stampOf(&b, s.watched)
	return b.String()
}

// stampOf adds the sizes and times of the files that exist.
func stampOf(b *bytes.Buffer, paths []string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			_, _ = fmt.Fprintf(b, "%s %d %d ", path, info.Size(), info.ModTime().UnixNano())
		}
	}
}

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

const (
	// maxLinePayload is the size in bytes above which a line omits the payload.
	maxLinePayload = 1 << 20
	// maxLines and maxLineBytes bound what waits to be written.
	maxLines     = 1_000
	maxLineBytes = 16 << 20
)

// Lines writes one line of JSON per event. Every character that could steer a
// terminal is escaped. A reader that stops reading delays no sender: events that
// do not fit in the queue are left out, and a line says how many.
type Lines struct {
	w io.Writer

	mu      sync.Mutex
	wake    *sync.Cond
	queue   [][]byte
	bytes   int
	skipped int
	closed  bool
	done    chan struct{}
}

// NewLines returns a writer of lines. The caller must close it.
func NewLines(w io.Writer) *Lines {
	l := &Lines{w: w, done: make(chan struct{})}
	l.wake = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// Take implements Sink.
func (l *Lines) Take(_ context.Context, e *Event) (bool, error) {
	line, err := Line(e)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) >= maxLines || l.bytes+len(line) > maxLineBytes {
		l.skipped++
		return false, nil
	}
	l.queue = append(l.queue, line)
	l.bytes += len(line)
	l.wake.Signal()
	return true, nil
}

// Close waits until all queued lines are written, or until the context ends.
func (l *Lines) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.wake.Signal()
	l.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write event lines: %w", ctx.Err())
	}
}

func (l *Lines) run() {
	defer close(l.done)
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closed {
			l.wake.Wait()
		}
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return
		}
		lines, skipped := l.queue, l.skipped
		l.queue, l.skipped, l.bytes = nil, 0, 0
		l.mu.Unlock()
		for _, line := range lines {
			_, _ = l.w.Write(line)
		}
		if skipped > 0 {
			_, _ = fmt.Fprintf(l.w, "{\"skippedEvents\":%d}\n", skipped)
		}
	}
}

// Line is an event's line, with its end.
func Line(e *Event) ([]byte, error) {
	form, payload := "claude", json.RawMessage(e.Body)
	if e.Native {
		form = "cline"
	}
	if len(e.Body) > maxLinePayload {
		payload = nil
	}
	b, err := rawjson.Marshal(struct {
		Received  string          `json:"received"`
		Provider  Provider        `json:"provider"`
		Form      string          `json:"form"`
		Name      string          `json:"event"`
		Session   string          `json:"session"`
		Tool      string          `json:"tool,omitempty"`
		ToolUseID string          `json:"toolUseId,omitempty"`
		Recorded  bool            `json:"recorded"`
		Bytes     int             `json:"bytes"`
		Payload   json.RawMessage `json:"payload"`
	}{e.Received.UTC().Format(isoMillis), e.Provider, form, e.Name, e.Session, e.Tool, e.ToolUseID, e.Recorded, len(e.Body), payload})
	if err != nil {
		return nil, fmt.Errorf("line of event %q: %w", e.Name, err)
	}
	return append(termtext.JSON(b), '\n'), nil
}

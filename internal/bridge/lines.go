package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

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
	w     io.Writer
	queue chan []byte
	done  chan struct{}
	// bytes is the size of what waits in the queue.
	bytes, skipped atomic.Int64

	mu     sync.Mutex
	closed bool
}

// NewLines returns a writer of lines. The caller must close it.
func NewLines(w io.Writer) *Lines {
	l := &Lines{w: w, queue: make(chan []byte, maxLines), done: make(chan struct{})}
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
	size := int64(len(line))
	if l.closed || len(l.queue) == cap(l.queue) || l.bytes.Load()+size > maxLineBytes {
		l.skipped.Add(1)
		return false, nil
	}
	l.bytes.Add(size)
	l.queue <- line // has room: only Take fills it
	return true, nil
}

// Close waits until all queued lines are written, or until the context ends.
func (l *Lines) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
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
	for line := range l.queue {
		_, _ = l.w.Write(line)
		l.bytes.Add(-int64(len(line)))
		if len(l.queue) > 0 {
			continue
		}
		if n := l.skipped.Swap(0); n > 0 {
			_, _ = fmt.Fprintf(l.w, "{\"skippedEvents\":%d}\n", n)
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

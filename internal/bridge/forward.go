package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
)

// inputTimeout is how long an agent may take to write an event.
const inputTimeout = 5 * time.Second

// Forwarder forwards an event that an agent writes to a hook.
type Forwarder struct {
	// Provider is the one whose path and file take the events.
	Provider Provider
	// Ports are the bridges.
	Ports []int
	// File keeps events that no bridge takes.
	File *FileStore
	// Convert returns a Cline payload in Claude's form, as any number of
	// events. A payload that it cannot convert is forwarded unchanged.
	Convert func(body []byte) ([][]byte, error)
	// Log receives faults.
	Log func(text string)
}

// Forward reads one event from in and delivers it. Cline waits for an answer to its
// own payloads alone, which is written to out before the delivery. name is the name
// that the hook was started with; it may be empty. Forward never fails, since the
// agent waits for it: faults are logged.
func (f *Forwarder) Forward(ctx context.Context, in io.Reader, out io.Writer, name string) {
	fault := func(text string, err error) { f.Log(fmt.Sprintf("%s-hook %s: %s%v", f.Provider, name, text, err)) }
	body, err := readEvent(ctx, in)
	e, perr := ParseEvent(f.Provider, body)
	if perr == nil && e.Native || perr != nil && name != "" && f.Provider == Cline {
		_, _ = fmt.Fprintf(out, "%s\n", cline.EncodeReply(hook.Reply{}))
	}
	if err != nil {
		fault("standard input: ", err)
		_ = f.File.LogError(ctx, "stdin_read_error", err, map[string]any{"bytes": len(body)})
		return
	}
	ports, events := f.Ports, [][]byte{body}
	switch {
	case perr != nil:
		ports = nil // no bridge takes it
	case !e.Native:
		events[0] = e.Body
	default:
		if converted, err := f.Convert(body); err != nil {
			fault("forwarded unchanged: ", err)
		} else {
			events = converted
		}
	}
	if err := Deliver(ctx, f.Provider, ports, f.File, events...); err != nil {
		fault("", err)
	}
}

// readEvent reads to the end of in or until inputTimeout: a pipe that no process
// closes can be given no deadline.
func readEvent(ctx context.Context, in io.Reader) (body []byte, err error) {
	type result struct {
		body []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(in, MaxBody+1))
		if len(b) > MaxBody {
			_, _ = io.Copy(io.Discard, in)
			b, err = b[:MaxBody], fmt.Errorf("the event is too large, want up to %d bytes", MaxBody)
		}
		done <- result{b, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, inputTimeout)
	defer cancel()
	select {
	case r := <-done:
		return r.body, r.err
	case <-ctx.Done():
		return nil, errors.New("not closed in time")
	}
}

// ParsePorts reads a comma-separated list of ports. The error names the words that
// are no port; the ports are valid all the same.
func ParsePorts(list string) (ports []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		port, perr := strconv.Atoi(word)
		switch {
		case word == "":
		case perr != nil || port < 1 || port > 65535:
			err = errors.Join(err, fmt.Errorf("%q is no port, want 1 to 65535", word))
		case !slices.Contains(ports, port):
			ports = append(ports, port)
		}
	}
	return ports, err
}

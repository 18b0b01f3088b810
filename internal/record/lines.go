package record

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// lineBuffer is the size of the buffer that lines are read with, in bytes.
const lineBuffer = 64 << 10

// runLines handles the events of an agent that writes them as lines to one process. At
// the end of the lines it adds the end of each session that is in the middle of a run:
// the agent has gone without a word.
func (p *Process) runLines() {
	var open []string
	peek := p.Agent.Peek
	p.Agent.Peek = func(payload []byte, event string) hook.Head {
		head := peek(payload, event)
		i := slices.Index(open, head.Session)
		switch {
		case head.RunEnds && i >= 0:
			open = slices.Delete(open, i, i+1)
		case head.Kind == hook.KindPrompt && i < 0 && head.Session != "":
			open = append(open, head.Session)
		}
		return head
	}
	in := bufio.NewReaderSize(p.Stdin, lineBuffer)
	for {
		if _, err := in.Peek(1); err != nil {
			break
		}
		line := &lineReader{in: in}
		p.Stdin = line
		p.Run()
		_, _ = io.Copy(io.Discard, line) // what a run without storing has left
	}
	for _, session := range slices.Clone(open) {
		p.Stdin = bytes.NewReader(p.Agent.StreamEnded(session))
		p.Run()
	}
}

// lineReader reads up to the end of a line.
type lineReader struct {
	in   *bufio.Reader
	done bool
}

// Read implements io.Reader.
func (r *lineReader) Read(b []byte) (int, error) {
	if r.done {
		return 0, io.EOF
	}
	if len(b) == 0 {
		return 0, nil
	}
	if _, err := r.in.Peek(1); err != nil {
		r.done = true
		return 0, err
	}
	ready, _ := r.in.Peek(min(len(b), r.in.Buffered()))
	n := bytes.IndexByte(ready, '\n')
	if n < 0 {
		n = len(ready)
	} else {
		r.done = true
	}
	copy(b, ready[:n])
	_, _ = r.in.Discard(n)
	if !r.done {
		return n, nil
	}
	_, _ = r.in.Discard(1)
	return n, io.EOF
}

package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/spool"
)

// errDeadline is the error of input that has not ended at its time limit.
var errDeadline = errors.New("not closed in time")

// rawHead is how much is kept of an oversized payload that is not JSON.
const rawHead = 64 << 10

// mark is the byte order mark that cursor-agent begins a payload with, once or twice. It is no JSON.
const mark = "\ufeff"

// Payload is what was read from standard input.
type Payload struct {
	Data []byte
	// JSON reports that Data is valid JSON.
	JSON bool
	// Cut is the size in bytes before cutting, 0 for a payload kept whole.
	Cut int64
}

// readPayload drains r. A payload of up to limit bytes is kept as it is; a larger
// one is shortened while it streams, so that memory depends on limit alone, and
// copied whole to over. On a read error the payload is what was read before it.
func readPayload(r io.Reader, limit int, over io.Writer) (Payload, error) {
	buf := bytes.NewBuffer(make([]byte, 0, 8<<10))
	n, err := buf.ReadFrom(io.LimitReader(r, int64(limit)+1))
	for bytes.HasPrefix(buf.Bytes(), []byte(mark)) {
		buf.Next(len(mark))
	}
	if err != nil || n <= int64(limit) {
		return Payload{Data: buf.Bytes(), JSON: rawjson.Check(buf.Bytes()) == nil}, err
	}
	head := buf.Bytes()[:min(rawHead, limit)]
	var size counter
	all := io.TeeReader(io.MultiReader(bytes.NewReader(buf.Bytes()), r), io.MultiWriter(&size, over))
	c := &cutter{in: bufio.NewReaderSize(all, 64<<10), out: make([]byte, 0, limit)}
	kept, _ := c.value(c.token(), limit, limit, 0)
	complete := !c.bad && c.token() == 0 && c.bad // which the end of the input sets
	_, err = io.Copy(io.Discard, all)
	if kept && complete && rawjson.Check(c.out) == nil {
		return Payload{Data: c.out, JSON: true, Cut: int64(size)}, err
	}
	return Payload{Data: head, Cut: int64(size)}, err
}

// counter counts the bytes that are written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// maxSettings is the largest file of settings that is read, in bytes. In a project
// of another author any file can have that name.
const maxSettings = 64 << 10

// maxRules is the largest file of redaction rules, in bytes.
const maxRules = 4 << 20

// ReadSettings reads the user's own settings, which may be a link.
func ReadSettings(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings})
}

// ReadMachine reads the machine-wide settings, which only the administrator can change.
func ReadMachine(path string) ([]byte, error) {
	return regular.Read(path, regular.Options{Max: maxSettings, Rooted: true})
}

// Salt is config.Input.Salt for a program.
func Salt(spoolDir string) ([]byte, error) { return spool.Salt(spoolDir) }

package collector_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
)

// The archive is a backend that keeps what it answers for: a separate process,
// so that it can be killed, that appends each request to a file and syncs it
// before it answers. A frame is the length and the CRC-32 of what follows, each
// in four bytes, and then the path that the request came to, a zero byte and the
// request.

const archiveWord = "serve-archive"

// refuseSuffix makes the name of a file that holds a path: requests to it are kept
// below offered, and answered as if the backend were overloaded.
const (
	refuseSuffix = ".refuse"
	offered      = "/offered"
)

const maxFrame = 256 << 20

// serveArchive is the process: "serve-archive ADDRESS FILE".
func serveArchive(args []string) error {
	address, path := args[0], args[1]
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// What a kill left half written was not answered for.
	end, err := readFrames(f, 0, func([]byte) error { return nil })
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("archive %q: %w", path, err)
	}
	a := &archiveServer{f: f, refuse: path + refuseSuffix}
	s := &http.Server{Addr: address, Handler: a, ReadHeaderTimeout: time.Minute}
	return s.ListenAndServe()
}

type archiveServer struct {
	refuse string

	mu sync.Mutex
	f  *os.File
}

func (a *archiveServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxFrame))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req, _, err := otlptest.Decode(r.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := r.URL.Path
	refused, err := os.ReadFile(a.refuse)
	refuse := err == nil && string(refused) == path
	if refuse {
		path = offered + path
	}
	plain, err := proto.Marshal(req)
	if err == nil {
		err = a.keep(path, plain)
	}
	if err == nil && refuse {
		err = errors.New("overloaded")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", otlptest.TypeProtobuf)
}

func (a *archiveServer) keep(path string, request []byte) error {
	content := append(append([]byte(path), 0), request...)
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(content))) //nolint:gosec // Bounded by maxFrame.
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(content))
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.f.Write(append(frame, content...)); err != nil {
		return err
	}
	return a.f.Sync()
}

// readFrames calls f with each whole frame from an offset on, and returns where
// the last of them ends.
func readFrames(r io.ReadSeeker, from int64, f func(content []byte) error) (int64, error) {
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		return from, err
	}
	in := bufio.NewReader(r)
	for {
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return from, atEnd(err)
		}
		n := binary.BigEndian.Uint32(head[:4])
		if n > maxFrame {
			return from, nil
		}
		content := make([]byte, n)
		if _, err := io.ReadFull(in, content); err != nil {
			return from, atEnd(err)
		}
		if crc32.ChecksumIEEE(content) != binary.BigEndian.Uint32(head[4:]) {
			return from, nil
		}
		if err := f(content); err != nil {
			return from, err
		}
		from += int64(len(head)) + int64(n)
	}
}

func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// arrived is a span that arrived, however often.
type arrived struct {
	*otlptest.Span
	count   int
	changed bool
}

// archive is what has arrived, by path.
type archive struct {
	file string

	mu     sync.Mutex
	read   int64
	spans  map[string]map[otlptest.ID]*arrived
	copies int
}

// refresh reads what has arrived since the last time. The file need not be there yet.
func (a *archive) refresh() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.Open(a.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	a.read, err = readFrames(f, a.read, a.add)
	return err
}

func (a *archive) add(content []byte) error {
	path, body, _ := strings.Cut(string(content), "\x00")
	req := &coltracepb.ExportTraceServiceRequest{}
	if err := proto.Unmarshal([]byte(body), req); err != nil {
		return err
	}
	if a.spans == nil {
		a.spans = make(map[string]map[otlptest.ID]*arrived)
	}
	byID := a.spans[path]
	if byID == nil {
		byID = make(map[otlptest.ID]*arrived)
		a.spans[path] = byID
	}
	for _, s := range otlptest.Flatten(req) {
		a.copies++
		old := byID[s.ID]
		if old == nil {
			byID[s.ID] = &arrived{Span: s, count: 1}
			continue
		}
		old.count++
		old.changed = old.changed || !same(old.Span, s)
	}
	return nil
}

// same reports that two copies of a span say the same.
func same(x, y *otlptest.Span) bool {
	return proto.Equal(x.Proto, y.Proto) && proto.Equal(x.Resource, y.Resource)
}

// at are the spans that came to a path, so far.
func (a *archive) at(t testing.TB, path string) map[otlptest.ID]*arrived {
	t.Helper()
	if err := a.refresh(); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[otlptest.ID]*arrived, len(a.spans[path]))
	for id, s := range a.spans[path] {
		c := *s
		out[id] = &c
	}
	return out
}

// total is how many copies of spans have come, to all paths.
func (a *archive) total(t testing.TB) int {
	t.Helper()
	if err := a.refresh(); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copies
}

// until polls a condition. Nothing here is asserted by how long it took; the
// deadline is for what never comes.
func until(ctx context.Context, patience time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

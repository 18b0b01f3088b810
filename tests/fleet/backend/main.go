// Command backend is an OTLP/HTTP endpoint that costs as little as one can that
// takes compressed requests: it counts spans by their frames, decodes nothing and
// keeps nothing.
//
// It prints its URL on a line of its own and ends when its input does. GET /
// answers with the requests, spans and bytes, unpacked, since its start.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "backend: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: &counter{}, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	_, err = fmt.Fprintf(stdout, "http://%s\n", l.Addr())
	if err == nil {
		_, err = io.Copy(io.Discard, stdin)
	}
	err = errors.Join(err, s.Close())
	if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

type counter struct {
	requests, spans, bytes atomic.Int64
	unpackers              sync.Pool
}

// most bounds a request, unpacked.
const most = 64 << 20

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprintln(w, c.requests.Load(), c.spans.Load(), c.bytes.Load())
		return
	}
	body, err := c.body(r)
	spans, ok := below(body, []protowire.Number{1, 2, 2}) // resource_spans, scope_spans, spans
	if err != nil || !ok {
		http.Error(w, fmt.Sprintf("not an OTLP request (%v)", err), http.StatusBadRequest)
		return
	}
	c.requests.Add(1)
	c.spans.Add(int64(spans))
	c.bytes.Add(int64(len(body)))
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *counter) body(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(io.LimitReader(r.Body, most))
	}
	z, _ := c.unpackers.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	defer c.unpackers.Put(z)
	if err := z.Reset(r.Body); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, most))
}

// below counts what lies at the end of the path of fields.
func below(b []byte, path []protowire.Number) (spans int, ok bool) {
	if len(path) == 0 {
		return 1, true
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, false
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return 0, false
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b)
			more, ok := below(value, path[1:])
			if !ok {
				return 0, false
			}
			spans += more
		}
		b = b[n:]
	}
	return spans, true
}

// Command receiver is an OTLP/HTTP endpoint that costs as little as one can: it
// reads a request, counts its spans by their frames alone, decodes nothing and
// keeps nothing. It is a separate process, so that what it takes is not
// laid to the program that sends.
//
// It prints its URL on one line and ends when its input does. GET /
// answers with the requests, spans and bytes since the last such question.
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
		fmt.Fprintf(os.Stderr, "receiver: %v\n", err)
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
	buffers                sync.Pool
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprintln(w, c.requests.Swap(0), c.spans.Swap(0), c.bytes.Swap(0))
		return
	}
	buf, _ := c.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer c.buffers.Put(buf)
	request, err := read(r, buf)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	spans, ok := count(request)
	if !ok {
		http.Error(w, "not an OTLP request", http.StatusBadRequest)
		return
	}
	c.requests.Add(1)
	c.spans.Add(int64(spans))
	c.bytes.Add(int64(len(request)))
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// most bounds a request, unpacked.
const most = 64 << 20

// read returns a request's bytes; those of a known length are read into buf.
func read(r *http.Request, buf *[]byte) ([]byte, error) {
	if r.Header.Get("Content-Encoding") == "gzip" {
		// What a Collector sends: here the time it takes does not matter.
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(z, most))
	}
	n := int(r.ContentLength)
	if n < 0 || n > most {
		return nil, errors.New("want a body of a known length, or gzip")
	}
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	_, err := io.ReadFull(r.Body, (*buf)[:n])
	return (*buf)[:n], err
}

// path leads from a request to its spans: resource_spans, scope_spans, spans.
var path = []protowire.Number{1, 2, 2}

func count(request []byte) (spans int, ok bool) { return below(request, path) }

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
		if number != path[0] || kind != protowire.BytesType {
			n = protowire.ConsumeFieldValue(number, kind, b)
			if n < 0 {
				return 0, false
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return 0, false
		}
		b = b[n:]
		more, ok := below(value, path[1:])
		if !ok {
			return 0, false
		}
		spans += more
	}
	return spans, true
}

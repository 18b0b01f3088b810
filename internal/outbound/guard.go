package outbound

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// guard is the transport that bounds answers.
type guard struct {
	next http.RoundTripper
	// own is next if this package made it, else nil.
	own     *http.Transport
	timeout time.Duration
	most    int64
	secrets *Secrets
}

// RoundTrip implements http.RoundTripper. The answer's body is in memory.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	if g.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, g.timeout)
	}
	defer cancel()
	at := attempt{ctx: ctx, req: req, limit: g.timeout}
	if req.Header.Get("Accept-Encoding") == "" {
		// A transport must not change its argument.
		req = req.Clone(ctx)
		req.Header.Set("Accept-Encoding", "identity")
	}
	resp, err := g.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: at.connected})))
	if err != nil {
		return nil, g.secrets.error(at.explain(err))
	}
	// After a switch of protocols net/http does not end the body with the context.
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	defer func() {
		stop()
		_ = resp.Body.Close()
	}()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, &Error{Kind: OtherProtocol, text: "the server answered 101 Switching Protocols, which no request here asks for: check the address"}
	}
	body, err := read(resp, g.most)
	var broken error
	switch {
	case int64(len(body)) > g.most:
		body = body[:g.most]
		broken = tooLong(g.most)
	case err != nil:
		at.answered = true
		broken = g.secrets.error(at.explain(err))
	case at.cleartextToTLS(resp.StatusCode, body):
		return nil, wantsTLS()
	}
	whole := *resp
	whole.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), ending{broken}))
	whole.ContentLength = int64(len(body))
	if broken != nil {
		whole.ContentLength = -1
	}
	return &whole, nil
}

// read reads a body up to one byte beyond the limit. Some servers pack it with gzip
// although identity was asked for; the limit holds for what is packed and for the text.
func read(resp *http.Response, most int64) ([]byte, error) {
	limited := func(r io.Reader) io.Reader { return io.LimitReader(r, most+1) }
	body := limited(resp.Body)
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		packed := bufio.NewReader(body)
		if _, err := packed.Peek(1); err == io.EOF { //nolint:errorlint // As io.Reader documents it.
			return nil, nil
		}
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, err
		}
		body = limited(z)
	}
	return io.ReadAll(body)
}

// ending is the end of a body.
type ending struct{ err error }

func (e ending) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

// prefixConn is a connection that keeps the first bytes from the server, which show
// whether it speaks HTTP.
type prefixConn struct {
	net.Conn
	mu    sync.Mutex
	first []byte
}

// frameHeader is the length of an HTTP/2 frame's header, and of what is kept.
const frameHeader = 9

// Read implements net.Conn.
func (c *prefixConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	if room := frameHeader - len(c.first); room > 0 && n > 0 {
		c.first = append(c.first, p[:min(n, room)]...)
	}
	c.mu.Unlock()
	return n, err
}

func (c *prefixConn) start() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.first)
}

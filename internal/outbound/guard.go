package outbound

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, g.most+1))
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

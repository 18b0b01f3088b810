package outbound

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// maxAnswer bounds an answer's body where Options do not say, maxHeader the
// header of every answer together with its interim answers. In bytes.
const (
	maxAnswer = 4 << 20
	maxHeader = 256 << 10
)

// Options make a Client. The zero value is ready to use.
type Options struct {
	// TLS is the client's side; if nil, the system's roots and no client
	// certificate. It is copied, and the copy has TLS 1.2 as its minimum.
	TLS *tls.Config
	// Timeout bounds one request with its whole answer; if zero, the context
	// alone does.
	Timeout time.Duration
	// MaxAnswer bounds what is read of an answer's body, in bytes; if zero,
	// 4 MiB.
	MaxAnswer int64
	// Once closes each connection after one request.
	Once bool
	// Dial makes the connections; if nil, a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Secrets are removed from the texts of errors; nil holds none.
	Secrets *Secrets
	// Base is a client whose transport, timeout and cookies replace this
	// package's: it then decides on proxy, TLS and connections. It is copied. If
	// nil, there is none; without a transport, this package's is used.
	Base *http.Client
}

// Client makes requests. It is safe for concurrent use.
type Client struct {
	http  http.Client
	guard *guard
}

// New returns a client. It opens no connection.
func New(o Options) *Client {
	g := &guard{timeout: o.Timeout, most: o.MaxAnswer, secrets: o.Secrets}
	if g.most == 0 {
		g.most = maxAnswer
	}
	c := &Client{guard: g}
	if o.Base != nil {
		c.http.Jar = o.Base.Jar
		if o.Base.Timeout > 0 {
			g.timeout = o.Base.Timeout
		}
		g.next = o.Base.Transport
	}
	if g.next == nil {
		g.own = transport(o)
		g.next = g.own
	}
	c.http.Transport = g
	// A redirect would take the request, and its credentials, where the user has
	// not sent them.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func transport(o Options) *http.Transport {
	t := &http.Transport{
		Proxy: proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, DisableKeepAlives: o.Once,
		// Answers are short: unpacking them would only add to what a hostile one
		// can cost.
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
		t.TLSClientConfig.MinVersion = max(o.TLS.MinVersion, tls.VersionTLS12)
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &prefixConn{Conn: c}, nil
	}
	return t
}

// Transport is the client's transport, for libraries that make their requests
// with an http.Client. It returns answers whose bodies are in memory; the error
// of a body that is not whole, or of a request without an answer, is an *Error.
func (c *Client) Transport() http.RoundTripper { return c.guard }

// Close closes idle connections, unless they are those of Options.Base.
func (c *Client) Close() {
	if c.guard.own != nil {
		c.guard.own.CloseIdleConnections()
	}
}

// Answer is what a server answered.
type Answer struct {
	// Status is such as 200, Reason such as "200 OK".
	Status int
	Reason string
	Header http.Header
	// Body is what was read.
	Body []byte
	// Err is an *Error that says why Body is not whole; nil if it is.
	Err error
}

// Do makes one request and reads its answer. The error is an *Error: there is no
// answer then.
func (c *Client) Do(req *http.Request) (*Answer, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.guard.secrets.error(asError(err))
	}
	defer func() { _ = resp.Body.Close() }()
	a := &Answer{Status: resp.StatusCode, Reason: resp.Status, Header: resp.Header}
	a.Body, a.Err = io.ReadAll(resp.Body)
	return a, nil
}

package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
)

// maxAnswer is the default bound of an answer's body, and maxHeader the bound of its
// header together with all interim answers, in bytes.
const (
	maxAnswer = 4 << 20
	maxHeader = 256 << 10
)

// Options configure a Client. The zero value is ready to use.
type Options struct {
	// TLS is the configuration of connections; if nil, there are the system's roots
	// and no client certificate. It is copied, with TLS 1.2 as the minimum.
	TLS *tls.Config
	// Timeout bounds one request with its whole answer; if zero, only the context
	// does.
	Timeout time.Duration
	// MaxAnswer is the longest body of an answer, in bytes; if zero, 4 MiB.
	MaxAnswer int64
	// Once closes each connection after one request.
	Once bool
	// Dial makes the connections; if nil, a net.Dialer and, on this machine, loopback.Dial.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// AnyUser allows the programs of other people on this machine; see loopback.Dial.
	AnyUser bool
	// Secrets are removed from the texts of errors. If nil, there are none.
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
	g := &guard{timeout: o.Timeout, most: cmp.Or(o.MaxAnswer, maxAnswer), secrets: o.Secrets}
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
	// A redirect would send the request, and its credentials, to an address that the
	// user has not configured.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func transport(o Options) *http.Transport {
	t := &http.Transport{
		Proxy: proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, DisableKeepAlives: o.Once,
		// Answers are short, and unpacking a hostile one costs much.
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
		t.TLSClientConfig.MinVersion = max(o.TLS.MinVersion, tls.VersionTLS12)
	}
	dial := o.Dial
	if dial == nil {
		d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(address); err == nil && Loopback(host) {
				return loopback.Dial(ctx, d, network, address, o.AnyUser)
			}
			return d.DialContext(ctx, network, address)
		}
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

// Transport returns the client's transport, for libraries that make requests with an
// http.Client. The bodies of its answers are in memory. The error of an incomplete
// body, or of a request without an answer, is an *Error.
func (c *Client) Transport() http.RoundTripper { return c.guard }

// Base returns a client by which others share the connections, as their Options.Base.
func (c *Client) Base() *http.Client { return &http.Client{Transport: c.guard.next} }

// Close closes idle connections, unless they are those of Options.Base.
func (c *Client) Close() {
	if c.guard.own != nil {
		c.guard.own.CloseIdleConnections()
	}
}

// Answer is a server's answer.
type Answer struct {
	Status int // such as 200
	Header http.Header
	// Body is the part of the body that was read.
	Body []byte
	// Err is an *Error if Body is incomplete, else nil.
	Err error
}

// Do makes one request and reads its answer. If there is none, the error is an
// *Error.
func (c *Client) Do(req *http.Request) (*Answer, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.guard.secrets.error(asError(err))
	}
	defer func() { _ = resp.Body.Close() }()
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, a.Err = io.ReadAll(resp.Body)
	return a, nil
}

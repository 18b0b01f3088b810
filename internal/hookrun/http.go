package hookrun

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/hookfile"
)

// post sends the payload of an http handler and reads the answer.
func (b *batch) post(ctx context.Context, h hookfile.Handler, e Event) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(e.Payload))
	if err != nil {
		return failure(fmt.Errorf("request to %q: %w", h.URL, err))
	}
	for name, value := range h.Headers {
		req.Header.Set(name, b.expand(value, h.AllowedEnvVars))
	}
	req.Header.Set("Content-Type", "application/json")
	client := b.Client
	if client == nil {
		// Not shared: a hook's program asks once and ends.
		t := &http.Transport{
			Proxy: proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, ForceAttemptHTTP2: true,
		}
		defer t.CloseIdleConnections()
		client = &http.Client{Transport: t}
	}
	// A redirect would take the payload, and the headers, where the user has not
	// sent them.
	once := *client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := once.Do(req)
	if err != nil {
		return late(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err != nil {
		return late(ctx, err)
	}
	if len(body) > maxOutput {
		return failure(fmt.Errorf("answered with more than %d bytes", maxOutput))
	}
	return outcome{Output: claude.OutputHTTP(e.Name, resp.StatusCode, body)}
}

// proxy is the environment's, and none for this machine. The standard library
// leaves out "localhost" in that spelling alone.
func proxy(req *http.Request) (*url.URL, error) {
	host := req.URL.Hostname()
	ip, err := netip.ParseAddr(host)
	if strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback() {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// late is the outcome of a request that failed.
func late(ctx context.Context, err error) outcome {
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return stopped(ctx, outcome{})
	}
	return failure(err)
}

// expand puts variables into a header's value: $NAME and ${NAME}, those that the
// handler allows, from the hooks' environment. Others become nothing.
func (b *batch) expand(value string, allowed []string) string {
	value = os.Expand(value, func(name string) string {
		if !slices.Contains(allowed, name) {
			return ""
		}
		v, _ := b.lookup(b.Env, name)
		return v
	})
	// A value from the environment must not begin another header.
	return strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
}

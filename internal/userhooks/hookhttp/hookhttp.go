// Package hookhttp sends the requests of http hooks. It is separate from hookrun
// because the program that runs command hooks must start fast, and net/http is the
// greater part of what it would link.
package hookhttp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Client sends the requests of hooks.
type Client struct {
	// Base is the client under this package's rules; nil means one for each request.
	Base *http.Client
}

// Post sends body to url with the given header and returns the answer. An error with
// a status means that the answer's body is incomplete, which it is beyond most bytes.
// The values of the header are secrets: no error repeats them.
func (c Client) Post(ctx context.Context, url string, header map[string]string, body []byte, most int64) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("request to %q: %w", url, err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	// Not shared: a hook process sends one request and ends.
	client := outbound.New(outbound.Options{Base: c.Base, Once: true, MaxAnswer: most, Secrets: outbound.NewSecrets(req.URL, header)})
	defer client.Close()
	a, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	return a.Status, a.Body, a.Err
}

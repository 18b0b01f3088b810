package hookrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/outbound"
)

// post sends the payload of an http handler and reads the answer.
func (b *batch) post(ctx context.Context, h hookfile.Handler, e Event) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(e.Payload))
	if err != nil {
		return failure(fmt.Errorf("request to %q: %w", h.URL, err))
	}
	secrets := make(map[string]string, len(h.Headers))
	for name, value := range h.Headers {
		secrets[name] = b.expand(value, h.AllowedEnvVars)
		req.Header.Set(name, secrets[name])
	}
	req.Header.Set("Content-Type", "application/json")
	// Not shared: a hook process sends one request and ends.
	client := outbound.New(outbound.Options{Base: b.base, Once: true, MaxAnswer: maxOutput, Secrets: outbound.NewSecrets(req.URL, secrets)})
	defer client.Close()
	a, err := client.Do(req)
	if err == nil && a.Err != nil {
		o := late(ctx, a.Err)
		o.tooLong = a.Status/100 == 2 && int64(len(a.Body)) >= maxOutput && begins(string(a.Body))
		return o
	}
	if err != nil {
		return late(ctx, err)
	}
	return outcome{Output: claude.OutputHTTP(e.Name, a.Status, a.Body)}
}

// late is the outcome of a request that failed.
func late(ctx context.Context, err error) outcome {
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		// The answer may have arrived in time.
		return stopped(ctx, outcome{late: lateness(ctx) == grace})
	}
	return failure(err)
}

// expand replaces the variables $NAME and ${NAME} in a header's value by their values
// in the hooks' environment. Those that the handler does not allow become empty.
func (b *batch) expand(value string, allowed []string) string {
	value = os.Expand(value, func(name string) string {
		if !slices.Contains(allowed, name) {
			return ""
		}
		v, _ := b.lookup(b.Env, name)
		return v
	})
	// A value must not add another header.
	return strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
}

// Exhausted reports whether the cause of an error is that the system had no
// descriptors, processes or memory left.
func Exhausted(err error) bool {
	var request *outbound.Error
	_ = errors.As(err, &request)
	for _, shortage := range shortages {
		if errors.Is(err, shortage) {
			return true
		}
		// Only the text is left where a look-up failed, or a secret was removed.
		if request != nil && strings.HasSuffix(request.Error(), ": "+shortage.Error()) {
			return true
		}
	}
	return false
}

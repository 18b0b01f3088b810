package hookrun

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// post sends the payload of an http handler and reads the answer.
func (b *batch) post(ctx context.Context, run *Run) outcome {
	h, e := run.Handler, run.event
	header := make(map[string]string, len(h.Headers))
	for name, value := range h.Headers {
		header[name] = b.expand(value, h.AllowedEnvVars)
	}
	status, body, err := b.Post(ctx, h.URL, header, e.Payload, maxOutput)
	if status != 0 || ctx.Err() != nil {
		run.started(true)
	}
	if err != nil {
		o := late(ctx, err)
		o.tooLong = status/100 == 2 && int64(len(body)) >= maxOutput && begins(string(body))
		return o
	}
	return outcome{Output: verdict.OutputHTTP(e.Name, status, body)}
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
	return err != nil && slices.ContainsFunc(shortages[:], func(shortage error) bool {
		// Only the text is left if a look-up failed, or a secret was removed.
		return errors.Is(err, shortage) || strings.HasSuffix(err.Error(), ": "+shortage.Error())
	})
}

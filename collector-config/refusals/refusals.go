// Package refusals is the Collector extension refusals: a middleware for exporters
// that keeps what a backend refuses.
//
// An exporter drops a request that is answered with an error it takes for final, such
// as 401 for a key that has been changed. With this middleware
//
//   - an answer that says nothing of the request itself, such as 401, 403, 404 or 500,
//     becomes 503: the exporter keeps the request in its queue and tries again. So does
//     a page, such as a login, and a redirection to one (301, 302, 303), which would be
//     taken for success;
//   - a request that the backend refuses as it is (400, 413, 415, 422) is written into
//     a file, and then counts as sent. It is not sent again automatically.
//
// Both are logged, and counted by the Collector's metric hookspan_refused_requests. The
// files take up to limit_mib: then the oldest are removed, which is logged and counted.
// A request whose file cannot be written is tried again.
//
// Over gRPC the first rule applies to the codes Unauthenticated, PermissionDenied,
// NotFound, Unimplemented, Internal and Unknown. The second does not apply.
package refusals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config are the settings of the extension.
type Config struct {
	// Directory has the requests that a backend refuses as they are, one to a file, as
	// they were sent. It is created if it is missing, for this user alone.
	Directory string `mapstructure:"directory"`
	// LimitMiB is how much the files may take, by default 1024 MiB. The oldest make room
	// for a new one.
	LimitMiB int64 `mapstructure:"limit_mib"`
}

const defaultLimit = 1024 // MiB

// Validate reports a missing directory or a limit that leaves nothing.
func (c *Config) Validate() error {
	if c.Directory == "" {
		return errors.New("directory: must be set")
	}
	if c.LimitMiB < 0 {
		return fmt.Errorf("limit_mib: %d is not above zero", c.LimitMiB)
	}
	return nil
}

// Type is the name of the extension in configurations.
var Type = component.MustNewType("refusals")

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(Type, func() component.Config { return &Config{LimitMiB: defaultLimit} },
		func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			counted, err := set.MeterProvider.Meter("github.com/hookspan/hookspan/collector-config/refusals").Int64Counter(
				"hookspan_refused_requests", metric.WithUnit("{request}"), metric.WithDescription("Requests that a backend refused, by status and outcome: kept (tried again), parked (in a file), dropped (its file was removed)"))
			c := cfg.(*Config)
			return &refusals{dir: c.Directory, limit: cmp.Or(c.LimitMiB, defaultLimit) << 20, log: set.Logger, counted: counted, now: time.Now, logged: map[int]time.Time{}}, err
		}, component.StabilityLevelBeta)
}

type refusals struct {
	dir string
	// limit is in bytes.
	limit   int64
	log     *zap.Logger
	counted metric.Int64Counter
	// now is the clock.
	now func() time.Time

	mu sync.Mutex
	// logged is when a status was logged last.
	logged map[int]time.Time

	// parking is held while a file is added and others are removed.
	parking sync.Mutex
}

// asItIs are the statuses of requests that a backend refuses as they are.
var asItIs = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// Start creates the directory.
func (r *refusals) Start(ctx context.Context, _ component.Host) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("directory %q: %w", r.dir, err)
	}
	for _, status := range asItIs {
		r.count(ctx, 0, status, "parked") // Prometheus sees no increase in a first value of 1.
	}
	return nil
}

func (r *refusals) count(ctx context.Context, n int64, status int, outcome string) {
	r.counted.Add(ctx, n, metric.WithAttributes(attribute.Int("status", status), attribute.String("outcome", outcome)))
}

// Shutdown does nothing.
func (*refusals) Shutdown(context.Context) error { return nil }

// GetHTTPRoundTripper returns base with the rules above.
func (r *refusals) GetHTTPRoundTripper(context.Context) (extensionmiddleware.WrapHTTPRoundTripperFunc, error) {
	return func(_ context.Context, base http.RoundTripper) (http.RoundTripper, error) {
		return &transport{r, base}, nil
	}, nil
}

// GetGRPCClientOptions returns an interceptor with the rule above.
func (r *refusals) GetGRPCClientOptions(context.Context) ([]grpc.DialOption, error) {
	keep := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		code := status.Code(err)
		switch code {
		case codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.Unimplemented, codes.Internal, codes.Unknown:
			r.say(ctx, int(code), "kept", keptMessage, zap.String("address", cc.Target()), zap.Error(err))
			return status.Error(codes.Unavailable, err.Error())
		}
		return err
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(keep)}, nil
}

const keptMessage = "The backend refuses requests: they are kept in the queue and sent again. Check its address and its key"

type transport struct {
	*refusals
	base http.RoundTripper
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if resp.Header.Get("Location") != "" {
			return resp, nil // The client follows it.
		}
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return resp, nil
	}
	if slices.Contains(asItIs, resp.StatusCode) {
		return t.park(req, resp, body), nil
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && !isPage(resp.Header.Get("Content-Type")) {
		return resp, nil
	}
	t.say(req.Context(), resp.StatusCode, "kept", keptMessage, seen(req, resp)...)
	return answer(resp, http.StatusServiceUnavailable), nil
}

// isPage reports a web page, as proxies and portals send it instead of an answer.
func isPage(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	return strings.TrimSpace(kind) == "text/html" || strings.TrimSpace(kind) == "application/xhtml+xml"
}

// park writes a request into a file.
func (t *transport) park(req *http.Request, resp *http.Response, body []byte) *http.Response {
	sum := sha256.Sum256(body)
	name := fmt.Sprintf("%s-%x.otlp", t.now().UTC().Format("20060102T150405.000"), sum[:8])
	if req.Header.Get("Content-Encoding") == "gzip" {
		name += ".gz"
	}
	file := filepath.Join(t.dir, name)
	t.parking.Lock()
	defer t.parking.Unlock()
	t.makeRoom(req.Context(), int64(len(body)))
	if err := write(file, body); err != nil {
		t.say(req.Context(), resp.StatusCode, "kept", "The backend refuses a request as it is, and it cannot be written into a file: it is kept and sent again", append(seen(req, resp), zap.Error(err))...)
		return answer(resp, http.StatusServiceUnavailable)
	}
	t.say(req.Context(), resp.StatusCode, "parked", "The backend refuses a request as it is: it is in a file and not sent again. When the cause is fixed, post the file", append(seen(req, resp), zap.String("file", file))...)
	return answer(resp, http.StatusOK)
}

// makeRoom removes the oldest files until so many bytes more are within the limit.
func (r *refusals) makeRoom(ctx context.Context, size int64) {
	entries, err := os.ReadDir(r.dir) // by name, which begins with the time
	if err != nil {
		return // the file cannot be written either
	}
	sizes := make([]int64, len(entries))
	for i, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && isParked(e.Name()) {
			sizes[i] = info.Size()
			size += sizes[i]
		}
	}
	for i, e := range entries {
		if size <= r.limit {
			return
		}
		if sizes[i] == 0 || os.Remove(filepath.Join(r.dir, e.Name())) != nil {
			continue
		}
		size -= sizes[i]
		r.say(ctx, 0, "dropped", "Refused requests take more than limit_mib: the oldest file is removed, and its spans are lost", zap.String("file", e.Name()), zap.Int64("bytes", sizes[i]))
	}
}

// isParked reports a name that park gives.
func isParked(name string) bool {
	return strings.HasSuffix(name, ".otlp") || strings.HasSuffix(name, ".otlp.gz")
}

// write writes a file that is on disk when it returns.
func write(file string, body []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The name is made here.
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(file)
		return err
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil {
		_ = dir.Sync() // The name, where the system can.
		_ = dir.Close()
	}
	return nil
}

// answer returns an empty answer with another status.
func answer(resp *http.Response, status int) *http.Response {
	_ = resp.Body.Close()
	out := *resp
	out.StatusCode, out.Status = status, http.StatusText(status)
	out.Header = http.Header{}
	out.Body, out.ContentLength = http.NoBody, 0
	return &out
}

// seen returns where a request went, without what may be a key, and how the answer begins.
func seen(req *http.Request, resp *http.Response) []zap.Field {
	var reason []byte
	if resp.StatusCode >= 200 { // Otherwise the connection has another use, and may say nothing.
		reason, _ = io.ReadAll(io.LimitReader(resp.Body, 512))
	}
	return []zap.Field{zap.String("url", req.URL.Scheme+"://"+req.URL.Host+req.URL.Path), zap.String("answer", strings.ToValidUTF8(string(reason), "?"))}
}

// say counts a refusal and logs it: what is parked always, a status that is repeated
// once a minute.
func (r *refusals) say(ctx context.Context, status int, outcome, message string, fields ...zap.Field) {
	r.count(ctx, 1, status, outcome)
	r.mu.Lock()
	now := r.now()
	quiet := outcome == "kept" && now.Sub(r.logged[status]) < time.Minute
	if !quiet {
		r.logged[status] = now
	}
	r.mu.Unlock()
	if !quiet {
		r.log.Error(message, append(fields, zap.Int("status", status))...)
	}
}

package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hookspan/hookspan/internal/regular"
)

// NewFile returns an exporter that appends OTLP/JSON to a file, one request a
// line, as the OpenTelemetry file exporter specification asks. The file is made
// with mode 0600; each line is on disk before the spans count as delivered.
func NewFile(ctx context.Context, path string) (sdktrace.SpanExporter, error) {
	if path == "" {
		return nil, fmt.Errorf("file destination: HOOKSPAN_FILE_PATH is not set")
	}
	// The encoder of the OTLP exporter writes the very bytes it would send.
	client := &http.Client{Transport: writer(func(b []byte) error { return appendLine(path, b) })}
	return otlptracehttp.New(ctx, otlpOptions(OTLP{JSON: true, Timeout: never}, fileURL(), client)...)
}

// EncodeJSON gives the OTLP/JSON document that the file destination would
// append for the spans, without a line's end.
func EncodeJSON(ctx context.Context, spans []sdktrace.ReadOnlySpan) ([]byte, error) {
	var out []byte
	client := &http.Client{Transport: writer(func(b []byte) error { out = b; return nil })}
	e, err := otlptracehttp.New(ctx, otlpOptions(OTLP{JSON: true, Timeout: never}, fileURL(), client)...)
	if err != nil {
		return nil, err
	}
	return out, errors.Join(e.ExportSpans(ctx, spans), e.Shutdown(ctx))
}

// never is a time limit for what does not go over a network.
const never = 24 * time.Hour

// fileURL is the address under which the exporter believes to send. With http
// it would refuse to start where OTEL_EXPORTER_OTLP_CERTIFICATE is set.
func fileURL() *url.URL { return &url.URL{Scheme: "https", Host: "file.invalid", Path: "/v1/traces"} }

// writer is a transport that hands each request's body to a function.
type writer func([]byte) error

func (w writer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err == nil {
		err = w(body)
	}
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("file destination: %w", err)}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

func appendLine(path string, line []byte) (err error) {
	f, _, err := regular.Open(path, regular.Options{NoLink: true, Private: true, Flag: os.O_RDWR | os.O_APPEND | os.O_CREATE, Perm: 0o600})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	// Other processes deliver other sessions to the same file. Without the lock
	// a line that is just being written would look torn.
	if err := lockFile(f); err != nil {
		return fmt.Errorf("lock %q: %w", path, err)
	}
	if err := syncName(f); err != nil {
		return fmt.Errorf("sync the folder of %q: %w", path, err)
	}
	var out bytes.Buffer
	if torn(f) {
		out.WriteByte('\n')
	}
	out.Write(line)
	out.WriteByte('\n')
	if _, err := f.Write(out.Bytes()); err != nil {
		return err
	}
	return f.Sync()
}

// The wait for other processes that append to the file, which takes them
// milliseconds.
const (
	fileWait  = 5 * time.Second
	filePause = 5 * time.Millisecond
)

func lockFile(f *os.File) error {
	for waited := time.Duration(0); ; waited += filePause {
		ok, err := tryLockFile(f)
		if ok || err != nil {
			return err
		}
		if waited >= fileWait {
			return fmt.Errorf("another program has held the lock for %s", fileWait)
		}
		time.Sleep(filePause)
	}
}

// torn reports that the file does not end with a line's end, as after a crash
// in the middle of one.
func torn(f *os.File) bool {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], end-1)
	return err == nil && last[0] != '\n'
}

package collector_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlptest"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

var startRows = []proof.Row{{
	Name: "SIGKILL at each sync of an agent that starts with a queue on disk",
	Rule: "at the next start every span that was queued comes to the backend",
	Run:  killStart,
}}

// lone is an agent without hookspan, before a backend in this process.
type lone struct {
	t       *testing.T
	o       otelcol.Options
	listen  string
	queue   string
	backend *otlptest.Server
}

func newLone(t *testing.T, overlays ...string) *lone {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := otelcol.OpenPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ports.Close() })
	l := &lone{t: t, backend: otlptest.New(t)}
	if l.listen, err = ports.Next(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l.queue = filepath.Join(dir, "queue")
	l.o = otelcol.Options{
		Binary: binary, Dir: dir,
		Configs: configs(append([]string{shipped(t, "agent.yaml"), fmt.Sprintf(agentOverlay, l.listen)}, overlays...)...),
		Env: []string{
			"BACKEND_ENDPOINT=" + l.backend.URL()[:len(l.backend.URL())-len(otlptest.Path)],
			"BACKEND_AUTHORIZATION=", "QUEUE_DIRECTORY=" + l.queue,
		},
		Ready: []string{l.listen},
	}
	return l
}

// post sends a request of some spans, the nth, and returns its status.
func (l *lone) post(n, spans, size int) int {
	l.t.Helper()
	req := &coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{}}}}}
	for i := range spans {
		var trace [16]byte
		binary.BigEndian.PutUint64(trace[8:], uint64(n)+1) //nolint:gosec // Small.
		req.ResourceSpans[0].ScopeSpans[0].Spans = append(req.ResourceSpans[0].ScopeSpans[0].Spans, &tracepb.Span{
			TraceId: trace[:], SpanId: binary.BigEndian.AppendUint64(nil, uint64(i)+1), //nolint:gosec // Small.
			Name: string(bytes.Repeat([]byte("x"), size)), StartTimeUnixNano: 1, EndTimeUnixNano: 2,
		})
	}
	body, err := proto.Marshal(req)
	if err != nil {
		l.t.Fatal(err)
	}
	hr, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "http://"+l.listen+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	hr.Header.Set("Content-Type", otlptest.TypeProtobuf)
	resp, err := http.DefaultClient.Do(hr)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode
}

// spans are the different ones that the backend was offered since a number of
// requests, and of these the ones that it has taken.
func (l *lone) spans(since int) (offered, taken int) {
	seen := make(map[otlptest.ID]bool)
	for _, r := range l.backend.Requests()[since:] {
		req, _, err := otlptest.Decode(r.Header, r.Body)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, s := range otlptest.Flatten(req) {
			seen[s.ID] = seen[s.ID] || r.Status == http.StatusOK
		}
	}
	for _, ok := range seen {
		if ok {
			taken++
		}
	}
	return len(seen), taken
}

func (l *lone) start() *otelcol.Collector {
	l.t.Helper()
	c, err := otelcol.Start(l.t.Context(), l.o)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Kill() })
	return c
}

// refuse makes the backend answer that it is overloaded.
func (l *lone) refuse() {
	l.backend.Always(otlptest.Status(http.StatusServiceUnavailable, "overloaded"))
}

const queuedRequests = 8

func killStart(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	l := newLone(t)
	l.refuse()
	c := l.start()
	for i := range queuedRequests {
		if status := l.post(i, 3, 10); status != http.StatusOK {
			t.Fatalf("the agent answered %d", status)
		}
	}
	offered := func() bool { n, _ := l.spans(0); return n == 3*queuedRequests }
	if !until(t.Context(), time.Minute, offered) {
		t.Fatal("the agent does not offer all it has to the backend")
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	kept := l.queue + ".kept"
	if err := os.CopyFS(kept, os.DirFS(l.queue)); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, config := range l.o.Configs {
		args = append(args, "--config", config)
	}
	lostAt, most := 0, 0
	for n := 1; n < 3*queuedRequests; n++ {
		if err := errors.Join(os.RemoveAll(l.queue), os.CopyFS(l.queue, os.DirFS(kept))); err != nil {
			t.Fatal(err)
		}
		l.refuse()
		end, err := trace.Run(trace.Program{
			Path: l.o.Binary, Args: args, Dir: l.o.Dir,
			Env: slices.Concat([]string{"HOME=" + l.o.Dir, "TMPDIR=" + l.o.Dir}, l.o.Env),
		}, &trace.Fault{At: trace.Call{Name: "fdatasync", N: n}})
		if err != nil {
			t.Fatal(err)
		}
		if !end.Hit {
			t.Logf("sync %d: never, %d calls, %d %s %s", n, end.Calls["fdatasync"], end.Code, end.Signal, end.Stderr[max(0, len(end.Stderr)-3000):])
			break
		}
		r.Trial(1)
		l.backend.Reset()
		since := len(l.backend.Requests())
		if err := c.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		taken := 0
		until(t.Context(), 4*time.Second, func() bool { _, taken = l.spans(since); return taken == 3*queuedRequests })
		if lost := 3*queuedRequests - taken; lost > 0 {
			lostAt, most = lostAt+1, max(most, lost)
			r.Break("killed at sync %d: %d of %d spans are lost", n, lost, 3*queuedRequests)
		}
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	r.Note("%d spans at most", most)
}

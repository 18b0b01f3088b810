package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// replay sends recorded bytes.
type replay struct {
	endpoint        string
	client          *http.Client
	templates       []template
	salt            uint64
	requests, spans int
}

// template is a request and the places of trace ids in it.
type template struct {
	body  []byte
	ids   []int
	spans int
}

func newReplay(endpoint string, recorded [][]byte) (*replay, error) {
	// As of a process each: the connection ends with the request.
	r := &replay{endpoint: endpoint, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, salt: rand.Uint64()} //nolint:gosec // An id, no secret.
	for _, body := range recorded {
		var req collectorpb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return nil, err
		}
		t := template{body: body}
		seen := make(map[string]bool)
		for _, rs := range req.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					t.spans++
					if id := s.GetTraceId(); !seen[string(id)] {
						seen[string(id)] = true
						t.ids = append(t.ids, places(body, id)...)
					}
				}
			}
		}
		r.templates = append(r.templates, t)
	}
	return r, nil
}

func places(body, id []byte) (all []int) {
	for from := 0; ; {
		i := bytes.Index(body[from:], id)
		if i < 0 {
			return all
		}
		all = append(all, from+i)
		from += i + len(id)
	}
}

func (r *replay) send(ctx context.Context, n int) error {
	t := r.templates[n%len(r.templates)]
	body := bytes.Clone(t.body)
	// Both halves change: what samples or routes by a trace id may look at either.
	mask := mix(r.salt + uint64(n)) //nolint:gosec // Wraps as it likes.
	for _, at := range t.ids {
		for half := at; half < at+16; half += 8 {
			binary.BigEndian.PutUint64(body[half:], binary.BigEndian.Uint64(body[half:])^mask)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %.200q", r.endpoint, resp.Status, answer)
	}
	r.requests++
	r.spans += t.spans
	return nil
}

// mix spreads a counter over all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *replay) end(context.Context) error { return nil }

func (r *replay) sent() (requests, spans int) { return r.requests, r.spans }

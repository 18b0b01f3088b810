package crowd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Capture plays p against a separate receiver, whatever endpoints p has, and
// returns the requests that came, byte by byte.
func (p *Play) Capture(ctx context.Context, recordings []*Recording) (requests [][]byte, _ Result, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, Result{}, err
	}
	var mu sync.Mutex
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		requests = append(requests, body)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	defer func() {
		err = errors.Join(err, s.Close())
		if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
	}()
	p.Settings.Endpoints = []string{"http://" + l.Addr().String()}
	r, err := p.Run(ctx, recordings)
	mu.Lock()
	defer mu.Unlock()
	return requests, r, err
}

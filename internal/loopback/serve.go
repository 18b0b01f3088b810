package loopback

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Limits bound what the peers of a server can take.
type Limits struct {
	// Connections is how many are open at a time.
	Connections int
	// Read is the time for a whole request, Write for its answer, from the end of the
	// header on, Idle for the next request of a connection.
	Read, Write, Idle time.Duration
	// Grace is how long running requests may take when the server ends. If zero, they end
	// with it, and so do their contexts.
	Grace time.Duration
}

const (
	headTime  = 5 * time.Second
	maxHeader = 16 << 10
)

// Serve serves the listeners until ctx ends, lets running requests finish as the limits
// say, and closes the listeners. It then returns nil. The handler calls Answer for each request that
// it answers.
func Serve(ctx context.Context, h http.Handler, l Limits, listeners ...net.Listener) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: min(headTime, l.Read), ReadTimeout: l.Read, WriteTimeout: l.Write, IdleTimeout: l.Idle,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0),
	}
	if l.Grace == 0 {
		srv.BaseContext = func(net.Listener) context.Context { return ctx }
	}
	crowd := NewCrowd(l.Connections)
	crowd.Join(srv)
	ended := make(chan error, len(listeners))
	for _, one := range listeners {
		go func() { ended <- srv.Serve(crowd.Listener(one)) }()
	}
	var err error
	left := len(listeners)
	select {
	case <-ctx.Done():
	case err = <-ended:
		left--
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Grace)
	defer cancel()
	if l.Grace == 0 || srv.Shutdown(grace) != nil {
		err = errors.Join(err, srv.Close())
	}
	for range left {
		<-ended
	}
	return err
}

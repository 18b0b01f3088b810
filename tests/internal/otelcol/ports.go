package otelcol

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports hands out free ports of 127.0.0.1 that are still free when a Collector
// that was killed comes back: they lie below those that systems hand out by
// themselves, and in a block that no other Ports, of this process or another,
// hands out at the same time.
//
// It is not safe for concurrent use.
type Ports struct {
	guard net.Listener
	next  int
	end   int
}

const (
	firstPort = 11000
	lastPort  = 31000
	blockSize = 100
)

// OpenPorts takes a block. The caller closes it.
func OpenPorts() (*Ports, error) {
	blocks := rand.Perm((lastPort - firstPort) / blockSize)
	var last error
	for _, b := range blocks {
		first := firstPort + b*blockSize
		// The first port of a block is held as long as the block is.
		l, err := listen(first)
		if err == nil {
			return &Ports{guard: l, next: first + 1, end: first + blockSize}, nil
		}
		last = err
	}
	return nil, fmt.Errorf("none of %d blocks of ports from %d on is free: %w", len(blocks), firstPort, last)
}

// Next is an address, such as "127.0.0.1:11001".
func (p *Ports) Next() (string, error) {
	for ; p.next < p.end; p.next++ {
		l, err := listen(p.next)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return "", err
		}
		p.next++
		return l.Addr().String(), nil
	}
	return "", fmt.Errorf("all %d ports below %d are taken: open more Ports", blockSize-1, p.end)
}

// Close gives the block back.
func (p *Ports) Close() error { return p.guard.Close() }

func listen(port int) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

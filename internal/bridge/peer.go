package bridge

import (
	"context"
	"errors"
	"net"
)

// dialOwn connects to a port of this machine if a program of this user serves it.
func dialOwn(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

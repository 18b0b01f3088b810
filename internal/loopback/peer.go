package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// DialOwn connects to a port of this machine if a program of this user, or of root, serves
// it. It waits until that program has accepted the connection.
func DialOwn(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Owner says whose program serves a connection.
type Owner int

// The owners. OwnerUnknown is behind an address translation, on a system that does not tell,
// or of an account that the system's list does not have, such as a container's.
const (
	OwnerUnknown Owner = iota
	OwnerSelf
	// OwnerService is root or an account without a log-in shell.
	OwnerService
	// OwnerPerson is another account with a log-in shell.
	OwnerPerson
)

// oneAddress bounds the wait at one of several addresses: a listener whose queue is full
// would take the time for the other.
const oneAddress = 2 * time.Second

// Dial connects to a port of this machine, at any of its addresses if the host is a name.
// Of several programs that listen there it prefers this user's, whose name localhost often
// stands for two addresses. Another person's program is an error, unless anyone is set: any
// user can listen on a port, and would get the request and its credentials.
func Dial(ctx context.Context, dialer *net.Dialer, network, address string, anyone bool) (net.Conn, error) {
	return dial(ctx, dialer, network, address, anyone, ownerOf)
}

func dial(ctx context.Context, dialer *net.Dialer, network, address string, anyone bool, ownerOf func(net.Conn) (Owner, uint32)) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	hosts := []string{host}
	if _, err := netip.ParseAddr(host); err != nil {
		hosts = []string{"::1", "127.0.0.1"}
		limited := *dialer
		limited.Timeout = oneAddress
		dialer = &limited
	}
	var other net.Conn
	var errs []error
	for _, host := range hosts {
		c, err := dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		owner, uid := ownerOf(c)
		switch {
		case owner == OwnerSelf:
			if other != nil {
				_ = other.Close()
			}
			return c, nil
		case owner == OwnerPerson && !anyone:
			_ = c.Close()
			errs = append(errs, &OtherUserError{Address: net.JoinHostPort(host, port), UID: uid})
		case other == nil:
			other = c
		default:
			_ = c.Close()
		}
	}
	if other != nil {
		return other, nil
	}
	// A refusal says more than that nothing listens at the other address.
	for _, err := range errs {
		if e := (*OtherUserError)(nil); errors.As(err, &e) {
			return nil, e
		}
	}
	return nil, errors.Join(errs...)
}

// OtherUserError reports that a program of another person serves a port.
type OtherUserError struct {
	Address string
	UID     uint32
}

func (e *OtherUserError) Error() string {
	return fmt.Sprintf("%s is served by a program of user %d, and this is user %d: nothing was sent; name another port, or set HOOKSPAN_ALLOW_OTHER_USERS=true in the env file", e.Address, e.UID, os.Geteuid())
}

// Serving describes who serves a connection of this machine, "" for this user.
func Serving(c net.Conn) string {
	switch owner, uid := ownerOf(c); owner {
	case OwnerSelf:
		return ""
	case OwnerPerson:
		return fmt.Sprintf("another person's program (user %d)", uid)
	case OwnerService:
		return fmt.Sprintf("a service (user %d)", uid)
	}
	return "a program whose user is not known here, such as a container's"
}

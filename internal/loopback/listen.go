package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ErrTaken reports that another program listens on the port.
var ErrTaken = errors.New("the port is taken")

// Windows has its own numbers for EADDRINUSE and ECONNREFUSED.
const (
	wsaAddrInUse   = syscall.Errno(10048)
	wsaConnRefused = syscall.Errno(10061)
)

// anyPort is the number of tries to find a port that is free on both addresses.
const anyPort = 8

// Listen listens on 127.0.0.1 and on ::1, so that clients reach the server
// whichever address localhost has for them. Port 0 is any free port. The error
// wraps ErrTaken if the port is taken on either address: half of the clients would
// reach another program. A machine without IPv6 has one listener.
func Listen(ctx context.Context, port int) ([]net.Listener, error) {
	for range anyPort {
		all, err := listen(ctx, port)
		if port != 0 || !errors.Is(err, ErrTaken) {
			return all, err
		}
	}
	return listen(ctx, port)
}

func listen(ctx context.Context, port int) ([]net.Listener, error) {
	var lc net.ListenConfig
	v4, err := lc.Listen(ctx, "tcp4", address("127.0.0.1", port))
	if err != nil {
		return nil, listenError(port, err)
	}
	port = v4.Addr().(*net.TCPAddr).Port
	v6, err := lc.Listen(ctx, "tcp6", address("::1", port))
	switch {
	case err == nil:
		return []net.Listener{v4, v6}, nil
	case inUse(err):
		return nil, errors.Join(listenError(port, err), v4.Close())
	}
	return []net.Listener{v4}, nil
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func inUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddrInUse)
}

// Refused reports that no program listens.
func Refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaConnRefused)
}

func listenError(port int, err error) error {
	if inUse(err) {
		err = fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return fmt.Errorf("listen on port %d: %w", port, err)
}

// WhoListens is the command that names the program on a port.
func WhoListens(goos string, port int) string {
	switch goos {
	case "windows":
		return fmt.Sprintf("netstat -ano | findstr :%d", port)
	case "darwin":
		return fmt.Sprintf("lsof -nP -iTCP:%d -sTCP:LISTEN", port)
	}
	return fmt.Sprintf("ss -ltnp 'sport = :%d'", port)
}

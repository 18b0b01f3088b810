package loopback

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestDialBesideASilentListener has a program at one address of localhost that accepts
// nothing, so that the kernel answers no further connection to it.
func TestDialBesideASilentListener(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd) //nolint:errcheck // The test has ended.
	address := &syscall.SockaddrInet6{Addr: [16]byte{15: 1}}
	if err := syscall.Bind(fd, address); err != nil {
		t.Fatalf("this machine has no IPv6: %v", err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(name.(*syscall.SockaddrInet6).Port)
	own, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close() //nolint:errcheck // The test has ended.
	quick := &net.Dialer{Timeout: 100 * time.Millisecond}
	for err == nil { // until its queue is full
		var c net.Conn
		if c, err = quick.DialContext(t.Context(), "tcp", "[::1]:"+port); err == nil {
			defer c.Close() //nolint:errcheck // The test has ended.
		}
	}
	c, err := Dial(t.Context(), &net.Dialer{Timeout: time.Hour}, "tcp", "localhost:"+port, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // The test has ended.
	if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); host != "127.0.0.1" {
		t.Errorf("connected to %s", host)
	}
}

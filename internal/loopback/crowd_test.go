package loopback

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHalfOpenConnectionsKeepNoRequestWaiting opens more connections without a request
// than a server has places, under one whose answer takes long.
func TestHalfOpenConnectionsKeepNoRequestWaiting(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	c := NewCrowd(4)
	// The server itself gives up on nothing.
	s := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer Answer(r)()
		if r.URL.Path == "/long" {
			close(held)
			<-release
		}
		_, _ = io.WriteString(w, "answered")
	})}
	c.Join(s)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(c.Listener(l)) }()
	dial := func(text string) net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	answer := func(conn net.Conn) {
		t.Helper()
		if b, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(b), "answered") {
			t.Errorf("%q, %v", b, err)
		}
	}
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" }
	long := dial(get("/long"))
	<-held
	var half []net.Conn
	for i := range 20 {
		half = append(half, dial([]string{"", "G", "GET / HTTP/1.1\r\nHost: x\r\n"}[i%3]))
	}
	answer(dial(get("/")))
	for _, conn := range half[:16] {
		if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
			t.Error("a connection without a request got an answer")
		}
	}
	close(release)
	answer(long)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if c.open != 0 || c.waiting.Len() != 0 {
		t.Errorf("%d connections are left, %d wait", c.open, c.waiting.Len())
	}
}

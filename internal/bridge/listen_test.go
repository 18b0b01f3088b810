package bridge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
)

// serve runs a bridge on free loopback ports until the test ends.
func serve(t *testing.T, s *Server) (port int, listeners []net.Listener) {
	t.Helper()
	listeners, err := loopback.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listeners...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listeners[0].Addr().(*net.TCPAddr).Port, listeners
}

func TestListensOnLoopbackOnly(t *testing.T) {
	sink := &shelf{}
	_, listeners := serve(t, New(Options{Sinks: []Sink{sink}}))
	port := 0
	for i, l := range listeners {
		addr := l.Addr().(*net.TCPAddr)
		if !addr.IP.IsLoopback() {
			t.Errorf("listens on %v", addr)
		}
		if port != 0 && addr.Port != port {
			t.Errorf("another port on %v", addr)
		}
		port = addr.Port
		body := strings.Replace(anEvent, `"s"`, fmt.Sprintf(`"s%d"`, i), 1)
		resp, err := http.Post("http://"+addr.String()+"/claude-hook", "application/json", strings.NewReader(body)) //nolint:noctx // A test.
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%v answers %d", addr, resp.StatusCode)
		}
	}
	if len(sink.events) != len(listeners) {
		t.Errorf("%d events", len(sink.events))
	}
	if len(listeners) == 1 {
		t.Log("no IPv6 here")
	}
}

// dial opens a connection and writes to it.
func dial(t *testing.T, port int, text string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func head(length int) string {
	return fmt.Sprintf("POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", length)
}

func TestSlowBodyTimesOut(t *testing.T) {
	sink := &shelf{}
	port, _ := serve(t, New(Options{Sinks: []Sink{sink}, ReadTimeout: 50 * time.Millisecond}))
	for name, sent := range map[string]string{
		"no end of the head": "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\n",
		"half a body":        head(100) + `{"session_id":"s"`,
	} {
		answer, err := io.ReadAll(dial(t, port, sent))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%s: answered %q", name, answer)
		}
	}
	if len(sink.events) != 0 {
		t.Errorf("%d events", len(sink.events))
	}
}

func TestEventIsStoredAfterSenderHangsUp(t *testing.T) {
	taken, hungUp := make(chan struct{}), make(chan struct{})
	sink := &shelf{fail: func(*Event) error {
		close(taken)
		<-hungUp
		return nil
	}}
	s := New(Options{Sinks: []Sink{sink}})
	listeners, err := loopback.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listeners...) }()
	c := dial(t, listeners[0].Addr().(*net.TCPAddr).Port, head(len(anEvent))+anEvent)
	<-taken
	_ = c.Close()
	// The server's end waits for what is under way.
	cancel()
	close(hungUp)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(sink.events) != 1 || s.status(Claude).Processed != 1 {
		t.Errorf("%d events, %+v", len(sink.events), s.status(Claude))
	}
}

func TestConnectionsBeyondTheCapAreAnswered(t *testing.T) {
	port, listeners := serve(t, New(Options{Connections: 1}))
	first := dial(t, port, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := bufio.NewReader(first).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var others []net.Conn
	for range len(listeners) + 1 {
		others = append(others, dial(t, port, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
	}
	// They are answered once the first, which asks for nothing more, has made room.
	for _, c := range others {
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%q, %v", answer, err)
		}
	}
}

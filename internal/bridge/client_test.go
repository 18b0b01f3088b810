package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func portOf(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// closedPort is a port on which no program listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // A test.
	return l.Addr().(*net.TCPAddr).Port
}

// otherBridge is another program's bridge on a loopback port.
func otherBridge(t *testing.T, h http.HandlerFunc) int {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return portOf(t, srv.URL)
}

// hanging is a bridge that never answers. A handler that does not read the body
// cannot see that the client has ended, so it runs until the test ends.
func hanging(t *testing.T) int {
	t.Helper()
	end := make(chan struct{})
	port := otherBridge(t, func(http.ResponseWriter, *http.Request) { <-end })
	// Before the server is closed, which waits for the handler.
	t.Cleanup(func() { close(end) })
	return port
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func answerWith(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestDeliver(t *testing.T) {
	for name, tc := range map[string]struct {
		port   func(t *testing.T) int
		limit  time.Duration
		inFile bool
		code   string
	}{
		"a bridge":   {func(t *testing.T) int { return otherBridge(t, answerWith(200)) }, 0, false, ""},
		"status 201": {func(t *testing.T) int { return otherBridge(t, answerWith(201)) }, 0, false, ""},
		"status 204": {func(t *testing.T) int { return otherBridge(t, answerWith(204)) }, 0, true, ""},
		"status 500": {func(t *testing.T) int { return otherBridge(t, answerWith(500)) }, 0, true, ""},
		"a redirect": {func(t *testing.T) int {
			return otherBridge(t, http.RedirectHandler("http://127.0.0.1:9/", http.StatusTemporaryRedirect).ServeHTTP)
		}, 0, true, ""},
		"a closed connection": {func(t *testing.T) int { return otherBridge(t, hangUp) }, 0, true, ""},
		"no bridge":           {closedPort, 0, true, "ECONNREFUSED"},
		"no answer":           {hanging, 30 * time.Millisecond, true, "ETIMEDOUT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tc.limit, time.Minute))
			defer cancel()
			if err := Deliver(ctx, Cline, []int{tc.port(t)}, s, []byte(anEvent)); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(s.Dir)
			if !tc.inFile {
				if !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a bridge has it, and there is a folder: %v", err)
				}
				return
			}
			if n := len(readArray(t, s.EventsPath())); n != 1 {
				t.Errorf("%d events in the file", n)
			}
			errs := readArray(t, s.ErrorsPath())
			if len(errs) != 1 || errs[0]["context"] != "http_send_failed" {
				t.Fatalf("errors %v", errs)
			}
			if got := errs[0]["error"].(map[string]any)["code"]; got != tc.code {
				t.Errorf("code %v, want %q", got, tc.code)
			}
			more := errs[0]["additionalData"].(map[string]any)
			if more["path"] != "/cline-hook" || more["dataLength"] != float64(len(anEvent)) {
				t.Errorf("additionalData %v", more)
			}
		})
	}
}

func TestPostReachesEveryBridgeInOrder(t *testing.T) {
	one, two := &shelf{}, &shelf{fail: func(e *Event) error {
		if e.Session == "s2" {
			return errors.New("full")
		}
		return nil
	}}
	first, _ := serve(t, New(Options{Sinks: []Sink{one}}))
	second, _ := serve(t, New(Options{Sinks: []Sink{two}}))
	var events [][]byte
	for i := range 4 {
		events = append(events, fmt.Appendf(nil, `{"session_id":"s%d"}`, i))
	}
	taken, err := postAll(t.Context(), Cline, []int{first, second, closedPort(t)}, events)
	if err == nil || taken != len(events) {
		t.Errorf("%d taken of %d, error %v", taken, len(events), err)
	}
	sessions := func(s *shelf) (all []string) {
		for _, e := range s.events {
			all = append(all, e.Session)
		}
		return all
	}
	if d := gocmp.Diff([]string{"s0", "s1", "s2", "s3"}, sessions(one)); d != "" {
		t.Errorf("first (-want +got):\n%s", d)
	}
	if d := gocmp.Diff([]string{"s0", "s1"}, sessions(two)); d != "" {
		t.Errorf("second (-want +got):\n%s", d)
	}
	// Alone, the second leaves two for the file.
	s := newStore(t)
	for i := range events {
		events[i] = fmt.Appendf(nil, `{"session_id":"s%d","again":true}`, i)
	}
	if err := Deliver(t.Context(), Cline, []int{second}, s, events...); err != nil {
		t.Fatal(err)
	}
	if got := readArray(t, s.EventsPath()); len(got) != 2 || got[0]["session_id"] != "s2" || got[1]["session_id"] != "s3" {
		t.Errorf("in the file: %v", got)
	}
}

func TestDeliverFailsWithoutBridgeAndFile(t *testing.T) {
	if err := Deliver(t.Context(), Cline, []int{closedPort(t)}, nil, []byte(anEvent)); err == nil {
		t.Error("no error without a file")
	}
	s := &FileStore{Agent: Cline}
	if err := Deliver(t.Context(), Cline, nil, s, []byte(anEvent)); err == nil {
		t.Error("no error without a folder")
	}
	s = newStore(t)
	if err := Deliver(t.Context(), Cline, nil, s, []byte(anEvent)); err != nil || len(readArray(t, s.EventsPath())) != 1 {
		t.Errorf("the file alone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if taken, err := postAll(ctx, Cline, []int{closedPort(t)}, [][]byte{[]byte(anEvent)}); !errors.Is(err, context.Canceled) || taken != 0 {
		t.Errorf("after the end: %d taken, %v", taken, err)
	}
}

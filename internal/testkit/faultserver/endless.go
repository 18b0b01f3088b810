package faultserver

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Endless is an answer in HTTP/1.1 that has no end: Head, then Unit again and
// again until the client goes away or the server is closed.
type Endless struct {
	Head, Unit string
	// Pace is waited between units; if zero, they follow as the client reads
	// them. An empty Unit holds the connection open.
	Pace time.Duration
}

// drip is the pace of what comes a byte at a time.
const drip = 20 * time.Millisecond

// EndlessAnswers are answers without an end, by name. Those that Slow reports
// end by nothing but the client's time limit.
func EndlessAnswers() map[string]Endless {
	const (
		ok     = "HTTP/1.1 200 OK\r\n"
		body   = ok + "Content-Type: application/x-protobuf\r\nConnection: close\r\n\r\n"
		change = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
		early  = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	)
	return map[string]Endless{
		"101, then silence":           {Head: change},
		"101, then bytes":             {Head: change, Unit: strings.Repeat("x", 4096)},
		"101, then a byte at a time":  {Head: change, Unit: "x", Pace: drip},
		"100 again and again":         {Unit: "HTTP/1.1 100 Continue\r\n\r\n"},
		"103 again and again":         {Unit: early},
		"103, slowly":                 {Unit: early, Pace: drip},
		"a header without end":        {Head: ok, Unit: "X-A: " + strings.Repeat("a", 1000) + "\r\n"},
		"a header a byte at a time":   {Head: ok + "X-A: ", Unit: "a", Pace: drip},
		"a body without end":          {Head: body, Unit: strings.Repeat("\x00", 32<<10)},
		"a body a byte at a time":     {Head: body, Unit: "a", Pace: drip},
		"a body that does not follow": {Head: ok + "Content-Length: 10\r\n\r\n"},
	}
}

// Slow reports an answer that only the client's time limit ends: neither its
// status nor its length says that it is none.
func (e Endless) Slow() bool {
	return !strings.HasPrefix(e.Head, "HTTP/1.1 101") && (e.Pace > 0 || e.Unit == "")
}

// write sends the answer over the handler's connection.
func (e Endless) write(w http.ResponseWriter, stop <-chan struct{}) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		abort()
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, rw)
	}()
	defer func() {
		_ = c.Close()
		<-gone
	}()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stop:
			// A write that the client does not read ends by it.
			_ = c.Close()
		case <-ended:
		}
	}()
	e.pour(c, gone, stop)
}

func (e Endless) pour(c net.Conn, gone, stop <-chan struct{}) {
	if _, err := io.WriteString(c, e.Head); err != nil {
		return
	}
	var pace <-chan time.Time
	if e.Pace > 0 {
		t := time.NewTicker(e.Pace)
		defer t.Stop()
		pace = t.C
	}
	for {
		if pace != nil || e.Unit == "" {
			select {
			case <-pace:
			case <-gone:
				return
			case <-stop:
				return
			}
		}
		if _, err := io.WriteString(c, e.Unit); err != nil {
			return
		}
	}
}

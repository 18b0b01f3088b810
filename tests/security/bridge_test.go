package security_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// bridge is a running `hookspan bridge`.
type bridge struct {
	Port int
	cmd  *exec.Cmd
	errs *bytes.Buffer
	done chan struct{}
}

var listens = regexp.MustCompile(`listening on http://127\.0\.0\.1:([0-9]+)`)

// startBridge starts one on a free port. It is ended with the test at the latest.
func startBridge(t *testing.T, w *lab.World, args ...string) *bridge {
	t.Helper()
	return startBridgeAs(t, w, func(*exec.Cmd) {}, args...)
}

// startBridgeAs is startBridge with a change to how the program is started.
func startBridgeAs(t *testing.T, w *lab.World, change func(*exec.Cmd), args ...string) *bridge {
	t.Helper()
	b := &bridge{cmd: w.Program("hookspan", append([]string{"bridge", "--port", "0", "--quiet"}, args...)...), errs: &bytes.Buffer{}, done: make(chan struct{})}
	change(b.cmd)
	// The test's end asks it to stop, as Ctrl-C does.
	b.cmd.Cancel = func() error { return b.cmd.Process.Signal(os.Interrupt) }
	pipe, err := b.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.end(t) })
	in := bufio.NewReader(pipe)
	for b.Port == 0 {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the bridge ended: %v, said %q", err, line)
		}
		if m := listens.FindStringSubmatch(line); m != nil {
			b.Port, _ = strconv.Atoi(m[1])
		}
	}
	go func() {
		_, _ = io.Copy(b.errs, in)
		close(b.done)
	}()
	return b
}

// end stops the bridge as Ctrl-C does and waits for it.
func (b *bridge) end(t *testing.T) {
	t.Helper()
	if b.cmd.ProcessState != nil {
		return
	}
	_ = b.cmd.Process.Signal(os.Interrupt)
	<-b.done
	if err := b.cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the bridge ended with %v, said %q", err, b.errs)
	}
}

func (b *bridge) address() string { return fmt.Sprintf("127.0.0.1:%d", b.Port) }

// post posts an event as a hook's script does.
func (b *bridge) post(t *testing.T, route string, payload []byte) (code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.address()+route, bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // A test.
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// dial opens a connection that gives up, rather than hang, should the bridge
// never answer.
func (b *bridge) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp4", b.address())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

// raw sends bytes and returns all that comes back until the bridge closes.
func (b *bridge) raw(t *testing.T, request string) string {
	t.Helper()
	c := b.dial(t)
	defer c.Close() //nolint:errcheck // A test.
	// A bridge that refuses early may close before it has read everything.
	_, _ = io.WriteString(c, request)
	out, _ := io.ReadAll(c)
	return string(out)
}

// rawEnd is raw from a sender that says it has sent all.
func (b *bridge) rawEnd(t *testing.T, request string) string {
	t.Helper()
	c := b.dial(t)
	defer c.Close() //nolint:errcheck // A test.
	_, _ = io.WriteString(c, request)
	_ = c.(*net.TCPConn).CloseWrite()
	out, _ := io.ReadAll(c)
	return string(out)
}

// status is the code of the first answer in raw bytes, 0 without any.
func status(raw string) int {
	rest, ok := strings.CutPrefix(raw, "HTTP/1.1 ")
	if !ok || len(rest) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(rest[:3])
	return n
}

// bridgeRows are what a web page, a stranger on the network and a misbehaving
// program can send to a port of this machine.
var bridgeRows = []proof.Row{
	{
		Name:  "requests to the bridge as web pages and rebound names send them, and forms, preflights and absolute addresses",
		Rule:  "refused with 400, 403 or 405; no event is counted; no answer allows another origin",
		Short: 60, Run: pages,
	},
	{
		Name:  "requests that two readers could take for different ones, HTTP/2, upgrades, broken and overlong heads",
		Rule:  "refused, or read as one request whose connection ends; no second event is smuggled in",
		Short: 25, Run: smuggled,
	},
	{
		Name:  "bodies above the limit, with and without a length, while the bridge's memory is watched",
		Rule:  fmt.Sprintf("413 and the connection ends; the resident set stays below %d MB", mostResident>>20),
		Short: 12, Long: 60, Run: hugeBodies,
	},
	{
		Name: fmt.Sprintf("%d connections that send %d MB each at once, of every shape that JSON can have, to a bridge with and without --record and --dir; %d in the short run",
			crowd, crowdBody>>20, smallCrowd),
		Rule: fmt.Sprintf("each event is taken, or refused with 503 and Retry-After, and none that is taken is lost; the resident set stays below %d MB", mostResident>>20),
		// The long run has further rounds.
		Short: smallCrowd, Long: 8 * crowd, Rest: true, Run: crowded,
	},
	{
		Name:  "250 connections that send a few KB each, 9,000 deep, while the folder of events is kept",
		Rule:  fmt.Sprintf("each is taken, or refused with 503 and Retry-After; the resident set stays below %d MB", mostResident>>20),
		Short: crowd, Rest: true, Run: deepBodies,
	},
	{
		Name:  "several bodies at the limit at once, of every shape that JSON can have",
		Rule:  fmt.Sprintf("each is taken, or refused with 503 and Retry-After; the resident set stays below %d MB", mostResident>>20),
		Short: 3, Long: 36, Rest: true, Run: fullBodies,
	},
	{
		Waits: true,
		Name:  "heads and bodies that never end, and more idle connections than are served",
		Rule:  fmt.Sprintf("the bridge closes each by itself, keeps at most %d sockets open, and answers the next request after them", served),
		Short: 300, Long: 2000, Rest: true, Run: idlers,
	},
	{
		Name:  "200 connections with nothing, the beginning of a line or half a head, and an event beside them",
		Rule:  "it is taken while all of them are open",
		Short: 200, Run: func(t *testing.T, r *proof.Result) {
			b := startBridge(t, lab.New(t))
			if wrong := beside(t, b, served, func() bool {
				return status(b.raw(t, fmt.Sprintf("POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(anEvent), anEvent))) == 200
			}); wrong != "" {
				r.Break("%s", wrong)
			}
			r.Trial(200)
		},
	},
	{
		Name:  "the sockets of a running bridge",
		Rule:  "it listens on 127.0.0.1 and ::1 and nowhere else; no other address of this machine answers on its port",
		Short: 2, Run: bindings,
	},
}

const anEvent = `{"session_id":"s","hook_event_name":"Stop","cwd":"/"}`

// request is a POST of an event with these lines in its head.
func request(line string, head ...string) string {
	if line == "" {
		line = "POST /claude-hook HTTP/1.1"
	}
	all := append([]string{line}, head...)
	return strings.Join(append(all, "Connection: close", fmt.Sprintf("Content-Length: %d", len(anEvent)), "", anEvent), "\r\n")
}

// events are the events that the bridge has counted.
func (b *bridge) events(t *testing.T) (processed int) {
	t.Helper()
	raw := b.raw(t, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	var h struct {
		Providers []struct {
			Processed int `json:"processedEvents"`
			Repeated  int `json:"repeatedEvents"`
		}
	}
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatalf("health: %v: %q", err, raw)
	}
	for _, p := range h.Providers {
		processed += p.Processed + p.Repeated
	}
	return processed
}

func pages(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	b := startBridge(t, w, "--record")
	own := fmt.Sprintf("localhost:%d", b.Port)
	// The row's own measure: what is right is taken.
	if got := status(b.raw(t, request("", "Host: "+own))); got != http.StatusOK {
		t.Fatalf("an honest event was answered %d", got)
	}
	before := b.events(t)
	var all []string
	for _, host := range []string{
		"evil.example", fmt.Sprintf("evil.example:%d", b.Port), "localhost.evil.example", "127.0.0.1.nip.io", "localhost.", "localhost.localdomain",
		"127.0.0.1.", "127.0.0.2", "127.1", "0x7f.0.0.1", "2130706433", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[::1%25lo]",
		"localhost@evil.example", "evil.example#localhost", "evil.example/localhost", "localhost evil.example", "localhost,evil.example", "", "evil.example:80:localhost",
		"\u2028localhost", "l\u00f6calhost", "xn--localhost", "[127.0.0.1]x", "[localhost", "localhost:3043:1", "user:pass@localhost",
	} {
		all = append(all, request("", "Host: "+host))
	}
	for _, origin := range []string{
		"http://evil.example", "https://evil.example", "null", "", "http://localhost", "http://" + own, "http://127.0.0.1:" + strconv.Itoa(b.Port), "file://",
		"chrome-extension://abc", "moz-extension://abc", "vscode-webview://abc", "http://localhost.evil.example",
	} {
		all = append(all,
			request("", "Host: "+own, "Origin: "+origin),
			request("", "Host: "+own, "Origin: "+origin, "Content-Type: text/plain"),
			request("", "Host: "+own, "Origin: "+origin, "Content-Type: application/x-www-form-urlencoded"),
			request("OPTIONS /claude-hook HTTP/1.1", "Host: "+own, "Origin: "+origin, "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: content-type", "Access-Control-Request-Private-Network: true"),
		)
	}
	for _, site := range []string{"cross-site", "same-site", "same-origin", "none", ""} {
		// What a page sends without an origin: images, navigation, form gets; and what a
		// typed address sends.
		all = append(all,
			request("GET /claude-hook HTTP/1.1", "Host: "+own, "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: no-cors"),
			request("GET /health HTTP/1.1", "Host: "+own, "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: navigate"),
			request("", "Host: "+own, "Sec-Fetch-Site: "+site))
	}
	for _, line := range []string{
		"POST http://evil.example/claude-hook HTTP/1.1", "POST https://evil.example:443/claude-hook HTTP/1.1", "GET http://evil.example/health HTTP/1.1",
		"CONNECT evil.example:443 HTTP/1.1", "OPTIONS * HTTP/1.1", "OPTIONS /claude-hook HTTP/1.1", "TRACE /claude-hook HTTP/1.1",
		"PUT /claude-hook HTTP/1.1", "DELETE /claude-hook HTTP/1.1", "PATCH /cline-hook HTTP/1.1", "PROPFIND / HTTP/1.1",
		"POST //evil.example/claude-hook HTTP/1.1", "POST /claude-hook/../claude-hook HTTP/1.1", "POST /CLAUDE-HOOK HTTP/1.1", "POST /claude-hook/ HTTP/1.1",
		"POST /%63laude-hook/x HTTP/1.1", "POST /health HTTP/1.1",
	} {
		all = append(all, request(line, "Host: "+own))
	}
	for _, req := range all {
		raw := b.raw(t, req)
		head, _, _ := strings.Cut(req, anEvent)
		switch got := status(raw); got {
		case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		default:
			r.Break("answered %d: %q", got, head)
		}
		if strings.Contains(strings.ToLower(raw), "access-control-") {
			r.Break("an answer allows other origins: %q", raw)
		}
		if n := b.events(t); n != before {
			r.Break("%d events were taken of %q", n-before, head)
			before = n
		}
		r.Trial(1)
	}
}

func smuggled(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	b := startBridge(t, w)
	second := "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 21\r\n\r\n{\"session_id\":\"evil\"}"
	chunked := "0\r\n\r\n"
	host := "Host: localhost\r\n"
	for name, req := range map[string]string{
		"length and chunks":            "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + second,
		"chunks and length":            "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 500\r\n\r\n" + chunked + second,
		"two lengths":                  "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + second,
		"a length list":                "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: 0, 5\r\n\r\n" + second,
		"a signed length":              "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: +0\r\n\r\n" + second,
		"a negative length":            "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n" + second,
		"a hexadecimal length":         "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: 0x0\r\n\r\n" + second,
		"a length beyond 64 bits":      "POST /claude-hook HTTP/1.1\r\n" + host + "Content-Length: 18446744073709551616\r\n\r\n" + second,
		"an unknown encoding":          "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n" + chunked + second,
		"chunks twice":                 "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunked + second,
		"chunks not last":              "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked + second,
		"a tab in the encoding":        "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding:\tchunked\r\nContent-Length: 5\r\n\r\n" + chunked + second,
		"a blank before the colon":     "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n" + second,
		"a folded header":              "POST /claude-hook HTTP/1.1\r\n" + host + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n" + second,
		"a bare line feed":             "POST /claude-hook HTTP/1.1\n" + "Host: evil.example\n" + "Content-Length: 0\n\n" + second,
		"a bare carriage return":       "POST /claude-hook HTTP/1.1\r\n" + host + "X: y\rTransfer-Encoding: chunked\r\n\r\n" + second,
		"a NUL in a header":            "POST /claude-hook HTTP/1.1\r\n" + host + "X: y\x00z\r\n\r\n" + second,
		"a chunk of negative size":     "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + second,
		"a chunk of endless size":      "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + second,
		"a chunk with a long comment":  "POST /claude-hook HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0;" + strings.Repeat("x", 1<<20) + "\r\n" + second,
		"HTTP/1.0 with chunks":         "POST /claude-hook HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + chunked + second,
		"HTTP/0.9":                     "GET /health\r\n" + second,
		"HTTP/1.9":                     "POST /claude-hook HTTP/1.9\r\n" + host + "Content-Length: x\r\n\r\n" + second,
		"HTTP/2 without a handshake":   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + second,
		"an upgrade to HTTP/2":         "GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + second,
		"an upgrade to a web socket":   "GET /claude-hook HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + second,
		"a TLS hello":                  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 512) + "\r\n\r\n" + second,
		"no host":                      "POST /claude-hook HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + second,
		"two hosts":                    "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n" + second,
		"a head of a megabyte":         "POST /claude-hook HTTP/1.1\r\n" + host + "X: " + strings.Repeat("y", 1<<20) + "\r\n\r\n" + second,
		"a request line of a megabyte": "POST /" + strings.Repeat("y", 1<<20) + " HTTP/1.1\r\n" + host + "\r\n" + second,
		"100,000 headers":              "POST /claude-hook HTTP/1.1\r\n" + host + strings.Repeat("X: y\r\n", 100_000) + "\r\n" + second,
		"a method that is not one":     "PO ST /claude-hook HTTP/1.1\r\n" + host + "\r\n" + second,
		"bytes of all kinds":           string(allBytes()) + "\r\n\r\n" + second,
	} {
		raw := b.rawEnd(t, req)
		if strings.Count(raw, "HTTP/1.1 ") > 1 {
			r.Break("%s: two answers: %q", name, raw)
		}
		if n := b.events(t); n != 0 {
			r.Break("%s: %d events were smuggled in, answered %q", name, n, raw)
			return
		}
		r.Trial(1)
	}
	// What is pipelined honestly is two requests.
	raw := b.raw(t, "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: "+strconv.Itoa(len(anEvent))+"\r\n\r\n"+anEvent+
		"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if strings.Count(raw, "HTTP/1.1 200") != 2 {
		r.Break("two requests in a row were answered %q", raw)
	}
	r.Trial(1)
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

package security_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// mostResident is the memory in bytes below which a bridge stays whatever is sent
// to it (docs/bridge.md).
const mostResident = 250 << 20

// maxBody is what the bridge takes at the most (docs/bridge.md).
const maxBody = 50 << 20

func hugeBodies(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	b := startBridge(t, w)
	block := bytes.Repeat([]byte("x"), 1<<20)
	// send gives the bridge up to n megabytes; a bridge that has refused closes.
	send := func(head string, n int, chunked bool) string {
		c := b.dial(t)
		defer c.Close() //nolint:errcheck // A test.
		answer := make(chan string, 1)
		go func() {
			out, _ := io.ReadAll(c)
			answer <- string(out)
		}()
		_, err := io.WriteString(c, "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\n"+head+"\r\n\r\n")
		for i := 0; err == nil && i < n; i++ {
			if chunked {
				_, err = fmt.Fprintf(c, "%x\r\n%s\r\n", len(block), block)
			} else {
				_, err = c.Write(block)
			}
		}
		return <-answer
	}
	shapes := []func() string{
		func() string { return send("Content-Length: "+strconv.Itoa(maxBody+1), 0, false) },
		func() string { return send("Content-Length: "+strconv.Itoa(maxBody+1), maxBody>>20+1, false) },
		func() string { return send("Content-Length: 9223372036854775807", 4, false) },
		func() string { return send("Transfer-Encoding: chunked", maxBody>>20+1, true) },
		func() string { return send("Transfer-Encoding: chunked", 10*maxBody>>20, true) },
		func() string {
			return send("Expect: 100-continue\r\nContent-Length: "+strconv.Itoa(maxBody+1), 0, false)
		},
	}
	var wg sync.WaitGroup
	for i := range r.N {
		wg.Go(func() {
			if raw := shapes[i%len(shapes)](); status(raw) != http.StatusRequestEntityTooLarge {
				r.Break("body %d was answered %.200q", i, raw)
			}
			r.Trial(1)
		})
		if i%len(shapes) == len(shapes)-1 {
			wg.Wait()
		}
	}
	wg.Wait()
	if got := status(b.raw(t, request("", "Host: localhost"))); got != http.StatusOK {
		r.Break("after that an honest event was answered %d", got)
	}
	r.Note("peak %d MB", b.resident(t, r)>>20)
}

// resident is the most memory the bridge has had, which it may not exceed.
func (b *bridge) resident(t *testing.T, r *proof.Result) int {
	t.Helper()
	peak := b.peak(t, r)
	if peak >= mostResident {
		r.Break("the bridge used %d MB, want below %d", peak>>20, mostResident>>20)
	}
	return peak
}

// crowd is how many connections send at once, and crowdBody how many bytes each:
// as many as the bridge serves, with bodies of the size up to which it once read
// all of them side by side.
const (
	crowd      = 250
	smallCrowd = 100
	crowdBody  = 1 << 20
)

// shaped are events of about n bytes with all that can make JSON costly to read.
// Each i gives another event.
func shaped(n, i int) []byte {
	head := fmt.Sprintf(`{"session_id":"s%d","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t%d","tool_input":`, i, i)
	fill := func(piece string) string { return strings.Repeat(piece, (n-len(head)-64)/len(piece)) }
	var input string
	switch i % 5 {
	case 0:
		input = `{"command":"` + fill("x") + `"}`
	case 1:
		input = "[" + fill("0,") + "0]"
	case 2:
		input = "[" + fill("{},") + "{}]"
	case 3:
		input = `{"a":0` + fill(`,"":""`) + "}"
	case 4:
		input = `"` + fill(`\u0000`) + `"`
	}
	return []byte(head + input + "}")
}

// flood posts bodies at once and returns how many of each answer came back.
func (b *bridge) flood(t *testing.T, r *proof.Result, bodies [][]byte) map[int]int {
	t.Helper()
	var mu sync.Mutex
	codes := make(map[int]int)
	conns := make([]net.Conn, len(bodies))
	for i, body := range bodies {
		conns[i] = b.dial(t)
		defer conns[i].Close() //nolint:errcheck // A test.
		if _, err := fmt.Fprintf(conns[i], "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(body)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i, body := range bodies {
		wg.Go(func() {
			// A refusal may come before all is sent.
			_, _ = conns[i].Write(body)
			raw, _ := io.ReadAll(conns[i])
			code := status(string(raw))
			if code == http.StatusServiceUnavailable && !strings.Contains(string(raw), "Retry-After: ") {
				r.Break("a 503 without Retry-After: %q", raw)
			}
			mu.Lock()
			codes[code]++
			mu.Unlock()
			r.Trial(1)
		})
	}
	wg.Wait()
	return codes
}

func crowded(t *testing.T, r *proof.Result) {
	peak, taken := 0, 0
	size := min(r.N, crowd)
	for round := range r.N / size {
		keep := round%2 == 0
		w := lab.New(t)
		var args []string
		if keep {
			args = []string{"--record"}
		}
		if keep && proof.Soak() { // It writes the file anew for each event.
			args = append(args, "--dir", filepath.Join(w.Home, "kept"))
		}
		b := startBridge(t, w, args...)
		bodies := make([][]byte, size)
		for i := range bodies {
			bodies[i] = shaped(crowdBody, round*size+i)
		}
		codes := b.flood(t, r, bodies)
		ok := codes[http.StatusOK]
		if ok+codes[http.StatusServiceUnavailable] != size || ok == 0 {
			r.Break("%v: answers %v, want 200 or 503 for each of %d", args, codes, size)
		}
		if n := b.events(t); n != ok {
			r.Break("%v: %d events were acknowledged and %d taken", args, ok, n)
		}
		if n := len(w.Records(t)); keep && n != ok {
			r.Break("%v: %d events were acknowledged and %d stored", args, ok, n)
		}
		peak, taken = max(peak, b.resident(t, r)), taken+ok
		b.end(t)
	}
	r.Note("peak %d MB, %d of %d taken", peak>>20, taken, r.N)
}

func deepBodies(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	b := startBridge(t, w, "--record", "--dir", filepath.Join(w.Home, "kept"))
	bodies := make([][]byte, crowd)
	for i := range bodies {
		deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
		bodies[i] = fmt.Appendf(nil, `{"session_id":"s","hook_event_name":"PreToolUse","tool_use_id":"t%d","tool_input":%s}`, i, deep)
	}
	codes := b.flood(t, r, bodies)
	taken := codes[http.StatusOK]
	if taken+codes[http.StatusServiceUnavailable] != crowd || taken == 0 {
		r.Break("answers %v, want 200 or 503 for each of %d", codes, crowd)
	}
	if n := b.events(t); n != taken {
		r.Break("%d events were acknowledged and %d taken", taken, n)
	}
	r.Note("peak %d MB, %d of %d taken", b.resident(t, r)>>20, taken, crowd)
}

func fullBodies(t *testing.T, r *proof.Result) {
	const atOnce = 3
	w := lab.New(t)
	b := startBridge(t, w, "--record")
	codes := make(map[int]int)
	for i := 0; i < r.N; i += atOnce {
		bodies := make([][]byte, atOnce)
		for k := range bodies {
			bodies[k] = shaped(maxBody, i+k)
		}
		for code, n := range b.flood(t, r, bodies) {
			codes[code] += n
		}
	}
	taken := codes[http.StatusOK]
	// One of those that come at once need not wait.
	if taken+codes[http.StatusServiceUnavailable] != r.N || taken < r.N/atOnce {
		r.Break("answers %v, want 200 or 503 for each of %d", codes, r.N)
	}
	if n := b.events(t); n != taken {
		r.Break("%d events were acknowledged and %d taken", taken, n)
	}
	r.Note("peak %d MB, %d of %d taken", b.resident(t, r)>>20, taken, r.N)
}

// peak is the most memory the bridge has had.
func (b *bridge) peak(t *testing.T, r *proof.Result) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		r.Skip("%v", err)
	}
	defer f.Close() //nolint:errcheck // Read only.
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// sockets are the inodes of the bridge's sockets.
func (b *bridge) sockets(r *proof.Result) map[string]bool {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", b.cmd.Process.Pid))
	if err != nil || len(links) == 0 {
		r.Skip("no /proc/PID/fd here")
	}
	out := make(map[string]bool)
	for _, l := range links {
		target, _ := os.Readlink(l)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			out[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return out
}

// served is how many connections a bridge serves, with one more for each of its
// two listeners, which accept before they wait; and the listeners themselves.
const served = 256 + 2 + 2

func idlers(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	b := startBridge(t, w)
	starts := []string{
		"", "P", "POST /claude-hook HTTP/1.1\r\n", "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"GET /health HTTP/1.1\r\nHost: localhost\r\n",
	}
	if proof.Soak() {
		// These have half a minute.
		starts = append(starts,
			"POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
			"POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
			"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	most := 0
	var wg sync.WaitGroup
	for i := range r.N {
		c := b.dial(t)
		if _, err := io.WriteString(c, starts[i%len(starts)]); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 {
			most = max(most, len(b.sockets(r)))
		}
		wg.Go(func() {
			defer c.Close() //nolint:errcheck // A test.
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				r.Break("connection %d is still open", i)
			}
			r.Trial(1)
		})
	}
	// Connections are accepted in their order: when this one is answered, all
	// before it have been, and without a limit all are open.
	if got := status(b.raw(t, request("", "Host: localhost"))); got != http.StatusOK {
		r.Break("beside them an honest event was answered %d", got)
	}
	most = max(most, len(b.sockets(r)))
	wg.Wait()
	if most > served {
		r.Break("%d sockets were open at a time, want up to %d", most, served)
	}
	r.Note("%d sockets at a time", most)
}

// listening are the local addresses of the bridge's listening sockets as the
// kernel writes them: hexadecimal, each four bytes in the machine's order.
func (b *bridge) listening(t *testing.T, r *proof.Result) (out []string) {
	t.Helper()
	inodes := b.sockets(r)
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", b.cmd.Process.Pid, table))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			const listen = "0A"
			f := strings.Fields(line)
			if len(f) > 9 && inodes[f[9]] && (f[3] == listen || strings.HasPrefix(table, "udp")) {
				out = append(out, f[1])
			}
		}
	}
	return out
}

func bindings(t *testing.T, r *proof.Result) { bound(t, r, startBridge(t, lab.New(t))) }

// bound checks where a server listens.
func bound(t *testing.T, r *proof.Result, b *bridge) {
	t.Helper()
	port := fmt.Sprintf(":%04X", b.Port)
	allowed := map[string]bool{"0100007F" + port: true, "00000000000000000000000001000000" + port: true}
	all := b.listening(t, r)
	for _, address := range all {
		if !allowed[address] {
			r.Break("listens on %s", address)
		}
		r.Trial(1)
	}
	if len(all) == 0 {
		r.Break("no listening socket was found")
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() {
			continue
		}
		others++
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(n.IP.String(), strconv.Itoa(b.Port)))
		if err == nil {
			_ = c.Close()
			r.Break("%s answers", n.IP)
		}
		r.Trial(1)
	}
	r.Note("%d listening sockets, %d other addresses tried", len(all), others)
}

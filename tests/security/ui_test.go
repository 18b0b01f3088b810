package security_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// uiRows attack the server of hookspan ui. What needs a browser is in tests/ui.
var uiRows = []proof.Row{
	{
		Name:  "requests to hookspan ui, with its token, under names that were rebound to this machine and in each other way to write Host",
		Rule:  "refused with 400 or 421, without data",
		Short: 30, Run: onPage(rebound),
	},
	{
		Name:  "requests to hookspan ui as browsers send them for pages at other ports and sites: fetch, form, image, frame, script, style, EventSource, WebSocket, preflight",
		Rule:  "refused with 403 or 405, without data; no answer allows another origin or sets a cookie",
		Short: 30, Run: onPage(otherPages),
	},
	{
		Name:  "each path of hookspan ui's API without a token, with a wrong one, a part, two, and the right one in a query, a cookie or another header",
		Rule:  "refused with 401, without data; so is the token of a run that has ended",
		Short: 100, Run: onPage(tokens),
	},
	{
		Name:  "hookspan ui's token in the process list, the browser's arguments and environment, every answer, the log and the state folder",
		Rule:  "it is in the first line, and in one file of mode 0600 that is removed at the end, and nowhere else; each run has another one",
		Short: 20, Run: onPage(tokenSeen),
	},
	{
		Name:  "bodies, heads and request lines of a megabyte, 100,000 headers and parameters beyond every limit to hookspan ui",
		Rule:  fmt.Sprintf("refused with 4xx; the resident set stays below %d MB", mostOfPage>>20),
		Short: 12, Run: onPage(oversized),
	},
	{
		Waits: true,
		Name:  "heads that never end, bodies that never come, silent connections and event streams, more than hookspan ui serves",
		Rule:  fmt.Sprintf("the server closes each by itself or keeps at most %d sockets open, and answers the next request after them", pageSockets),
		Short: 300, Rest: true, Run: onPage(slow),
	},
	{
		Name:  "200 connections with nothing, the beginning of a line or half a head to hookspan ui, and an authenticated request beside them",
		Rule:  fmt.Sprintf("it is answered while all but the %d that make room for it are open", 200+1-pagePlaces),
		Short: 200, Run: onPage(halfOpen),
	},
	{
		Name:  "paths of hookspan ui's assets that lead upwards, plain, encoded once and twice, with backslashes, NUL and absolute",
		Rule:  "no file of this machine is in an answer",
		Short: 20, Run: onPage(traversal),
	},
	{
		Name: "hooks' files that change between the preview and the write of hookspan ui --edit: other bytes, one byte more, no JSON, gone, a folder, a link to the same bytes, " +
			"a folder that is a link to the same",
		Rule:  "refused with 409, or 400 for what cannot be read; no file of this machine changes",
		Short: 7, Run: onEditedPage(swapped),
	},
	{
		Name: "writes to hookspan ui --edit without the code that the terminal shows, with a part of it, another change's, one of a former preview, after three wrong ones, " +
			"twice, with another digest; previews and writes without the token, of other pages and in other forms; and all of them without --edit",
		Rule:  "refused with 4xx; no file of this machine changes, and no answer has the code",
		Short: 30, Run: onEditedPage(writes),
	},
	{
		Name:  "the sockets of a running hookspan ui",
		Rule:  "it listens on 127.0.0.1 and ::1 and nowhere else; no other address of this machine answers on its port",
		Short: 2, Run: func(t *testing.T, r *proof.Result) { bound(t, r, startPage(t, r, "").bridge) },
	},
	{
		Waits: true,
		Name:  "these attacks on a hookspan ui that was built without its defences, in the long run without each of them",
		Rule:  "each attack that a defence is for succeeds: the rows above can fail",
		Short: 1, Rest: true, Run: defenceless,
	},
}

// The limits of the page's server.
const (
	mostOfPage = 128 << 20
	// pagePlaces are the connections that the page's server has.
	pagePlaces = 128
	// pageSockets are the connections of both listeners, the listeners, and one more
	// that each may have taken from the system.
	pageSockets = 2*pagePlaces + 4
)

// secretText is in the trace that the page shows, and in no answer without a token.
const secretText = "the words of the trace 7d1f"

// page is a running `hookspan ui` with one trace.
type page struct {
	*bridge
	w *lab.World
	r *proof.Result
	// name is the host name of its address.
	name, token string
	// terminal is what the program says in it.
	terminal terminal
	// slowFor is how long a connection may stay open: twelve times the server's limit,
	// for the time of a loaded machine.
	slowFor time.Duration
	// previews counts the hooks that the test asked to add.
	previews int
	// seen is what the browser reports: its arguments, its environment and the
	// process list.
	seen string
}

var pageAddress = regexp.MustCompile(`^http://([0-9a-f]{32}\.localhost):([0-9]+)/open#token=([0-9a-f]{64})\n$`)

// startPage starts a program, hookspan if it has no name, and waits for its browser.
func startPage(t *testing.T, r *proof.Result, program string) *page {
	t.Helper()
	return startPageIn(t, r, lab.New(t), program)
}

func startPageIn(t *testing.T, r *proof.Result, w *lab.World, program string, options ...string) *page {
	t.Helper()
	w.Play(task(t, "page", secretText, "read_file", "a.go", "ok"))
	w.Settle()
	w.Flush()
	// The browser answers through a pipe, so that nothing has to be waited for.
	pipe := filepath.Join(w.Home, "seen")
	if err := mkfifo(pipe); err != nil {
		r.Skip("%v", err)
	}
	w.Write("browser/xdg-open", "#!/bin/sh\n{ printf '%s\\n' \"$@\"; env; cat /proc/[0-9]*/cmdline; } 2>/dev/null >'"+pipe+"'\n")
	if err := os.Chmod(filepath.Join(w.Home, "browser", "xdg-open"), 0o700); err != nil { //nolint:gosec // A program.
		t.Fatal(err)
	}
	p := &page{bridge: &bridge{cmd: w.Program("hookspan", append([]string{"ui", "--port", "0"}, options...)...), errs: &bytes.Buffer{}, done: make(chan struct{})}, w: w, r: r, slowFor: time.Minute}
	if program != "" {
		p.cmd.Path = program
	}
	p.cmd.Env = append(slices.Clone(w.Environ), "PATH="+filepath.Join(w.Home, "browser")+string(os.PathListSeparator)+os.Getenv("PATH"))
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.Stderr = io.MultiWriter(p.errs, &p.terminal)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	m := pageAddress.FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("first line %q, %v; said %q", line, err, p.errs)
	}
	p.name, p.token = m[1], m[3]
	p.Port, _ = strconv.Atoi(m[2])
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(p.done)
	}()
	b, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	p.seen = string(b)
	return p
}

// address is what browsers ask for.
func (p *page) address() string { return p.name + ":" + strconv.Itoa(p.Port) }

// get is a request with the lines of a head behind its first two, which may be changed.
func (p *page) get(path string, head ...string) string {
	return "GET " + path + " HTTP/1.1\r\n" + strings.Join(append([]string{"Host: " + p.address(), "Connection: close"}, head...), "\r\n") + "\r\n\r\n"
}

func (p *page) tokenLine() string { return "X-Hookspan-Token: " + p.token }

// finding is what came of an attack: its trials, and those that succeeded.
type finding struct {
	trials int
	broken []string
	notes  []string
}

func (f *finding) breaks(format string, args ...any) {
	f.broken = append(f.broken, fmt.Sprintf(format, args...))
}

// attack makes its trials on a page.
type attack func(t *testing.T, p *page) *finding

// onPage makes a row of an attack.
func onPage(a attack) func(*testing.T, *proof.Result) {
	return func(t *testing.T, r *proof.Result) {
		f := a(t, startPage(t, r, ""))
		r.Trial(f.trials)
		for _, b := range f.broken {
			r.Break("%s", b)
		}
		for _, n := range f.notes {
			r.Note("%s", n)
		}
	}
}

// answer is raw that ends where a stream of events begins.
func (p *page) answer(t *testing.T, request string) string {
	t.Helper()
	c := p.dial(t)
	defer c.Close() //nolint:errcheck // A test.
	_, _ = io.WriteString(c, request)
	var out strings.Builder
	for in := bufio.NewReader(c); ; {
		line, err := in.ReadString('\n')
		out.WriteString(line)
		if err != nil || line == "event: open\n" {
			return strings.Replace(out.String(), "HTTP/1.0 ", "HTTP/1.1 ", 1)
		}
	}
}

// refused sends requests and checks their answers: one of the codes, nothing of the
// trace, nothing for another origin.
func (p *page) refused(t *testing.T, f *finding, requests map[string]string, codes ...int) {
	t.Helper()
	if raw := p.raw(t, p.get("/api/v1/sessions", p.tokenLine())); !strings.Contains(raw, secretText) {
		t.Fatalf("an honest request was answered %q", raw)
	}
	for name, request := range requests {
		raw := p.answer(t, request)
		f.trials++
		head, _, _ := strings.Cut(strings.ToLower(raw), "\r\n\r\n")
		switch {
		case !slices.Contains(codes, status(raw)):
			f.breaks("%s: answered %d, want one of %d", name, status(raw), codes)
		case strings.Contains(raw, secretText), strings.Contains(raw, p.token), strings.Contains(head, "access-control-"), strings.Contains(head, "set-cookie"):
			f.breaks("%s: answered %q", name, raw)
		}
	}
}

func rebound(t *testing.T, p *page) *finding {
	f, all := &finding{}, make(map[string]string)
	port := strconv.Itoa(p.Port)
	for _, host := range []string{
		"evil.example", "evil.example:" + port, "localhost.evil.example:" + port, "127.0.0.1.nip.io:" + port, "localhost.:" + port, "x.localhost:" + port,
		"localhost.localdomain:" + port, "127.0.0.1", "localhost", "[::1]", "127.0.0.1.:" + port, "127.0.0.2:" + port, "127.1:" + port, "0x7f.0.0.1:" + port,
		"2130706433:" + port, "0.0.0.0:" + port, "[::]:" + port, "[::ffff:127.0.0.1]:" + port, "[0:0:0:0:0:0:0:1]:" + port, "[::1%25lo]:" + port,
		"localhost@evil.example:" + port, "evil.example#localhost:" + port, "localhost:" + port + ":1", "localhost:0" + port, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port, strings.ToUpper(p.name) + ":" + port, p.name, p.name + ".:" + port, p.name + ":1", p.name[1:] + ":" + port,
		strings.Repeat("0", 32) + ".localhost:" + port, "a." + p.name + ":" + port, "127.0.0.1:1", "user:pass@127.0.0.1:" + port,
		"LOCALHOST:" + port, "", "evil.example, 127.0.0.1:" + port, "[127.0.0.1]:" + port,
	} {
		all["Host "+strconv.Quote(host)] = strings.Replace(p.get("/api/v1/sessions", p.tokenLine()), "Host: "+p.address(), "Host: "+host, 1)
	}
	honest := p.get("/api/v1/sessions", p.tokenLine())
	all["two hosts"] = strings.Replace(honest, "Host: ", "Host: evil.example\r\nHost: ", 1)
	all["the absolute form"] = strings.Replace(honest, "GET /", "GET http://evil.example:"+port+"/", 1)
	all["HTTP/1.0 without a host"] = "GET /api/v1/sessions HTTP/1.0\r\n" + p.tokenLine() + "\r\n\r\n"
	all["X-Forwarded-Host"] = strings.Replace(honest, "Host: "+p.address(), "Host: evil.example\r\nX-Forwarded-Host: "+p.address(), 1)
	p.refused(t, f, all, http.StatusBadRequest, http.StatusMisdirectedRequest)
	return f
}

// otherPages has the token in each request, so that nothing else refuses it.
func otherPages(t *testing.T, p *page) *finding {
	f, all := &finding{}, make(map[string]string)
	for _, origin := range []string{
		"http://127.0.0.1:3000", "http://localhost:3000", "http://evil.example", "https://" + p.address(), "http://" + p.address() + ".evil.example", "null", "",
		"file://", "chrome-extension://abc", "vscode-webview://abc", "http://127.0.0.1", "http://[::1]:" + strconv.Itoa(p.Port),
	} {
		all["a fetch, by its origin "+origin] = p.get("/api/v1/sessions", p.tokenLine(), "Origin: "+origin)
		all["a WebSocket, by its origin "+origin] = strings.Replace(p.get("/api/v1/events", p.tokenLine(), "Origin: "+origin, "Upgrade: websocket", "Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), "Connection: close", "Connection: Upgrade, close", 1)
		all["a preflight of "+origin] = strings.Replace(p.get("/api/v1/sessions", "Origin: "+origin, "Access-Control-Request-Method: GET",
			"Access-Control-Request-Headers: x-hookspan-token", "Access-Control-Request-Private-Network: true"), "GET", "OPTIONS", 1)
	}
	for _, site := range []string{"same-site", "cross-site", "", "Same-Origin", "none, cross-site"} {
		for kind, how := range map[string][2]string{
			"fetch": {"cors", "empty"}, "image": {"no-cors", "image"}, "script": {"no-cors", "script"}, "style": {"no-cors", "style"}, "frame": {"navigate", "iframe"}, "event source": {"cors", "empty"},
		} {
			for _, path := range []string{"/api/v1/sessions", "/assets/app.js", "/open"} {
				all[fmt.Sprintf("%s of %s, by Sec-Fetch-Site %q", kind, path, site)] = p.get(path, p.tokenLine(), "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: "+how[0], "Sec-Fetch-Dest: "+how[1])
			}
		}
	}
	all["two sites"] = p.get("/api/v1/sessions", p.tokenLine(), "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site")
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "get"} {
		all["the method "+method] = strings.Replace(p.get("/api/v1/sessions", p.tokenLine(), "Content-Length: 0"), "GET", method, 1)
	}
	all["a form"] = strings.Replace(p.get("/api/v1/hooks/edit", "Content-Type: application/x-www-form-urlencoded", "Origin: http://127.0.0.1:3000", "Content-Length: 3"), "GET", "POST", 1) + "a=b"
	p.refused(t, f, all, http.StatusForbidden, http.StatusMethodNotAllowed)
	return f
}

// apiPaths are what the page asks for.
func (p *page) apiPaths(t *testing.T) []string {
	t.Helper()
	raw := p.raw(t, p.get("/api/v1/sessions", p.tokenLine()))
	id := regexp.MustCompile(`"traceId":"([0-9a-f]{32})"`).FindStringSubmatch(raw)
	if id == nil {
		t.Fatalf("no trace in %q", raw)
	}
	of := "/api/v1/traces/" + id[1]
	return []string{
		"/api/v1/about", "/api/v1/sessions", "/api/v1/facets", "/api/v1/session/page", of, of + "/rows", of + "/lines", of + "/row/0", of + "/find?text=words", of + "/conversation",
		of + "/changes", "/api/v1/search?text=words", "/api/v1/usage", "/api/v1/compare?a=" + id[1] + "&b=" + id[1], "/api/v1/hooks", "/api/v1/hooks/calls", "/api/v1/status", "/api/v1/events",
	}
}

func tokens(t *testing.T, p *page) *finding {
	f, all := &finding{}, make(map[string]string)
	zeros := strings.Repeat("0", len(p.token))
	paths := p.apiPaths(t)
	for _, path := range paths {
		and := "?"
		if strings.Contains(path, "?") {
			and = "&"
		}
		all[path+" without a token"] = p.get(path)
		all[path+" with the token in the query"] = p.get(path + and + "token=" + p.token)
		for name, line := range map[string]string{
			"a wrong token": "X-Hookspan-Token: " + zeros, "all but its last digit": "X-Hookspan-Token: " + p.token[:63], "one digit more": "X-Hookspan-Token: " + p.token + "0",
			"an empty token": "X-Hookspan-Token: ", "two tokens": p.tokenLine() + "\r\n" + p.tokenLine(), "a list": p.tokenLine() + "," + zeros,
			"the other case": "X-Hookspan-Token: " + strings.ToUpper(p.token), "a cookie": "Cookie: X-Hookspan-Token=" + p.token + "; token=" + p.token,
			"another header": "Authorization: Bearer " + p.token + "\r\nX-Token: " + p.token,
		} {
			if name == "the other case" && strings.ToUpper(p.token) == p.token {
				continue
			}
			all[path+" with "+name] = p.get(path, line)
		}
	}
	p.refused(t, f, all, http.StatusUnauthorized)
	// The next run takes this run's token for a wrong one.
	old := p.token
	p.end(t)
	if err := os.Remove(filepath.Join(p.w.Home, "seen")); err != nil {
		t.Fatal(err)
	}
	next := startPageIn(t, p.r, p.w, p.cmd.Path)
	f.trials++
	if next.token == old {
		f.breaks("two runs have the same token")
	}
	next.refused(t, f, map[string]string{"the token of another run": next.get("/api/v1/sessions", "X-Hookspan-Token: "+old)}, http.StatusUnauthorized)
	return f
}

func tokenSeen(t *testing.T, p *page) *finding {
	f := &finding{}
	own := fmt.Sprintf("%d.html", p.Port)
	if !strings.Contains(p.seen, strconv.Itoa(p.Port)) || !strings.Contains(p.seen, "--port\x000") {
		t.Fatalf("the browser reports %q", p.seen)
	}
	f.trials++
	if strings.Contains(p.seen, p.token) {
		f.breaks("the token is in the browser's arguments or environment, or in the process list")
	}
	for _, path := range append(p.apiPaths(t), "/", "/open", "/here?nonce=1", "/assets/app.js", "/assets/app.css", "/assets/index.html", "/none") {
		if path == "/api/v1/events" {
			continue // It does not end.
		}
		raw := p.raw(t, p.get(path, p.tokenLine()))
		f.trials++
		if status(raw) == 0 || strings.Contains(raw, p.token) {
			f.breaks("%s is answered with the token, or not at all: %.300q", path, raw)
		}
		if head, _, _ := strings.Cut(raw, "\r\n\r\n"); !strings.Contains(head, "Referrer-Policy: no-referrer") || !strings.Contains(head, "Cache-Control: no-store") {
			f.breaks("%s: a browser may keep the answer or name its address: %s", path, head)
		}
	}
	files := func(when string, want int) {
		found := 0
		err := filepath.WalkDir(p.w.Home, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(p.token)) {
				return err
			}
			found++
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 || d.Name() != own {
				f.breaks("%s: the token is in %s (%v, %v)", when, path, info.Mode(), err)
			}
			return nil
		})
		f.trials++
		if err != nil || found != want {
			f.breaks("%s: the token is in %d files, want %d (%v)", when, found, want, err)
		}
	}
	files("during the run", 1)
	if strings.Contains(p.errs.String(), p.token) {
		f.breaks("the token is in standard error")
	}
	p.end(t)
	files("after the run", 0)
	return f
}

func oversized(t *testing.T, p *page) *finding {
	f := &finding{}
	mega := strings.Repeat("y", 1<<20)
	honest := p.get("/api/v1/sessions", p.tokenLine())
	body := func(head, body string) string {
		return strings.Replace(honest, "\r\n\r\n", "\r\n"+head+"\r\n\r\n"+body, 1)
	}
	p.refused(t, f, map[string]string{
		"a head of a megabyte":           body("X: "+mega, ""),
		"a head a little too large":      body("X: "+mega[:40<<10], ""),
		"100,000 headers":                body(strings.Repeat("X: y\r\n", 100_000)+"X: y", ""),
		"a request line of a megabyte":   p.get("/"+mega, p.tokenLine()),
		"a text of a megabyte":           p.get("/api/v1/search?text="+mega, p.tokenLine()),
		"a token of a megabyte":          p.get("/api/v1/sessions", "X-Hookspan-Token: "+mega),
		"a body of a megabyte":           body("Content-Length: 1048576", mega),
		"a body of 8 EB":                 body("Content-Length: 9223372036854775807", mega),
		"a body of unknown size":         body("Transfer-Encoding: chunked", "100000\r\n"+mega+"\r\n0\r\n\r\n"),
		"a limit beyond all":             p.get("/api/v1/sessions?limit=2000000000", p.tokenLine()),
		"a negative limit":               p.get("/api/v1/sessions?limit=-1", p.tokenLine()),
		"a body for a path that has one": strings.Replace(body("Content-Type: application/json\r\nContent-Length: 16777216", strings.Repeat(mega, 16)), "GET /api/v1/sessions", "POST /api/v1/hooks/edit", 1),
	}, http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge)
	if peak := p.peak(t, p.r); peak >= mostOfPage {
		f.breaks("the server used %d MB, want below %d", peak>>20, mostOfPage>>20)
	} else {
		f.notes = append(f.notes, fmt.Sprintf("peak %d MB", peak>>20))
	}
	return f
}

func slow(t *testing.T, p *page) *finding {
	f := &finding{}
	honest := p.get("/api/v1/sessions", p.tokenLine())
	starts := []string{
		"", "G", "GET /api/v1/sessions HTTP/1.1\r\n", strings.TrimSuffix(honest, "\r\n\r\n") + "\r\nX-Slow: ",
		strings.Replace(honest, "\r\n\r\n", "\r\nContent-Length: 100\r\n\r\n{", 1), strings.Replace(honest, "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", 1),
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 300 {
		c := p.dial(t)
		if _, err := io.WriteString(c, starts[i%len(starts)]); err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(p.slowFor))
		wg.Go(func() {
			defer c.Close() //nolint:errcheck // A test.
			_, err := io.Copy(io.Discard, c)
			mu.Lock()
			defer mu.Unlock()
			f.trials++
			if errors.Is(err, os.ErrDeadlineExceeded) {
				f.breaks("connection %d is still open", i)
			}
		})
	}
	// Event streams have no end, so only so many of them are answered.
	streams := 0
	for range 40 {
		c := p.dial(t)
		defer c.Close() //nolint:errcheck // A test.
		_, _ = io.WriteString(c, p.get("/api/v1/events", p.tokenLine()))
		line, _ := bufio.NewReader(c).ReadString('\n')
		f.trials++
		if status(line) == http.StatusOK {
			streams++
		}
	}
	if streams == 0 || streams > 16 {
		f.breaks("%d event streams at a time, want 1 to 16", streams)
	}
	if raw := p.raw(t, honest); !strings.Contains(raw, secretText) {
		f.breaks("beside them an honest request was answered %.300q", raw)
	}
	if n := len(p.sockets(p.r)); n > pageSockets {
		f.breaks("%d sockets are open at a time, want up to %d", n, pageSockets)
	}
	wg.Wait()
	f.notes = append(f.notes, fmt.Sprintf("%d event streams at a time", streams))
	return f
}

// halfRequests are what connections have sent that ask for nothing yet.
var halfRequests = []string{"", "G", "POST /claude-hook HTTP/1.1\r\nHost: localhost\r\nX-Slow: "}

// beside asks while there are 200 connections with half a request. It returns what is wrong:
// no answer, or one only when the server, which has so many places, had closed more of them
// than make room for it. If this is because the machine is slow, it is not so each time.
func beside(t *testing.T, b *bridge, places int64, ask func() bool) (wrong string) {
	t.Helper()
	for range 5 {
		var half [200]net.Conn
		for i := range half {
			half[i] = b.dial(t)
			if _, err := io.WriteString(half[i], halfRequests[i%len(halfRequests)]); err != nil {
				t.Fatal(err)
			}
		}
		answered := ask()
		var wg sync.WaitGroup
		var closed atomic.Int64
		for _, c := range half {
			wg.Go(func() {
				_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
					closed.Add(1)
				}
				_ = c.Close()
			})
		}
		wg.Wait()
		if !answered {
			return "not answered"
		}
		if closed.Load() <= max(0, int64(len(half))+1-places) {
			return ""
		}
		wrong = fmt.Sprintf("answered when %d connections had been closed", closed.Load())
	}
	return wrong
}

func halfOpen(t *testing.T, p *page) *finding {
	f := &finding{trials: 200}
	if wrong := beside(t, p.bridge, pagePlaces, func() bool { return strings.Contains(p.raw(t, p.get("/api/v1/sessions", p.tokenLine())), secretText) }); wrong != "" {
		f.breaks("%s", wrong)
	}
	return f
}

func traversal(t *testing.T, p *page) *finding {
	f := &finding{}
	// The file with the token is what an attacker wants most, and has the name of an asset.
	rel, err := filepath.Rel(filepath.Join(p.w.Work, "assets"), filepath.Join(p.w.State(), "ui", fmt.Sprintf("%d.html", p.Port)))
	if err != nil {
		t.Fatal(err)
	}
	abs, rel := filepath.ToSlash(filepath.Join(p.w.State(), "ui", fmt.Sprintf("%d.html", p.Port))), filepath.ToSlash(rel)
	var paths []string
	for _, target := range []string{rel, abs, "../routes.go", "../../go.mod", "../../../../../../etc/passwd", "../../../../../../proc/self/environ"} {
		paths = append(paths, target, strings.ReplaceAll(target, "/", "%2f"), strings.ReplaceAll(target, "/", "%252f"), strings.ReplaceAll(target, "/", `\`), strings.ReplaceAll(target, "/", "%5c"),
			strings.ReplaceAll(target, "..", "%2e%2e"), strings.ReplaceAll(strings.ReplaceAll(target, "..", "%2e%2e"), "/", "%2F"), "./"+target, "app.js/"+target, strings.ReplaceAll(target, "/", "%2f")+"%00.js",
			strings.ReplaceAll(target, "..", "%c0%ae%c0%ae"), "/"+target)
	}
	for _, path := range append(paths, "", ".", "..", "%2e", "CON", "app.js%00", "app.js::$DATA", "app.js.") {
		raw := p.raw(t, p.get("/assets/"+path, p.tokenLine()))
		f.trials++
		for _, stolen := range []string{p.token, "package ui", "module github.com", "root:", "HOME="} {
			if strings.Contains(raw, stolen) {
				f.breaks("/assets/%s is answered with a file of this machine: %.300q", path, raw)
			}
		}
		if code := status(raw); code < 300 || code > 499 {
			f.breaks("/assets/%s is answered %d", path, code)
		}
	}
	return f
}

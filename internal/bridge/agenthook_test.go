package bridge

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
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// agentHook does what the claude-hook script of the agent-hooks family does, as
// far as others can see it: it posts its standard input, whatever that is, to
// one route, looks at the status alone, and keeps the event in a file of its own
// where that is not 200 or 201.
type agentHook struct {
	port int
	home string
	// patience is the script's own limit.
	patience time.Duration
	// pieces is how many parts the body is sent in.
	pieces int
	header string
}

func newAgentHook(t *testing.T, port int) *agentHook {
	t.Helper()
	return &agentHook{port: port, home: t.TempDir(), patience: 5 * time.Second, pieces: 1}
}

// run is one call of the script. It prints nothing and ends with 0.
func (h *agentHook) run(stdin []byte) {
	if err := h.send(stdin); err != nil {
		h.keep(stdin, err)
	}
}

func (h *agentHook) send(stdin []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), h.patience)
	defer cancel()
	// As Node does, whichever address the name has.
	c, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("localhost:%d", h.port))
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // A test.
	if err := c.SetDeadline(time.Now().Add(h.patience)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c, "POST /claude-hook HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\nHost: localhost:%d\r\n%sConnection: keep-alive\r\n\r\n", len(stdin), h.port, h.header)
	if err != nil {
		return err
	}
	size := len(stdin)/h.pieces + 1
	for rest := stdin; len(rest) > 0; {
		n := min(size, len(rest))
		if _, err := c.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // A test.
	if resp.StatusCode != 200 && resp.StatusCode != 201 {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return nil
}

func (h *agentHook) path() string {
	return filepath.Join(h.home, ".a24z", "hooks", "claude-hook-events.json")
}

// keep reads, adds and writes without a lock, as the script does.
func (h *agentHook) keep(stdin []byte, why error) {
	all, event := h.kept(), map[string]any{}
	if json.Unmarshal(stdin, &event) != nil {
		event = map[string]any{"__hook_raw": string(stdin)}
	}
	event["why"] = why.Error()
	b, err := json.Marshal(append(all, event))
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(h.path()), 0o700), os.WriteFile(h.path(), b, 0o600))
	}
	if err != nil {
		panic(err)
	}
}

func (h *agentHook) kept() (all []map[string]any) {
	b, err := os.ReadFile(h.path())
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return all
}

func session(n int) []byte {
	return []byte(strings.Replace(anEvent, `"s"`, fmt.Sprintf(`"s%d"`, n), 1))
}

func TestTwentyScriptsAtOnce(t *testing.T) {
	sink := &shelf{}
	files := &FileStore{Dir: t.TempDir(), Agent: Claude, Now: fixed}
	s := New(Options{Recorder: sink, Sinks: []Sink{files}})
	port, _ := serve(t, s)
	h := newAgentHook(t, port)
	h.patience = time.Minute // A slow machine must not make them give up.
	const scripts = 20
	var wg sync.WaitGroup
	for i := range scripts {
		wg.Go(func() { h.run(session(i)) })
	}
	wg.Wait()
	if len(sink.bodies()) != scripts || s.status(Claude).Processed != scripts {
		t.Errorf("%d events, %+v", len(sink.bodies()), s.status(Claude))
	}
	if n := len(readArray(t, files.EventsPath())); n != scripts {
		t.Errorf("%d events in the bridge's file", n)
	}
	if kept := h.kept(); len(kept) != 0 {
		t.Errorf("the script kept %v", kept)
	}
}

// TestScriptKeepsRefusedEvents is the rule that no event is lost: it
// is either with the bridge or in the script's file, and never in both.
func TestScriptKeepsRefusedEvents(t *testing.T) {
	large := append([]byte(`{"session_id":"s","x":"`), append(bytes.Repeat([]byte("x"), 3<<20), `"}`...)...)
	for name, tc := range map[string]struct {
		stdin  []byte
		opts   Options
		with   func(*agentHook)
		bridge bool
		why    string
	}{
		"an event":         {stdin: session(1), bridge: true},
		"in pieces":        {stdin: session(1), with: func(h *agentHook) { h.pieces = 50 }, bridge: true},
		"a large one":      {stdin: large, bridge: true},
		"a large one, so":  {stdin: large, with: func(h *agentHook) { h.pieces = 1000 }, bridge: true},
		"beyond the limit": {stdin: large, opts: Options{MaxBody: 1 << 20}},
		"no session":       {stdin: []byte(`{}`), why: "HTTP 400"},
		"no JSON":          {stdin: []byte("oops"), why: "HTTP 400"},
		"not stored":       {stdin: session(1), opts: Options{Recorder: &shelf{fail: func(*Event) error { return errors.New("disk full") }}}, why: "HTTP 500"},
		"from a web page":  {stdin: session(1), with: func(h *agentHook) { h.header = "Origin: http://evil.example\r\n" }, why: "HTTP 403"},
		"to another name":  {stdin: session(1), with: func(h *agentHook) { h.header = "Host: evil.example\r\n" }, why: "HTTP 400"},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &shelf{}
			tc.opts.Sinks = []Sink{sink}
			port, _ := serve(t, New(tc.opts))
			h := newAgentHook(t, port)
			if tc.with != nil {
				tc.with(h)
			}
			h.run(tc.stdin)
			kept := h.kept()
			if took := sink.bodies(); tc.bridge {
				if len(took) != 1 || took[0] != string(tc.stdin) || len(kept) != 0 {
					t.Errorf("the bridge has %d events, the script %d", len(took), len(kept))
				}
				return
			} else if len(took) != 0 {
				t.Errorf("the bridge has %d events", len(took))
			}
			if len(kept) != 1 || tc.why != "" && kept[0]["why"] != tc.why {
				t.Errorf("the script kept %v, want one for %q", kept, tc.why)
			}
		})
	}
}

func TestScriptWithoutBridge(t *testing.T) {
	for name, port := range map[string]func(*testing.T) int{
		"no bridge": closedPort, "no answer": hanging,
		"a closed connection": func(t *testing.T) int { return otherBridge(t, hangUp) },
		"status 500":          func(t *testing.T) int { return otherBridge(t, answerWith(500)) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newAgentHook(t, port(t))
			h.patience = 50 * time.Millisecond
			h.run(session(1))
			if kept := h.kept(); len(kept) != 1 || kept[0]["session_id"] != "s1" {
				t.Errorf("kept %v", kept)
			}
		})
	}
}

// TestBridgeFinishesRequestsAtEnd stops the bridge while events come: each
// is with it or with its script.
func TestBridgeFinishesRequestsAtEnd(t *testing.T) {
	listeners, err := loopback.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	sink := &shelf{fail: func(*Event) error {
		once.Do(cancel)
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- New(Options{Sinks: []Sink{sink}}).Serve(ctx, listeners...) }()
	const scripts = 20
	var hooks [scripts]*agentHook
	var wg sync.WaitGroup
	for i := range hooks {
		hooks[i] = newAgentHook(t, listeners[0].Addr().(*net.TCPAddr).Port)
		wg.Go(func() { hooks[i].run(session(i)) })
	}
	wg.Wait()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, h := range hooks {
		kept += len(h.kept())
	}
	if took := len(sink.bodies()); took == 0 || took+kept != scripts {
		t.Errorf("the bridge has %d, the scripts %d, together not %d", took, kept, scripts)
	}
}

func TestAnswersOverIPv6(t *testing.T) {
	_, listeners := serve(t, New(Options{}))
	if len(listeners) < 2 {
		skip.Missing(t, "no IPv6 here")
	}
	addr := listeners[1].Addr().String()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp6", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // A test.
	if _, err := fmt.Fprintf(c, "GET /claude-hook HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", addr); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") || !strings.Contains(string(answer), `"status":"ready"`) {
		t.Errorf("%q, %v", answer, err)
	}
}

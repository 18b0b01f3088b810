package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

type bridgeKey struct{}

// runningBridge is the bridge of one script.
type runningBridge struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	read   chan struct{} // closed when all of stderr is read
}

func (b *runningBridge) kill() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
	}
}

var listeningOn = regexp.MustCompile(`listening on http://127\.0\.0\.1:(\d+)`)

// bridgeCommand runs a bridge on a free port, which it puts into PORT, and ends it
// as Ctrl-C does; what it said is then in bridge.out and bridge.err:
// bridge start [FLAG...] or bridge stop.
func bridgeCommand(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.Value(bridgeKey{}).(*runningBridge)
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: bridge start [FLAG...] | bridge stop")
	case args[0] == "start" && b.cmd == nil:
		ts.Check(b.start(ts, args[1:]))
	case args[0] == "stop" && b.cmd != nil:
		ts.Check(b.cmd.Process.Signal(os.Interrupt))
		<-b.read
		err := b.cmd.Wait()
		b.cmd = nil
		ts.Logf("bridge: %s", &b.stderr)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("bridge.out"), b.stdout.Bytes(), 0o600))
		ts.Check(os.WriteFile(ts.MkAbs("bridge.err"), b.stderr.Bytes(), 0o600))
	default:
		ts.Fatalf("bridge %s: not now", args[0])
	}
}

func (b *runningBridge) start(ts *testscript.TestScript, flags []string) error {
	path, err := find(ts.Getenv("PATH"), "hookspan")
	if err != nil {
		return err
	}
	b.stdout.Reset()
	b.stderr.Reset()
	cmd := exec.CommandContext(context.Background(), path, append([]string{"bridge", "--port", "0"}, flags...)...) //nolint:gosec // The program is ours.
	cmd.Dir, cmd.Stdout, cmd.Env = ts.MkAbs("."), &b.stdout, environ(ts)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.read = cmd, make(chan struct{})
	port := make(chan string, 1)
	go func() {
		defer close(b.read)
		defer close(port)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&b.stderr, lines.Text())
			if found := listeningOn.FindStringSubmatch(lines.Text()); found != nil {
				port <- found[1]
			}
		}
	}()
	p, ok := <-port
	if !ok {
		return fmt.Errorf("the bridge ended: %s", &b.stderr)
	}
	ts.Setenv("PORT", p)
	return nil
}

// post gives a file to the bridge and prints the status and the answer; - gets
// the route: post ROUTE FILE|- [HEADER VALUE]...
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: post ROUTE FILE|- [HEADER VALUE]...")
	}
	method, body := http.MethodGet, ""
	if args[1] != "-" {
		method, body = http.MethodPost, ts.ReadFile(args[1])
	}
	r, err := http.NewRequestWithContext(context.Background(), method, "http://localhost:"+ts.Getenv("PORT")+args[0], strings.NewReader(body))
	ts.Check(err)
	for i := 2; i < len(args); i += 2 {
		if r.Header.Set(args[i], args[i+1]); args[i] == "Host" {
			r.Host = args[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	_, _ = fmt.Fprintf(ts.Stdout(), "%d %s", resp.StatusCode, answer)
}

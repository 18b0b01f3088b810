package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

const (
	hello   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	oneCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}` + "\n"
)

// serverProcess is hookspan mcp in a new home folder.
func serverProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "mcp", "--all") //nolint:gosec // This program.
	cmd.Env = append(os.Environ(), asVariable+"=hookspan", "HOME="+home, "USERPROFILE="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
	return cmd
}

// TestServerEndsWithItsInput has what a client may write before it ends: the server answers what it can,
// says on standard error what is wrong with the rest, and ends by itself.
func TestServerEndsWithItsInput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		input       io.Reader
		out, stderr string // a text of the answer, and an expression
		code        int
	}{
		"nothing":           {strings.NewReader(""), ``, `^$`, 0},
		"a call":            {strings.NewReader(hello + oneCall), `No tasks are stored yet`, `^$`, 0},
		"half a line":       {strings.NewReader(hello + `{"jsonrpc":"2.0","id":3,"meth`), ``, `^hookspan: mcp: the agent's input: unexpected EOF\n$`, 1},
		"no JSON":           {strings.NewReader(hello + "what?\n" + oneCall), ``, `^hookspan: mcp: the agent's input: invalid character 'w'.*\n$`, 1},
		"an unknown tool":   {strings.NewReader(hello + strings.Replace(oneCall, "list", "drop", 1)), `unknown tool \"drop\"`, `^$`, 0},
		"an unknown method": {strings.NewReader(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/drop"}` + "\n"), `"id":2,"error":`, `^$`, 0},
		"no greeting":       {strings.NewReader(oneCall), `"id":2,`, `^$`, 0},
		"an endless line":   {io.MultiReader(strings.NewReader(hello+`{"jsonrpc":"2.0","id":2,"method":"`), io.LimitReader(endless{}, 100<<20), strings.NewReader(`"}`+"\n")), ``, `^hookspan: mcp: the agent's input: .*exceeded the configured maximum line length\n$`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := serverProcess(t)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			in, noIn := cmd.StdinPipe()
			out, noOut := cmd.StdoutPipe()
			if err := errors.Join(noIn, noOut, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(in, tt.input) // It may have ended before all is read.
			lines, said := bufio.NewScanner(out), tt.out == ""
			for !said && lines.Scan() {
				said = strings.Contains(lines.Text(), tt.out)
			}
			_ = in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !said || !regexp.MustCompile(tt.stderr).Match(stderr.Bytes()) {
				t.Errorf("said %t, stderr:\n%.2000s", said, stderr.Bytes())
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("a"), len(p))), nil }

// TestServerEndsWithItsAgent kills an agent, whose end of the pipe is closed with it. Its output ends when
// the server has ended, too.
func TestServerEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "a shell starts the server")
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	server := serverProcess(t)
	agent := exec.CommandContext(t.Context(), "sh", "-c", `mkfifo "$1"; "$0" mcp --all <"$1" & exec 3>"$1"; cat >&3`, server.Path, pipe) //nolint:gosec // This program.
	agent.Env = server.Env
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, hello); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatal(err)
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close() // cat is of the agent, too.
	if rest, err := io.ReadAll(out); err != nil || !bytes.Contains(rest, []byte(`"id":1`)) {
		t.Errorf("%s, %v", rest, err)
	}
	_ = agent.Wait()
}

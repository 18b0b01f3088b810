package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// server is a hookspan ui.
type server struct {
	cmd *exec.Cmd
	// address has the token, base is without it.
	address, base string
	programs      string
	env           []string
}

func start(ctx context.Context, programs, dir string) (*server, error) {
	s := &server{programs: programs, env: []string{
		"HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "PATH=" + os.Getenv("PATH"),
	}}
	s.cmd = exec.CommandContext(ctx, filepath.Join(programs, "hookspan"), "ui", "--no-open", "--port", "0") //nolint:gosec // built by the caller
	s.cmd.Env = s.env
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hookspan ui wrote no address: %w", err), s.stop())
	}
	s.address = strings.TrimSpace(line)
	s.base, _, _ = strings.Cut(s.address, "/open#")
	return s, nil
}

func (s *server) stop() error {
	err := s.cmd.Process.Signal(os.Interrupt)
	if waited := s.cmd.Wait(); err == nil && waited != nil && s.cmd.ProcessState.ExitCode() > 0 && s.cmd.ProcessState.ExitCode() != 130 {
		err = waited
	}
	return err
}

// get returns a file of the page.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	u, err := url.Parse(s.base)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+u.Port()+path, nil)
	if err != nil {
		return nil, err
	}
	r.Host = u.Host // The browser alone resolves it.
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	return io.ReadAll(res.Body)
}

// hook runs Claude Code's hook with an event.
func (s *server) hook(ctx context.Context, event string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, "claude-hook")) //nolint:gosec // built by the caller
	cmd.Env, cmd.Stdin = s.env, strings.NewReader(event)
	return cmd.Run()
}

// memory returns the resident memory of the server and the most it had, in MiB.
func (s *server) memory() (now, most float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			now = kib / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			most = kib / 1024
		}
	}
	return now, most, nil
}

// processor returns the processor time of the server in milliseconds.
func (s *server) processor() (float64, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	if len(tasks) == 0 {
		return 0, fmt.Errorf("process %d, the server, is no more", s.cmd.Process.Pid)
	}
	sum := 0.0
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // A thread has ended.
		}
		ns, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseFloat(ns, 64)
		sum += n / 1e6
	}
	return sum, nil
}

// evaluate returns what an expression gives, when its promise is kept.
func evaluate(ctx context.Context, expression string, to any) error {
	return chromedp.Run(ctx, chromedp.Evaluate(expression, to, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// prepare runs a script at the beginning of each page.
func prepare(ctx context.Context, script string) error {
	return chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

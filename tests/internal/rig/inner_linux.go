package rig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// lingerLimit is how long processes that a step left behind may run after the last
// step before they are killed; a detached delivery ends well within it.
const lingerLimit = 45 * time.Second

func (s *Step) limit() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return 3 * time.Minute
}

// stage is the inner half at work.
type stage struct {
	job   *job
	model *llm.Server
	sink  *sink.Sink
	marks chan struct{}
}

// perform does the job in the namespace the process is in.
func perform(ctx context.Context, j *job) (res *Result, err error) {
	// Children of children whose parents have gone come to this process, which
	// can then wait for them and end them.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the reaper of orphans: %w", err)
	}
	// A shell starts what it puts into the background with SIGINT ignored, which the
	// agents would inherit. They do not inherit that this process drops it.
	if signal.Ignored(syscall.SIGINT) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	}
	s := &stage{job: j, model: llm.New(j.Run.Script), sink: new(sink.Sink), marks: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	defer wg.Wait()
	for base, h := range map[string]http.Handler{ModelURL: s.model, OTLPURL: s.sink} {
		stop, err := serve(ctx, &wg, base, h)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	stop, err := s.readMarks(&wg)
	if err != nil {
		return nil, err
	}
	defer stop()

	res = new(Result)
	for i := range j.Run.Steps {
		r := s.step(ctx, &j.Run.Steps[i])
		r.Requests = len(s.model.Requests())
		res.Steps = append(res.Steps, r)
	}
	res.Killed, err = reapOrphans(ctx)
	if err != nil {
		return nil, err
	}
	res.Requests, res.Spans, res.Posts, res.Strays = s.model.Requests(), s.sink.Spans(), s.sink.Posts(), s.sink.Strays()
	res.Messages = s.sink.Messages()
	return res, nil
}

// serve answers on the address of base until stop is called.
func serve(ctx context.Context, wg *sync.WaitGroup, base string, h http.Handler) (stop func(), err error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", base, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", base, err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	wg.Go(func() {
		// Serve always returns an error; after Close it is ErrServerClosed.
		_ = srv.Serve(l)
	})
	return func() { _ = srv.Close() }, nil
}

// readMarks makes the pipe of WordMark and passes on what is written to it.
func (s *stage) readMarks(wg *sync.WaitGroup) (stop func(), err error) {
	path := s.job.Arena.mark()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make the pipe %q: %w", path, err)
	}
	// Open for both directions, so that neither this nor the reading ends when
	// a writer comes and goes.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the pipe %q: %w", path, err)
	}
	wg.Go(func() {
		for sc := bufio.NewScanner(f); sc.Scan(); {
			select {
			case s.marks <- struct{}{}:
			default: // The last mark has not been asked for yet.
			}
		}
	})
	return func() { _ = f.Close() }, nil
}

// step runs one command to its end.
func (s *stage) step(ctx context.Context, st *Step) StepResult {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, st.limit())
	defer cancel()
	if st.WaitTraces > 0 {
		r := StepResult{Started: start}
		if err := s.sink.WaitRoots(ctx, st.WaitTraces); err != nil {
			r.ExitCode, r.TimedOut, r.Error = -1, errors.Is(err, context.DeadlineExceeded), err.Error()
		}
		r.Took = time.Since(start)
		return r
	}
	argv := st.Program
	if len(argv) == 0 {
		argv = s.job.Run.Command
	}
	w := s.job.Arena.words()
	argv = append([]string(nil), argv...)
	session := ""
	if slices.ContainsFunc(st.Args, mentionsSession) || st.ACP != nil && mentionsSession(st.ACP.Session) {
		var err error
		if session, err = s.job.Arena.newestSession(); err != nil {
			return StepResult{ExitCode: -1, Error: err.Error()}
		}
	}
	for _, arg := range st.Args {
		argv = append(argv, w.Replace(strings.ReplaceAll(arg, WordSession, session)))
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.job.Arena.Workspace
	cmd.Env = s.job.Arena.Environ()
	for k, v := range st.Env {
		cmd.Env = append(cmd.Env, k+"="+w.Replace(v))
	}
	var stderr bytes.Buffer
	var stdout watched
	if st.Signal != nil {
		stdout.watch(st.Signal.When.Output)
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if st.Stdin != "" {
		cmd.Stdin = strings.NewReader(st.Stdin)
	}
	// A separate process group gets the signal as a terminal's foreground group
	// takes Ctrl-C.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second

	var chat *conversation
	if st.ACP != nil {
		var err error
		acp := *st.ACP
		acp.Session = strings.ReplaceAll(acp.Session, WordSession, session)
		if chat, err = newConversation(cmd, &acp, s.job.Arena.Workspace); err != nil {
			return StepResult{ExitCode: -1, Error: err.Error()}
		}
	}
	asked := s.model.Seen(len(s.model.Requests()) + 1)
	if err := cmd.Start(); err != nil {
		return StepResult{ExitCode: -1, Error: fmt.Sprintf("start %s: %v", argv[0], err)}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	silent := false
	if st.Asks > 0 {
		wg.Go(func() {
			select {
			case <-time.After(st.Asks):
				silent = true
				cancel()
			case <-asked:
			case <-done:
			}
		})
	}
	r := StepResult{Started: start}
	if st.Signal != nil {
		interrupt := func() error { return syscall.Kill(-cmd.Process.Pid, st.Signal.Number) }
		if chat != nil {
			interrupt = chat.cancel
		}
		wg.Go(func() { r.Signalled = s.await(&st.Signal.When, stdout.seen, done) && interrupt() == nil })
	}
	var chatErr error
	if chat != nil {
		chatErr = chat.hold(ctx)
	}
	waitErr := cmd.Wait()
	close(done)
	wg.Wait()

	r.ExitCode, r.TimedOut, r.Took = cmd.ProcessState.ExitCode(), silent || errors.Is(ctx.Err(), context.DeadlineExceeded), time.Since(start)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
	}
	r.Stdout, r.Stderr = stdout.all.String(), stderr.String()
	if chat != nil {
		r.Stdout = chat.transcript()
	}
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		r.Error = waitErr.Error()
	}
	if chatErr != nil {
		r.Error = chatErr.Error()
	}
	return r
}

func mentionsSession(s string) bool { return strings.Contains(s, WordSession) }

// watched keeps what is written to it and signals when that contains a text. One
// goroutine may write. The buffer is no embedded one: its ReadFrom would go past
// Write.
type watched struct {
	all  bytes.Buffer
	text []byte
	seen chan struct{} // closed when text was written; nil without one
	from int           // what lies before was searched
}

func (w *watched) watch(text string) {
	if text != "" {
		w.text, w.seen = []byte(text), make(chan struct{})
	}
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if w.text == nil {
		return n, err
	}
	all := w.all.Bytes()
	if bytes.Contains(all[w.from:], w.text) {
		close(w.seen)
		w.text = nil
	}
	// The text's beginning may have come, its end not.
	w.from = max(0, len(all)-len(w.text))
	return n, err
}

// await waits for a condition and reports whether it was met before the step was
// done. said is closed once Output was written.
func (s *stage) await(when *Condition, said, done <-chan struct{}) bool {
	met := said
	switch {
	case when.Request > 0:
		met = s.model.Seen(when.Request)
	case when.Mark:
		met = s.marks
	}
	select {
	case <-met:
		return true
	case <-done:
		return false
	}
}

// reapOrphans waits for the processes the steps left behind and kills those
// that stay beyond lingerLimit.
func reapOrphans(ctx context.Context) (killed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lingerLimit)
	defer cancel()
	gone := make(chan error, 1)
	// No step is running, so no other goroutine waits for a child.
	go func() {
		for {
			switch _, err := unix.Wait4(-1, nil, 0, nil); {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.ECHILD):
				gone <- nil
				return
			case err != nil:
				gone <- fmt.Errorf("wait for orphans: %w", err)
				return
			}
		}
	}()
	select {
	case err := <-gone:
		return nil, err
	case <-ctx.Done():
	}
	// A killed process may hand its own children on, so go round until none is
	// left. One that was killed may take longer than a round to go.
	seen := make(map[int]bool)
	for {
		for _, pid := range children() {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			killed = append(killed, fmt.Sprintf("%d %s", pid, bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case err := <-gone:
			return killed, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// children are the pids of this process's children.
func children() []int {
	var out []int
	paths, _ := filepath.Glob("/proc/self/task/*/children")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// newestSession is the name of the newest folder in Sessions.
func (a *Arena) newestSession() (string, error) {
	if a.Sessions == "" {
		return "", fmt.Errorf("%s is in a step, and the agent's sessions cannot be ordered by age", WordSession)
	}
	entries, err := os.ReadDir(a.Sessions)
	if err != nil {
		return "", fmt.Errorf("look for a session: %w", err)
	}
	for _, e := range slices.Backward(entries) {
		if e.IsDir() {
			return e.Name(), nil
		}
	}
	return "", fmt.Errorf("no session in %q", a.Sessions)
}

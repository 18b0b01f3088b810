package backends

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// addresses returns addresses of loopback that nothing else of the tests uses until the test ends.
func addresses(t *testing.T, n int) (all []string) {
	t.Helper()
	ports, err := otelcol.OpenPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ports.Close() })
	for range n {
		address, err := ports.Next()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, address)
	}
	return all
}

// start starts a backend in a folder and waits until an address of it answers. It ends
// with the test, and a little before the time of all tests is over.
func start(t *testing.T, dir, ready string, env []string, program string, args ...string) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	if deadline, ok := t.Deadline(); ok {
		ctx, end = context.WithDeadline(ctx, deadline.Add(-20*time.Second))
	}
	name := filepath.Join(dir, "log")
	log, err := os.Create(name) //nolint:gosec // In the test's folder.
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // What the test has installed.
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(env, "HOME="+dir, "USERPROFILE="+dir, "TMPDIR="+dir, "PATH="+os.Getenv("PATH"), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	group(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		end()
		<-ended
		_ = log.Close()
		if text, err := os.ReadFile(name); t.Failed() && err == nil { //nolint:gosec // As above.
			t.Logf("%s printed at the end:\n%s", filepath.Base(program), text[max(0, len(text)-4000):])
		}
	})
	await(t, "wait for "+ready, func(ctx context.Context) error {
		select {
		case <-ended:
			t.Fatalf("%s %v has ended", program, args)
		default:
		}
		return answers(ctx, ready)
	})
}

// answers reports that a page is there.
func answers(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

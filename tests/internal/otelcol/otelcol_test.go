package otelcol_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

var binary string

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "hookspan-otelcol-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if binary, err = otelcol.Build(context.Background(), dir); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

const pipeline = `yaml:
extensions: {health_check: {endpoint: "%s"}}
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {file: {path: ./out.jsonl, append: true}}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
  telemetry: {metrics: {level: none}}
`

func options(t *testing.T, ports *otelcol.Ports) otelcol.Options {
	t.Helper()
	health, otlp := next(t, ports), next(t, ports)
	return otelcol.Options{
		Binary: binary, Dir: t.TempDir(),
		Configs: []string{fmt.Sprintf(pipeline, health, otlp)},
		Ready:   []string{"http://" + health, otlp},
	}
}

func next(t *testing.T, ports *otelcol.Ports) string {
	t.Helper()
	address, err := ports.Next()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func open(t *testing.T) *otelcol.Ports {
	t.Helper()
	ports, err := otelcol.OpenPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ports.Close() })
	return ports
}

func TestACollectorComesBackOnItsPorts(t *testing.T) {
	t.Parallel()
	ports := open(t)
	var all []*otelcol.Collector
	for range 2 {
		c, err := otelcol.Start(t.Context(), options(t, ports))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Kill() })
		all = append(all, c)
	}
	for _, c := range all {
		first := c.PID()
		if err := c.Kill(); err != nil || c.Running() || c.PID() != 0 {
			t.Fatalf("after Kill it runs: %v (%v)", c.Running(), err)
		}
		if err := c.Kill(); err != nil {
			t.Errorf("a second Kill: %v", err)
		}
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !c.Running() || c.PID() == first {
			t.Errorf("after Restart it runs: %v, as process %d, before %d", c.Running(), c.PID(), first)
		}
		// It answers on its addresses before it writes that it is ready.
		if n := strings.Count(c.Log(), "Starting hookspan-collector"); n != 2 {
			t.Errorf("the log reports %d starts, want 2:\n%s", n, c.Log())
		}
		if runtime.GOOS == "linux" {
			if n, err := c.RSS(); err != nil || n < 1<<20 {
				t.Errorf("memory %d bytes (%v)", n, err)
			}
		}
		if runtime.GOOS == "windows" {
			continue // There is no SIGTERM.
		}
		err := c.Stop(t.Context())
		for range 5 {
			// A Collector reports that it is ready shortly before it catches signals.
			if err == nil || !strings.Contains(err.Error(), "signal: terminated") {
				break
			}
			if err := c.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			err = c.Stop(t.Context())
		}
		if err != nil || c.Running() {
			t.Errorf("stopped: %v, runs: %v", err, c.Running())
		}
		if !strings.Contains(c.Log(), "Shutdown complete") {
			t.Errorf("the log reports no shutdown:\n%s", c.Log())
		}
	}
}

func TestAStartThatFailsTellsTheLog(t *testing.T) {
	t.Parallel()
	ports := open(t)
	o := options(t, ports)
	o.Configs = append(o.Configs, "yaml:\nexporters: {file: {path: ''}}")
	c, err := otelcol.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "path must be non-empty") {
		t.Errorf("error is %v, want one that holds the Collector's own words", err)
	}
	if c.Running() {
		t.Error("it runs")
	}
}

func TestAStartThatIsNeverReadyEnds(t *testing.T) {
	t.Parallel()
	ports := open(t)
	o := options(t, ports)
	o.Ready, o.Patience = append(o.Ready, next(t, ports)), 3*time.Second
	c, err := otelcol.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "did not answer within 3s") || c.Running() {
		t.Errorf("error is %v, runs: %v", err, c.Running())
	}
}

func TestAnotherOneOnTheSamePortsIsSeen(t *testing.T) {
	t.Parallel()
	ports := open(t)
	o := options(t, ports)
	c, err := otelcol.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Kill() })
	// Its addresses answer, but not from it.
	o.Dir, o.Ready = t.TempDir(), append(o.Ready, "http://"+next(t, ports))
	second, err := otelcol.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error is %v, want one that names the address", err)
		_ = second.Kill()
	}
}

func TestPortsDoNotOverlap(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 3 {
		ports := open(t)
		for range 20 {
			if a := next(t, ports); seen[a] {
				t.Fatalf("%s was handed out twice", a)
			} else {
				seen[a] = true
			}
		}
	}
}

func TestConfigFindsTheShippedFiles(t *testing.T) {
	t.Parallel()
	path, err := otelcol.Config("gateway.yaml")
	if err != nil || filepath.Base(path) != "gateway.yaml" {
		t.Errorf("path %q: %v", path, err)
	}
	if _, err := otelcol.Config("no-such.yaml"); err == nil {
		t.Error("a file that is not there was found")
	}
}

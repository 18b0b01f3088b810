package crowd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/spool"
)

// Developer is one person's machine: a home folder with settings, a spool and
// the agents' own files.
type Developer struct {
	Home string
	// Number distinguishes developers; sessions are numbered through.
	Number   int
	sessions []spool.Key
	events   int
}

// Settings are what every developer has set.
type Settings struct {
	// Endpoints are the gateways, without /v1/traces; developers are dealt out to
	// them.
	Endpoints []string
	// Exporters is HOOKSPAN_EXPORTERS; if empty, the store and otlp.
	Exporters string
}

// Settle makes the home of developer number n below the folder dir.
func Settle(dir string, n int, s Settings) (*Developer, error) {
	d := &Developer{Home: filepath.Join(dir, fmt.Sprintf("dev-%05d", n)), Number: n}
	lines := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.Endpoints[n%len(s.Endpoints)]}
	if s.Exporters != "" {
		lines = append(lines, "HOOKSPAN_EXPORTERS="+s.Exporters)
	}
	return d, write(filepath.Join(d.config(), "hookspan", "hookspan.env"), []byte(strings.Join(lines, "\n")+"\n"))
}

func (d *Developer) config() string { return filepath.Join(d.Home, ".config") }
func (d *Developer) state() string  { return filepath.Join(d.Home, ".local", "state") }

// Work stores one session of the recording in the developer's spool, as the hooks
// would have, and writes the agent's own files of it. number is the session's: no
// two sessions of a crowd may have the same.
func (d *Developer) Work(r *Recording, number int) (err error) {
	for _, f := range r.files {
		name := string(r.fresh([]byte(f.path), number, d.Home))
		if err := write(filepath.Join(d.Home, filepath.FromSlash(name)), r.fresh(f.body, number, d.Home)); err != nil {
			return err
		}
	}
	sp, err := spool.Open(filepath.Join(d.state(), "hookspan", "spool"), spool.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	session := string(r.fresh([]byte(r.Session), number, d.Home))
	for _, e := range r.events {
		rec := &spool.Record{
			Host: r.Host, Session: session, Event: e.name, At: e.at, Payload: r.fresh(e.payload, number, d.Home),
			Cwd: "/home/dev/project", PPID: 4711, Settings: "preview/",
		}
		if err := sp.Append(rec); err != nil {
			return err
		}
	}
	d.sessions = append(d.sessions, spool.SessionKey(r.Host, session))
	d.events += len(r.events)
	return nil
}

// Sessions are those that were stored.
func (d *Developer) Sessions() []spool.Key { return d.sessions }

// Delivery is what became of one `hookspan flush`.
type Delivery struct {
	// Spans went to OTLP.
	Spans int
	// CPU is the processor time of the process, PeakKiB its peak memory, 0 where
	// the system does not report it.
	CPU     time.Duration
	PeakKiB int64
}

// Flush delivers what waits, or those sessions alone, with the program of that
// path. What does not arrive is an error.
func (d *Developer) Flush(ctx context.Context, hookspan string, sessions ...spool.Key) (Delivery, error) {
	args := []string{"flush", "--wait", "--json"}
	for _, k := range sessions {
		args = append(args, "--session", k.Host+"/"+k.Name)
	}
	cmd := exec.CommandContext(ctx, hookspan, args...) //nolint:gosec // Our own program.
	cmd.Dir = d.Home
	cmd.Env = []string{
		"HOME=" + d.Home, "USERPROFILE=" + d.Home, "PATH=" + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + d.config(), "XDG_STATE_HOME=" + d.state(), "APPDATA=" + d.config(), "LOCALAPPDATA=" + d.state(),
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Delivery{}, fmt.Errorf("developer %d: hookspan flush: %w: %s%s", d.Number, err, &stdout, &stderr)
	}
	var results []struct {
		Destination     string
		Spans           int
		Waiting, Parked int
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil {
		return Delivery{}, fmt.Errorf("developer %d: hookspan flush said %.200q: %w", d.Number, &stdout, err)
	}
	out := Delivery{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), PeakKiB: peak(cmd.ProcessState)}
	for _, r := range results {
		if r.Waiting+r.Parked > 0 {
			return Delivery{}, fmt.Errorf("developer %d: %d traces wait for %s, %d were refused", d.Number, r.Waiting, r.Destination, r.Parked)
		}
		if r.Destination == "otlp" {
			out.Spans = r.Spans
		}
	}
	return out, nil
}

func write(name string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, body, 0o600)
}

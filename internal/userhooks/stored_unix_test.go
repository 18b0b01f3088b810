//go:build !windows

package userhooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
	"github.com/hookspan/hookspan/spool"
)

// TestRecordOfHooksHasTheEventsSettings has what the environment asks for in the record of
// the hooks as in that of the event: a delivery by another process holds to it.
func TestRecordOfHooksHasTheEventsSettings(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CONNECTOR_MAX_INPUT_PREVIEW=50", "HOOKSPAN_REDACT=true"}
	cfg, err := config.Load(config.Input{Environ: environ, GOOS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".cline", "hooks.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Process{Config: cfg, Environ: environ, Home: home, GOOS: "linux", Now: time.Now}
	payload := []byte(`{"taskId":"17","hookName":"PostToolUse","postToolUse":{"toolName":"read_file","parameters":{"path":"a"},"success":true}}`)
	// The span is not found, as the event is not stored; another program would look on.
	p.Find = func(string, []*spool.Record, bool, uint64, time.Duration) (string, string) { return "", "" }
	if _, report, err := p.Ask(t.Context(), Request{Event: "PostToolUse", About: "0123456789abcdef"}, payload, home); err != nil || !report.Empty() {
		t.Fatalf("error %v, report %v", err, report)
	}
	sp, err := spool.Open(cfg.SpoolDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	s, err := sp.Session(spool.SessionKey(hook.HostCline, "17"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	terms, _ := cfg.Terms()
	if !r.Next() || r.Record().Event != cline.HookRunsEvent || r.Record().Settings != terms.String() || terms.MaxInput != 50 {
		t.Errorf("found %+v, want the settings %q", r.Record(), terms)
	}
}

// TestPlainHooksRunBesideOthers has a hook with an expression and one with a rule, of an
// event that the call is not about, in a program that reads neither.
func TestPlainHooksRunBesideOthers(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cfg, err := config.Load(config.Input{Environ: environ, GOOS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".cline", "hooks.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"hooks":{"PostToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"echo ran >ran"}]}],
		"PreToolUse":[{"matcher":"^Bash$","hooks":[{"type":"command","command":"true"}]},{"hooks":[{"type":"command","command":"true","if":"Bash(git *)"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Process{Config: cfg, Environ: environ, Home: home, GOOS: "linux", Now: time.Now}
	payload := []byte(`{"taskId":"17","hookName":"PostToolUse","postToolUse":{"toolName":"read_file","parameters":{"path":"a"},"success":true}}`)
	if _, report, err := p.Ask(t.Context(), Request{Event: "PostToolUse"}, payload, home); err != nil || !report.Empty() {
		t.Errorf("error %v, report %v", err, report)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err != nil {
		t.Errorf("the hook did not run: %v", err)
	}
}

// TestRecordOfHooksHasNoTextsWhereTheLogHasNone has what a hook said of a call, and the
// command that runs it, in no record on such a machine, and who denied it still known.
func TestRecordOfHooksHasNoTextsWhereTheLogHasNone(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cfg, err := config.Load(config.Input{
		Environ: environ, GOOS: "linux", MachineFile: "/etc/machine.env",
		ReadMachine: func(string) ([]byte, error) { return []byte("HOOKSPAN_MANAGED=true\nHOOKSPAN_CAPTURE=none\n"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	out := &Outcome{Call: &translate.Call{Event: hook.Event{Session: "17"}}, event: hook.Event{Session: "17", Name: "PreToolUse"}}
	out.Result.Runs = []hookrun.Run{{
		Handler: hookfile.Handler{Type: hookfile.TypeCommand, Command: "echo s3cret", Matcher: "s3cret", File: "/hooks.json"},
		Verdict: verdict.Verdict{Decision: verdict.Deny, Reason: "s3cret"},
	}}
	out.Answer.Reply = hook.Reply{Cancel: true, ErrorMessage: "s3cret"}
	stored := &storedEvent{config: cfg}
	err = stored.find("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.record(hook.Raw{}, out, time.Now()); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(cfg.SpoolDir(), hook.HostCline, "*", "events.json-seq"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil || strings.Contains(string(log), "s3cret") || !strings.Contains(string(log), `"decision":"deny","reason":"-"`) || !strings.Contains(string(log), `"by":"-"`) {
		t.Errorf("%v: %s", err, log)
	}
}

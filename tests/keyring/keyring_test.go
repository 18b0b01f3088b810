// Package keyring_test keeps a secret in a real keyring: the Secret Service of
// GNOME on a separate message bus.
package keyring_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/built"
)

// script unlocks a new keyring and goes through a secret's life.
const script = `
set -u
printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
say() { printf '== %s\n' "$1"; }
say set;     printf 'a-secret-of-%s\n' agent-1 | "$HOOKSPAN" credentials set --agent-id agent-1
say found;   INFINIUM_AGENT_ID=agent-1 "$HOOKSPAN" config
say other;   INFINIUM_AGENT_ID=agent-2 "$HOOKSPAN" config
say delete;  "$HOOKSPAN" credentials delete --agent-id agent-1
say again;   "$HOOKSPAN" credentials delete --agent-id agent-1
say gone;    INFINIUM_AGENT_ID=agent-1 "$HOOKSPAN" config
`

func TestSecretLivesInTheKeyring(t *testing.T) {
	for _, need := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(need); err != nil {
			skip.Missing(t, "no %s on this machine: install the packages dbus and gnome-keyring", need)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if err := built.Put(ctx, dir, "cmd/hookspan"); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "dbus-run-session", "--", "sh", "-c", script)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOOKSPAN=" + built.Program(dir, "hookspan"), "HOME=" + dir,
		"XDG_RUNTIME_DIR=" + run, "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	part := func(name string) string {
		_, after, _ := strings.Cut(out.String(), "== "+name+"\n")
		s, _, _ := strings.Cut(after, "== ")
		return s
	}
	for _, tt := range []struct {
		part, has, hasNot string
	}{
		{"set", "the secret of agent agent-1 is in the system's keyring", "a-secret-of"},
		{"found", "destinations store, infinium", "a-secret-of"},
		{"found", "keyring", ""},
		{"other", "destinations store, infinium\n", "keyring"},
		{"delete", "the secret of agent agent-1 is removed", ""},
		{"again", "the keyring holds no secret of agent agent-1", ""},
		{"gone", "destinations store, infinium\n", "keyring"},
	} {
		got := part(tt.part)
		if !strings.Contains(got, tt.has) {
			t.Errorf("%s: %q does not say %q\n%s", tt.part, got, tt.has, errs.String())
		}
		if tt.hasNot != "" && strings.Contains(got, tt.hasNot) {
			t.Errorf("%s: %q says %q", tt.part, got, tt.hasNot)
		}
	}
}

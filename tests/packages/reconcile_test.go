package packages_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

var reconcile = filepath.Join("..", "..", "packaging", "reconcile")

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(reconcile, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEachSystemReconcilesAtLogon reads the unit, the LaunchAgent and the task as their systems do,
// as far as that is possible here, and wants the same command in each.
func TestEachSystemReconcilesAtLogon(t *testing.T) {
	unit := text(t, "hookspan-reconcile.service")
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("no systemd-analyze on this machine: the unit is not verified")
	} else {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hookspan-reconcile.service"), []byte(strings.ReplaceAll(unit, "/usr/bin/hookspan ", "/bin/true ")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", "--user", "verify", filepath.Join(dir, "hookspan-reconcile.service"))
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "hookspan-reconcile.service:") {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
	var agent struct {
		Keys    []string `xml:"dict>key"`
		Strings []string `xml:"dict>array>string"`
	}
	var task struct {
		Logon   []string `xml:"Triggers>LogonTrigger>Enabled"`
		Group   string   `xml:"Principals>Principal>GroupId"`
		Command string   `xml:"Actions>Exec>Command"`
		Args    string   `xml:"Actions>Exec>Arguments"`
	}
	for name, into := range map[string]any{"com.hookspan.reconcile.plist": &agent, "hookspan-reconcile.xml": &task} {
		if err := xml.Unmarshal([]byte(text(t, name)), into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const command = "hookspan reconcile --json"
	if !strings.Contains(unit, "\nExecStart=/usr/bin/"+command+"\n") || !strings.Contains(unit, "\nWantedBy=default.target\n") {
		t.Errorf("the unit:\n%s", unit)
	}
	if got := strings.Join(agent.Strings, " "); !strings.HasSuffix(got, "exec /usr/local/bin/"+command) || !strings.Contains(strings.Join(agent.Keys, " "), "RunAtLoad") {
		t.Errorf("the LaunchAgent: %+v", agent)
	}
	if len(task.Logon) != 1 || task.Group != "S-1-5-32-545" || task.Args != "reconcile --json" || !strings.HasSuffix(task.Command, `\hookspan.exe"`) {
		t.Errorf("the task: %+v", task)
	}
}

// shell runs a script of the folder with a home.
func shell(t *testing.T, home, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(reconcile, name)}, args...)...) //nolint:gosec // A script of this project.
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestUserIDIsSetOnce has the script's line in force beside the machine's attributes.
func TestUserIDIsSetOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "it is a shell script")
	}
	home := t.TempDir()
	shell(t, home, "user-id.sh")
	shell(t, home, "user-id.sh")
	c, err := config.Load(config.Input{
		Environ: []string{}, Home: home, ReadFile: os.ReadFile, MachineFile: "laptop.env",
		ReadMachine: func(string) ([]byte, error) { return []byte(text(t, "laptop.env")), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := c.ResourceAttributes()
	if len(got) != 2 || got[0].Key != "user.id" || got[0].Value == "" || got[1] != (config.Pair{Key: "team.id", Value: "payments"}) {
		t.Errorf("attributes %v", got)
	}
}

// TestTLSFromTheAuthorityToTheLaptop makes certificates as the page says, and sends through a gateway with
// and without that of a laptop.
func TestTLSFromTheAuthorityToTheLaptop(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil || runtime.GOOS == "windows" {
		skip.Missing(t, "no openssl for a shell script: %v", err)
	}
	dir, home := t.TempDir(), t.TempDir()
	for range 2 { // the second time with the same authority
		shell(t, home, "tls.sh", dir, "localhost", "gateways.example.com")
	}
	if err := built.Put(t.Context(), dir, "./cmd/hookspan"); err != nil {
		t.Fatal(err)
	}
	collector, err := otelcol.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := otelcol.OpenPorts()
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close() //nolint:errcheck // The test has ended.
	var at [3]string
	for i := range at {
		if at[i], err = ports.Next(); err != nil {
			t.Fatal(err)
		}
	}
	gateway, err := otelcol.Config("gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	behind, err := filepath.Abs(filepath.Join(reconcile, "tls.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := otelcol.Start(t.Context(), otelcol.Options{
		Binary: collector, Dir: t.TempDir(), Configs: []string{gateway, behind, "yaml:service::telemetry::metrics::level: none"},
		Env:   []string{"GATEWAY_TLS=" + dir, "GATEWAY_LISTEN=" + at[0], "GATEWAY_PEER_LISTEN=" + at[1], "GATEWAY_PEERS=[" + at[1] + "]", "GATEWAY_METRICS=" + at[2], "BACKEND_ENDPOINT=http://127.0.0.1:1", "QUEUE_DIRECTORY=" + dir},
		Ready: []string{at[0]},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Kill() //nolint:errcheck // The test has ended.
	settings := strings.NewReplacer("gateways.example.com:4318", "localhost"+at[0][strings.LastIndex(at[0], ":"):], "/etc/hookspan", dir).Replace(text(t, "laptop.env"))
	for left, ok := range map[string]bool{"": true, "CLIENT_": false, "OTLP_CERTIFICATE": false} {
		var lines []string
		for line := range strings.Lines(settings) {
			if left == "" || !strings.Contains(line, left) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		file := filepath.Join(home, ".config", "hookspan", "hookspan.env")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(strings.Join(lines, "\n"), "HOOKSPAN_MANAGED=true", "")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), built.Program(dir, "hookspan"), "test")
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if got := strings.Contains(string(out), "otlp      ok"); got != ok || (err == nil) != ok {
			t.Errorf("without %q: %v\n%s", left, err, out)
		}
	}
}

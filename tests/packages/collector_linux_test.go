package packages_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// collectorDeb: the package brings a service that serves with its settings, as a user
// without rights, and leaves nothing.
func collectorDeb(t *testing.T, base string, made releases) {
	t.Parallel()
	r := start(t, base, made.show())
	before := r.files()
	r.run("apt-get install -y " + inside(t, made, first, "hookspan-collector_*.deb"))
	checkService(t, r)
	r.run("apt-get purge -y hookspan-collector")
	if d := gocmp.Diff(before, slices.DeleteFunc(r.files(), shared)); d != "" {
		t.Errorf("not as before (-before +after):\n%s", d)
	}
}

func collectorRPM(t *testing.T, base string, made releases) {
	t.Parallel()
	if _, err := exec.LookPath("rpm"); err != nil {
		skip.Missing(t, "no rpm on this machine: its package is not installed")
	}
	r := start(t, base, made.show())
	before := r.files()
	for _, args := range [][]string{{"-U", only(t, filepath.Join(made[first], "hookspan-collector*.rpm"))}, {"-e", "hookspan-collector"}} {
		if out, err := r.outside(append([]string{"rpm", "--root", r.path}, args...)); err != nil {
			t.Fatalf("rpm %q: %v\n%s", args, err, out)
		}
		if args[0] == "-U" {
			checkService(t, r)
		}
	}
	if d := gocmp.Diff(before, slices.DeleteFunc(r.files(), shared)); d != "" {
		t.Errorf("not as before (-before +after):\n%s", d)
	}
}

// collectorArchive: the archive has what the Dockerfile copies, and that serves alone
// in an empty root folder, as in an image from scratch.
func collectorArchive(t *testing.T, base string, made releases) {
	t.Parallel()
	r := start(t, base, made.show())
	r.run("mkdir -p /image/queue /image/tmp && chown 10001:10001 /image/queue && tar -C /image -xzf " + inside(t, made, first, "hookspan-collector_*_linux_*.tar.gz"))
	text := string(readFile(t, filepath.Join(repository, "packaging", "collector", "Dockerfile")))
	for _, m := range regexp.MustCompile(`(?m)^COPY --from=files /archive/(\S+) `).FindAllStringSubmatch(text, -1) {
		r.run("test -e /image/" + m[1])
	}
	_, last, _ := strings.Cut(text, "FROM scratch")
	environ := regexp.MustCompile(`[A-Z_]+=\S+`).FindAllString(last, -1)
	if !strings.Contains(last, "USER 10001:10001") || len(environ) < 6 {
		t.Fatalf("the Dockerfile's image: %q", last)
	}
	serve(t, r, "/usr/sbin/chroot --userspec=10001:10001 "+r.path+"/image", environ, "/hookspan-collector --config /config/gateway.yaml")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var setting = regexp.MustCompile(`(?m)^#? ?([A-Z_]+)=(.*)$`)

// checkService holds the unit against systemd where that is on this machine, and
// starts what it starts.
func checkService(t *testing.T, r *root) {
	t.Helper()
	const unit = "/usr/lib/systemd/system/hookspan-collector.service"
	text := string(r.read(unit))
	checkUnit(t, text)
	settings := map[string]string{}
	for _, m := range setting.FindAllStringSubmatch(string(r.read("/etc/hookspan-collector/collector.env")), -1) {
		if strings.HasPrefix(m[0], "#") {
			continue
		}
		settings[m[1]] = m[2]
	}
	if out := r.run("stat -c %a /etc/hookspan-collector/collector.env"); out != "600\n" {
		t.Errorf("the settings' mode is %s, want 600", out)
	}
	if settings["COLLECTOR_ARGS"] == "" {
		t.Fatal("the settings have no COLLECTOR_ARGS")
	}
	queue := regexp.MustCompile(`(?m)^Environment=QUEUE_DIRECTORY=(.+)$`).FindStringSubmatch(text)
	command := regexp.MustCompile(`(?m)^ExecStart=(.+) \$COLLECTOR_ARGS$`).FindStringSubmatch(text)
	if queue == nil || command == nil || !strings.Contains(text, "StateDirectory="+filepath.Base(queue[1])+"\n") {
		t.Fatalf("the unit has no queue or command:\n%s", text)
	}
	r.run("mkdir -m 700 " + queue[1] + " && chown 65534:65534 " + queue[1])
	serve(t, r, "/usr/sbin/chroot --userspec=65534:65534 "+r.path, []string{"QUEUE_DIRECTORY=" + queue[1]}, command[1]+" "+settings["COLLECTOR_ARGS"])
	r.run("rm -r " + queue[1])
}

// checkUnit asks systemd, where that is on this machine, what it makes of the unit.
func checkUnit(t *testing.T, unit string) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("no systemd-analyze on this machine: the unit is not verified")
		return
	}
	dir := t.TempDir()
	files := map[string]string{"usr/bin/hookspan-collector": "#!/bin/sh\n", "usr/lib/systemd/system/hookspan-collector.service": unit}
	modes := map[string]os.FileMode{"usr/bin/hookspan-collector": 0o700}
	// The units of the system that it needs.
	for name, section := range map[string]string{
		"sysinit.target": "", "basic.target": "", "shutdown.target": "", "network-online.target": "", "multi-user.target": "",
		"system.slice": "[Slice]\n", "-.slice": "[Slice]\n", "-.mount": "[Mount]\nWhat=x\nWhere=/\n",
	} {
		files["usr/lib/systemd/system/"+name] = "[Unit]\nDefaultDependencies=no\n" + section
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), cmp.Or(modes[name], 0o600))); err != nil {
			t.Fatal(err)
		}
	}
	analyze := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", append([]string{"--root=" + dir}, args...)...).CombinedOutput()
		return string(out), err
	}
	// A key that it does not know is no error, but a warning that names the file.
	if out, err := analyze("verify", "hookspan-collector.service"); err != nil || strings.Contains(out, "hookspan-collector.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := analyze("security", "--offline=true", "--threshold=20", "hookspan-collector.service"); err != nil {
		t.Errorf("the service is exposed to more than 2.0: %v\n%s", err, out)
	}
}

// serve starts a Collector in a network namespace, sends a run, and wants it in the
// metrics and the Collector ended by SIGTERM.
func serve(t *testing.T, r *root, enter string, environ []string, command string) {
	t.Helper()
	for _, program := range []string{"ip", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			skip.Missing(t, "no %s on this machine: the Collector is not started", program)
		}
	}
	const span = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cline"}}]},"scopeSpans":[{"spans":[` +
		`{"traceId":"5b8efff798038103d269b633813fc601","spanId":"eee19b7ec3c1b174","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"hookspan.outcome","value":{"stringValue":"completed"}}]}]}]}]}`
	script := fmt.Sprintf(`ip link set lo up
env -i BACKEND_ENDPOINT=http://127.0.0.1:9 %s %s %s >/tmp/collector.$$ 2>&1 &
pid=$!
curl -sS --retry 60 --retry-delay 1 --retry-all-errors -o /dev/null http://127.0.0.1:13133/ || { cat /tmp/collector.$$; exit 1; }
curl -sS -w '%%{http_code}\n' -H 'Content-Type: application/json' -d '%s' http://127.0.0.1:4318/v1/traces
for i in $(seq 60); do curl -sS http://127.0.0.1:9464/metrics | grep '^agent_calls_total' && break; sleep 1; done
curl -sS http://127.0.0.1:8888/metrics | grep -c '^otelcol_receiver_accepted_spans'
kill -TERM $pid; wait $pid; echo ended $?
rm /tmp/collector.$$`, strings.Join(environ, " "), enter, command, span)
	out, err := r.outside([]string{"unshare", "--net", "sh", "-c", script})
	if err != nil || !strings.Contains(out, "200\n") || !strings.Contains(out, `hookspan_outcome="completed"`) || !strings.Contains(out, "ended 0\n") {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

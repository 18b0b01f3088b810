package packages_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

const (
	first  = "0.1.0"
	second = "0.2.0"
)

// releases holds the folder of each version's packages.
type releases map[string]string

// way is a way to get hookspan.
type way struct {
	// hookspan is the command that people type.
	hookspan string
	// upgraded is the command after an upgrade, if it differs.
	upgraded string
	// quick is what the command starts, if the command itself takes long.
	quick string
	// get installs or upgrades to a version.
	get func(r *root, version string)
	// also checks more of the first version.
	also func(r *root)
	// remove removes the package.
	remove func(r *root)
}

func TestPackages(t *testing.T) {
	base := base(t)
	made := releases{
		first:  build(t, release{checkout: repository, version: first, light: true}),
		second: build(t, release{checkout: repository, version: second, light: true, bare: true}),
	}
	t.Run("npm", func(t *testing.T) { npm(t, base, made) })
	t.Run("deb", func(t *testing.T) { deb(t, base, made) })
	t.Run("rpm", func(t *testing.T) { rpm(t, base, made) })
	t.Run("Collector deb", func(t *testing.T) { collectorDeb(t, base, made) })
	t.Run("Collector rpm", func(t *testing.T) { collectorRPM(t, base, made) })
	t.Run("Collector archive", func(t *testing.T) { collectorArchive(t, base, made) })
	t.Run("install script", func(t *testing.T) { script(t, base, made) })
}

// npm: on a machine with only Node, the second command prints the first trace.
func npm(t *testing.T, base string, made releases) {
	t.Parallel()
	program, err := exec.CommandContext(t.Context(), "node", "-p", "process.execPath").Output()
	if err != nil {
		skip.Missing(t, "no node on this machine: %v", err)
	}
	node := strings.TrimSpace(string(program))
	address := registry(t)
	r := start(t, base, map[string]string{
		"/opt/node/bin/node":         node,
		"/opt/node/lib/node_modules": filepath.Join(filepath.Dir(filepath.Dir(node)), "lib", "node_modules"),
	}, "PATH=/opt/node/bin:/usr/bin:/bin", "npm_config_registry="+address, "npm_config_update_notifier=false")
	r.run("ln -s ../lib/node_modules/npm/bin/npm-cli.js /opt/node/bin/npm; ln -s ../lib/node_modules/npm/bin/npx-cli.js /opt/node/bin/npx")

	publish := func(version string) {
		key := strings.TrimPrefix(address, "http:") + "/:_authToken=nobody"
		for _, file := range []string{only(t, filepath.Join(made[version], "hookspan-linux-*.tgz")), filepath.Join(made[version], "hookspan-"+version+".tgz")} {
			cmd := exec.CommandContext(t.Context(), "npm", "publish", "--access=public", "--registry="+address, "--"+key, file)
			cmd.Dir = t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("npm publish: %v\n%s", err, out)
			}
		}
	}
	way{
		hookspan: "npx --yes hookspan",
		upgraded: "npx --yes hookspan@latest",
		quick:    "$(ls -t ~/.npm/_npx/*/node_modules/.bin/hookspan | head -1)",
		get:      func(_ *root, version string) { publish(version) },
		also: func(r *root) {
			for command, want := range map[string]struct {
				code int
				text string
			}{
				"npx --yes hookspan nonsense": {64, `unknown command "nonsense"`},
				"npm install --silent --no-audit --no-fund --omit=optional --prefix /tmp/bare hookspan; /tmp/bare/node_modules/.bin/hookspan list": {1, "package @hookspan/linux-"},
				// A signal for Node reaches hookspan, which ends as after Ctrl-C, and Node with its exit code.
				"npm install --silent --no-audit --no-fund --prefix /tmp/whole hookspan; mkfifo /tmp/tail; " +
					"/tmp/whole/node_modules/.bin/hookspan ui --no-open --port 0 >/tmp/tail & read -r line </tmp/tail; echo $line; kill -TERM $!; wait $!": {0, ".localhost:"},
			} {
				if out, code := r.exit(command); code != want.code || !strings.Contains(out, want.text) {
					t.Errorf("$ %s\n%s\nexit code %d, want %d and %q", command, out, code, want.code, want.text)
				}
			}
		},
		remove: func(r *root) { r.run("npm cache clean --force 2>&1; rm -r ~/.npm") },
	}.check(t, r)
}

// deb: on a machine with only apt.
func deb(t *testing.T, base string, made releases) {
	t.Parallel()
	r := start(t, base, made.show())
	way{
		hookspan: "hookspan",
		get: func(r *root, version string) {
			r.run("apt-get install -y " + inside(t, made, version, "hookspan_*.deb"))
			r.run("test -s /usr/share/bash-completion/completions/hookspan")
		},
		remove: func(r *root) { r.run("apt-get purge -y hookspan") },
	}.check(t, r)
}

// rpm: Debian's rpm installs into the root folder from outside.
func rpm(t *testing.T, base string, made releases) {
	t.Parallel()
	if _, err := exec.LookPath("rpm"); err != nil {
		skip.Missing(t, "no rpm on this machine: its package is not installed")
	}
	r := start(t, base, made.show())
	outside := func(r *root, args ...string) {
		out, err := r.outside(append([]string{"rpm", "--root", r.path}, args...))
		if err != nil {
			t.Fatalf("rpm %q: %v\n%s", args, err, out)
		}
	}
	way{
		hookspan: "hookspan",
		get: func(r *root, version string) {
			outside(r, "-U", only(t, filepath.Join(made[version], "hookspan-[0-9]*.rpm")))
		},
		remove: func(r *root) { outside(r, "-e", "hookspan") },
	}.check(t, r)
}

// script: the install script takes the archive from a server, and refuses one that
// is not what the checksums say.
func script(t *testing.T, base string, made releases) {
	t.Parallel()
	current, damaged := first, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := filepath.Base(req.URL.Path)
		path := filepath.Join(made[current], name)
		if name == "install.sh" {
			path = filepath.Join(repository, "packaging", name)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			http.NotFound(w, req)
			return
		}
		if damaged && strings.HasSuffix(name, ".tar.gz") {
			data[len(data)/2] ^= 1
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	r := start(t, base, nil, "PATH="+home+"/.local/bin:/usr/bin:/bin", "HOOKSPAN_FROM="+server.URL)
	command := "curl -fsSL $HOOKSPAN_FROM/install.sh | sh"

	before := r.files()
	damaged = true
	out, err := r.try(command)
	if err == nil || !strings.Contains(out, "nothing is installed") {
		t.Errorf("a damaged archive: %v\n%s", err, out)
	}
	if d := gocmp.Diff(before, r.files()); d != "" {
		t.Errorf("a damaged archive leaves files (-before +after):\n%s", d)
	}
	damaged = false
	for name, wrong := range map[string]string{
		"no server":      "HOOKSPAN_FROM=http://127.0.0.1:1",
		"another system": "PATH=/tmp/other:$PATH",
	} {
		r.run("mkdir -p /tmp/other && printf '#!/bin/sh\necho Plan9' >/tmp/other/uname && chmod +x /tmp/other/uname")
		if out, err := r.try("curl -fsSL $HOOKSPAN_FROM/install.sh | " + wrong + " sh"); err == nil || !strings.Contains(out, "install: ") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}

	way{
		hookspan: "hookspan",
		get: func(r *root, version string) {
			current = version
			if out := r.run(command); !strings.Contains(out, "hookspan v"+version) || !strings.Contains(out, "Next: hookspan install") {
				t.Errorf("the script says:\n%s", out)
			}
		},
		remove: func(r *root) {
			r.run("cd ~/.local/bin && rm hookspan cline-hook claude-hook hook-runner && rmdir ~/.local/bin")
		},
	}.check(t, r)
}

// check does with a package what its users do.
func (w way) check(t *testing.T, r *root) {
	before := r.files()

	// Two commands print a trace.
	w.get(r, first)
	if out := r.run(w.hookspan + " demo"); !strings.Contains(out, "$ hookspan show") {
		t.Errorf("the demo shows no trace:\n%s", out)
	} else {
		t.Logf("%s demo:\n%s", w.hookspan, out)
	}
	w.installed(t, r, first)
	if w.also != nil {
		w.also(r)
	}

	// Two agents are on the machine, and report.
	quick := cmp.Or(w.quick, w.hookspan)
	r.run("mkdir -p ~/.cline/data ~/.claude ~/Documents ~/project")
	t.Log(r.run(quick + " install --yes"))
	playCline(t, r, "tools")
	playClaude(t, r, "tools-resume")
	r.run(quick + " flush --wait")
	shown := r.run(quick + " show")
	listed := r.run(quick + " list")
	t.Logf("%s list, show:\n%s\n%s", w.hookspan, listed, shown)
	for _, agent := range []string{"cline", "claude"} {
		if !strings.Contains(strings.ToLower(listed), agent) {
			t.Errorf("list does not name %s:\n%s", agent, listed)
		}
	}

	// An upgrade replaces what the hooks start, and nothing is installed again.
	w.get(r, second)
	w.hookspan = cmp.Or(w.upgraded, w.hookspan)
	w.installed(t, r, second)
	r.run(quick + " list")
	var copies struct{ Version string }
	if err := json.Unmarshal(r.read(home+"/.local/share/hookspan/bin/programs.json"), &copies); err != nil || copies.Version != "v"+second {
		t.Errorf("hooks start version %q (%v), want v%s", copies.Version, err, second)
	}
	playClaude(t, r, "subagent")
	r.run(quick + " flush --wait")
	if again := r.run(quick + " list"); strings.Count(again, "\n") <= strings.Count(listed, "\n") {
		t.Errorf("the upgraded hooks report nothing:\n%s", again)
	}

	// Nothing is left.
	r.run(quick + " uninstall cline && " + quick + " uninstall claude")
	w.remove(r)
	r.run("rm -rf ~/.local/state/hookspan ~/.config/hookspan") // As the README has it.
	r.run("rm -r ~/.cline ~/.claude ~/Documents ~/project")
	after := r.files()
	if d := gocmp.Diff(before, slices.DeleteFunc(after, shared)); d != "" {
		t.Errorf("not as before (-before +after):\n%s", d)
	}
}

// shared reports folders of many programs, which hookspan or a package makes where
// they are missing.
func shared(path string) bool {
	return slices.Contains([]string{
		home + "/.local", home + "/.local/state", home + "/.local/share", home + "/.config",
		"/usr/share/fish", "/usr/share/fish/vendor_completions.d", "/usr/share/zsh/site-functions",
	}, path)
}

func (w way) installed(t *testing.T, r *root, version string) {
	t.Helper()
	if out := r.run(w.hookspan + " version"); !strings.Contains(out, "hookspan v"+version+" (") {
		t.Errorf("version %q, want %s", out, version)
	}
}

// playCline starts Cline's hook files with a recorded task's payloads.
func playCline(t *testing.T, r *root, session string) {
	t.Helper()
	play(t, filepath.Join(repository, "hook", "cline", "testdata", "e2e-cli3", session), func(event string, payload []byte) {
		r.run("for file in ~/Documents/Cline/Hooks/"+event+" ~/.cline/hooks/"+event+"; do if test -x $file; then exec $file; fi; done; exit 1", payload...)
	})
}

// playClaude starts the commands of Claude Code's settings with a recorded
// session's payloads.
func playClaude(t *testing.T, r *root, session string) {
	t.Helper()
	played := 0
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal(r.read(home+"/.claude/settings.json"), &settings); err != nil {
		t.Fatal(err)
	}
	play(t, filepath.Join(repository, "hook", "claude", "testdata", "e2e", session), func(event string, payload []byte) {
		for _, entry := range settings.Hooks[event] {
			for _, hook := range entry.Hooks {
				r.run(hook.Command, payload...)
				played++
			}
		}
	})
	if played < 5 {
		t.Errorf("%d hook calls of %s, want more", played, session)
	}
}

func play(t *testing.T, dir string, each func(event string, payload []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no payloads (%v)", dir, err)
	}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		each(event, bytes.TrimSpace(payload))
	}
}

// show are the folders of the packages, for a root folder.
func (made releases) show() map[string]string {
	return map[string]string{"/packages/" + first: made[first], "/packages/" + second: made[second]}
}

// inside is the path of a package in a root folder.
func inside(t *testing.T, made releases, version, pattern string) string {
	t.Helper()
	return "/packages/" + version + "/" + filepath.Base(only(t, filepath.Join(made[version], pattern)))
}
